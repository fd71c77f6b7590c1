//! A store's key that is changed, and commands that repeat it.

use super::{cells, filter_at, flip};
use crate::*;

/// A key file whose name a shell would take apart.
const KEY: &str = "my key";
const FLAG: &str = " --hash-key-file 'my key'";

/// A store of two tables, hashed under `my key`, and another key.
fn with_keyed_store() -> Place {
    let place = Place::new();
    place.write(KEY, (0..16).collect::<Vec<u8>>());
    place.write("other", (1..17).collect::<Vec<u8>>());
    place.write("first.tsv", cells(0, 1500, "old"));
    place.write("second.tsv", cells(1000, 2000, "new"));
    for cells in ["first.tsv", "second.tsv"] {
        place.shell(&format!("$FB fill db {cells}{FLAG}"));
    }
    place
}

/// The tables of `db` in the order of lookups.
fn tables(place: &Place, flag: &str) -> Vec<String> {
    let (stats, _) = ended(0, &place.shell(&format!("$FB stats db --json{flag}")));
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    stats["tables"].as_array().unwrap().iter().map(|table| table["file"].as_str().unwrap().to_owned()).collect()
}

/// Runs `line` with the key, which must fail or warn, and returns the commands that it names; all have the key.
#[track_caller]
fn advised(place: &Place, line: &str, code: i32) -> Vec<String> {
    let (_, message) = ended(code, &place.shell(&format!("$FB {line}{FLAG}")));
    let commands = commands(&message);
    assert!(!commands.is_empty() && commands.iter().all(|command| command.ends_with(FLAG)), "{line}: {message}");
    commands
}

#[test]
fn every_command_that_is_named_repeats_the_key() {
    let place = with_keyed_store();
    let [table, other] = &tables(&place, FLAG)[..] else { panic!("two tables") };
    advised(&place, "get nowhere row", 4);
    advised(&place, "get first.tsv row", 4);
    advised(&place, "rebuild db/000999.sst", 2);
    let commands = advised(&place, &format!("query db/{table} row"), 2);
    assert_eq!(place.follow(&commands[0]).status.code(), Some(0));
    // A damaged filter.
    let offset = filter_at(&place, table, 0);
    assert!(place.read(&format!("db/{table}"))[offset..].starts_with(&filterblock::MAGIC));
    flip(&place, &format!("db/{table}"), offset + 100);
    advised(&place, &format!("inspect db/{table}"), 3);
    advised(&place, &format!("verify db/{table}"), 3);
    advised(&place, "get db row-00007 a", 0);
    let commands = advised(&place, "verify db", 3);
    assert_eq!(place.follow(&commands[0]).status.code(), Some(0));
    ended(0, &place.shell(&format!("$FB verify db{FLAG}")));
    // A damaged cell, a missing file.
    let bytes = place.read(&format!("db/{other}"));
    flip(&place, &format!("db/{other}"), 2000);
    for (line, code) in [("verify db", 3), ("scan db", 3), ("rebuild db", 3)] {
        let (_, message) = ended(code, &place.shell(&format!("$FB {line}{FLAG}")));
        let commands = crate::commands(&message);
        assert_eq!(commands, ["verify", "repair"].map(|name| format!("filterblock {name} db{FLAG}")), "{message}");
        let (plan, _) = ended(3, &place.follow(&commands[1]));
        assert_eq!(crate::commands(&plan)[0], format!("filterblock verify db{FLAG}"), "{plan}");
    }
    advised(&place, &format!("verify db/{other}"), 3);
    place.write(&format!("db/{other}"), bytes);
    std::fs::rename(place.path("db/MANIFEST"), place.path("MANIFEST")).unwrap();
    let commands = advised(&place, "get db row", 3);
    std::fs::rename(place.path("MANIFEST"), place.path("db/MANIFEST")).unwrap();
    assert_eq!(place.follow(&commands[0]).status.code(), Some(0));
}

