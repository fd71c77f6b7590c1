//! Temporary files of commands that were killed.

use crate::*;
use rustix::fs::{FlockOperation, flock};

/// Large, so that writing it takes a while.
const BUILD: &str = "build --kind bloom --max-bytes 64MiB --seed 0 --output t.fb keys.txt";

/// The temporary files in the directory, in order.
fn temporary_files(place: &Place) -> Vec<PathBuf> {
    let paths = fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "tmp")).collect();
    paths.sort();
    paths
}

/// Starts a build, and waits until it writes its output; `None` if that was over too soon.
fn writing(place: &Place) -> Option<Child> {
    let mut child = place.command(BUILD.split(' ')).stdout(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        let has_bytes = |path: &PathBuf| fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
        if temporary_files(place).iter().any(has_bytes) {
            return Some(child);
        }
    }
    None
}

/// Kills a build while it writes, and returns its temporary file. A build that was faster is tried again, and its output
/// removed.
fn killed(place: &Place) -> PathBuf {
    for _ in 0..100 {
        if let Some(mut child) = writing(place) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        if !place.path("t.fb").exists() {
            let [file] = &temporary_files(place)[..] else { panic!("{:?}", temporary_files(place)) };
            return file.clone();
        }
        fs::remove_file(place.path("t.fb")).unwrap();
    }
    panic!("no build was killed while it wrote");
}

#[test]
fn a_killed_build_leaves_nothing_after_the_next() {
    let place = Place::new();
    place.write("keys.txt", "key\n");
    let left = killed(&place);
    assert!(!place.path("t.fb").exists());
    // Neither another target's build removes it, nor one in another directory.
    place.expect(0, "build --output other.fb keys.txt");
    fs::create_dir(place.path("dir")).unwrap();
    place.expect(0, "build --output dir/t.fb keys.txt");
    assert_eq!(temporary_files(&place), std::slice::from_ref(&left));
    // Nor what is not a temporary file of this target, or no file.
    let name = left.file_name().unwrap().to_str().unwrap();
    let like = [name.replace(".tmp", ".fb"), name.replacen('-', "_", 1), format!("{name}.old")];
    like.iter().for_each(|name| place.write(name, "x"));
    let (linked, folder) = (left.with_file_name(name.replace(".tmp", "l.tmp")), name.replace(".tmp", "d.tmp"));
    std::os::unix::fs::symlink(place.path("keys.txt"), &linked).unwrap();
    fs::create_dir(place.path(&folder)).unwrap();
    place.expect(0, BUILD);
    assert!(!left.exists());
    assert_eq!(temporary_files(&place).len(), 3, "the link, the folder, and one of another name");
    assert!(like.iter().all(|name| place.path(name).exists()) && place.path("keys.txt").exists());
    assert_eq!(place.json(0, "inspect t.fb --json")["num_entries"], 1);
}

/// A file that is locked is that of a command that runs.
#[test]
fn what_a_running_build_writes_is_left_alone() {
    let place = Place::new();
    place.write("keys.txt", "key\n");
    let left = killed(&place);
    let lock = File::open(&left).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    place.expect(0, BUILD);
    assert_eq!(temporary_files(&place), std::slice::from_ref(&left));
    drop(lock);
    place.expect(0, BUILD);
    assert_eq!(temporary_files(&place), Vec::<PathBuf>::new());
    // Builds of one target beside each other do not remove each other's files: none fails.
    let builds: Vec<_> =
        (0..4).map(|_| place.command(BUILD.split(' ')).stdout(Stdio::null()).spawn().unwrap()).collect();
    assert!(builds.into_iter().all(|mut build| build.wait().unwrap().success()));
    assert_eq!(temporary_files(&place), Vec::<PathBuf>::new());
}
