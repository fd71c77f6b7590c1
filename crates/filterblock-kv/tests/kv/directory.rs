//! A store keeps to its directory, whatever happens to the directory's name and to the working directory.

use crate::*;

fn put(store: &Store, row: &str) {
    store.put(row.as_bytes(), b"column", row.as_bytes()).unwrap();
}

fn rows(dir: &Path) -> Vec<String> {
    let store = Store::open_dir(dir, StoreOptions::default().with_create(false)).unwrap();
    store.scan(..).map(|cell| String::from_utf8(cell.unwrap().value).unwrap()).collect()
}

#[test]
fn a_relative_path_is_resolved_once() {
    // The working directory is the process's, so this is a process of its own.
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "directory::in_a_process_that_changes_its_directory", "--ignored"]).current_dir(dir.path());
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the test has another name");
    assert_eq!(rows(&dir.path().join("one/db")), ["1", "2", "3"]);
    assert_eq!(rows(&dir.path().join("other/db")), ["a", "b", "c"]);
}

#[test]
#[ignore = "run by `a_relative_path_is_resolved_once`"]
fn in_a_process_that_changes_its_directory() {
    let top = std::env::current_dir().unwrap();
    let open_in = |name: &str| {
        std::fs::create_dir(top.join(name)).unwrap();
        std::env::set_current_dir(top.join(name)).unwrap();
        Store::open_dir(Path::new("db"), StoreOptions::default()).unwrap()
    };
    // Both stores give their files the same numbers.
    let other = open_in("other");
    ["a", "b"].into_iter().for_each(|row| put(&other, row));
    let one = open_in("one");
    put(&one, "1");
    std::env::set_current_dir(top.join("other")).unwrap();
    put(&one, "2");
    one.flush().unwrap();
    one.compact().unwrap();
    put(&one, "3");
    one.close().unwrap();
    put(&other, "c");
    other.close().unwrap();
}

#[test]
fn a_store_moves_with_its_directory() {
    let top = tempfile::tempdir().unwrap();
    let [first, second, third] = ["first", "second", "third"].map(|name| top.path().join(name));
    let store = Store::open_dir(&first.join("db"), StoreOptions::default()).unwrap();
    put(&store, "1");
    std::fs::rename(&first, &second).unwrap();
    put(&store, "2");
    store.flush().unwrap();
    std::fs::rename(second.join("db"), &third).unwrap();
    store.compact().unwrap();
    put(&store, "3");
    store.close().unwrap();
    assert_eq!(rows(&third), ["1", "2", "3"]);
    // Without a name, it takes no more writes, and writes nowhere else.
    let store = Store::open_dir(&third, StoreOptions::default()).unwrap();
    std::fs::remove_dir_all(&third).unwrap();
    std::fs::create_dir(&third).unwrap();
    put(&store, "4");
    assert!(store.flush().is_err());
    assert_eq!(std::fs::read_dir(&third).unwrap().count(), 0);
}