#[test]
fn commands_on_blocks_repeat_key_and_context() {
    let place = Place::new();
    place.write(KEY, [7; 16]);
    place.write("keys.txt", "a\nb\n");
    ended(0, &place.shell(&format!("$FB build --context 5 --output k.fb keys.txt{FLAG}")));
    for line in ["inspect k.fb", "query k.fb a", "verify k.fb", "inspect k.fb --context 6"] {
        let commands = advised(&place, line, 3);
        assert_eq!(commands, [format!("filterblock inspect --context 0x5 k.fb{FLAG}")]);
        assert_eq!(place.follow(&commands[0]).status.code(), Some(0));
    }
    let message = place.expect_failure(3, "query k.fb --context 5 a");
    assert!(message.contains("`filterblock inspect --context 0x5 --hash-key-file KEY k.fb`"), "{message}");
}

/// A key may come from a program, through a pipe that can be read only once.
#[test]
fn a_key_is_read_once() {
    let place = with_keyed_store();
    let all = "get db row-00007 a; verify db; stats db; rebuild db; repair db; scan db --limit 1; \
        fill db second.tsv";
    for line in all.split("; ") {
        ended(0, &place.shell(&format!("cat '{KEY}' | $FB {line} --hash-key-file /dev/stdin")));
    }
}

/// Starts a change of the key that fails at the second table, and returns the message.
fn change_half(place: &Place, flag: &str, change: &str) -> String {
    let [_, second] = &tables(place, flag)[..] else { panic!("two tables") };
    let (file, bytes) = (format!("db/{second}"), place.read(&format!("db/{second}")));
    flip(place, &file, 2000);
    let (_, message) = ended(3, &place.shell(&format!("$FB rebuild db --change-hash-key{change}")));
    place.write(&file, bytes);
    message
}

#[test]
fn a_change_that_failed_names_the_key_that_is_needed() {
    let place = with_keyed_store();
    let (old, new) = (FLAG, " --hash-key-file other");
    // From a key to another, to a seed, and from a seed to a key.
    for (from, to) in [(old, new), (new, ""), ("", old)] {
        let message = change_half(&place, from, to);
        assert!(message.contains("1 of 2 tables have new filters."), "{message}");
        let needed = if to.is_empty() { "needs no key from now on" } else { "needs this key from now on" };
        assert!(message.contains(needed), "{message}");
        assert!(commands(&message).contains(&format!("filterblock rebuild db{to}")), "{message}");

        // The old key no longer opens it, and the message says what does.
        let (_, message) = ended(3, &place.shell(&format!("$FB get db row-00007 a{from}")));
        let begun = "A change of the store's key was begun and not finished: the filters of 1 of 2 tables";
        assert!(message.contains(begun), "{message}");
        let finish =
            if to.is_empty() { "filterblock rebuild db" } else { "filterblock rebuild db --hash-key-file NEW" };
        let back = format!("filterblock rebuild db --change-hash-key{from}");
        assert_eq!(commands(&message), [finish.to_owned(), back]);

        // With the new one the cells are there, and a warning names the rest.
        let (printed, warning) = ended(0, &place.shell(&format!("$FB get db row-00007 a{to}")));
        assert_eq!(printed, "old-7");
        let command = commands(&warning).pop().expect("a warning");
        assert!(command.starts_with("filterblock rebuild db") && command.ends_with(to), "{warning}");
        ended(0, &place.shell(&format!("$FB rebuild db{to}")));
        assert_eq!(ended(0, &place.shell(&format!("$FB verify db{to}"))).1, "");
        // Nothing is unfinished any more.
        let message = stderr(&place.shell(&format!("$FB get db row-00007 a{from}")));
        assert!(!message.is_empty() && !message.contains("not finished"), "{message}");
    }
}

#[test]
fn a_change_can_be_taken_back() {
    let place = with_keyed_store();
    change_half(&place, FLAG, " --hash-key-file other");
    let message = stderr(&place.shell(&format!("$FB get db row-00007 a{FLAG}")));
    let back = commands(&message).pop().unwrap();
    ended(0, &place.follow(&back));
    assert_eq!(ended(0, &place.shell(&format!("$FB verify db{FLAG}"))).1, "");
}
