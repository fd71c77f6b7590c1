//! Stores whose filters are hashed under a secret key.

use super::{cells, files, filters, tables};
use crate::*;

const HEX: &str = "000102030405060708090a0b0c0d0e0f\n";
const ID: &str = "0x26fcfdd03ca2c5ba";

/// A keyed store of two tables, its key as digits and as bytes, and another key.
fn with_keyed_store() -> Place {
    let place = Place::new();
    place.write("secret", HEX);
    place.write("raw", (0..16).collect::<Vec<u8>>());
    place.write("other", (1..17).collect::<Vec<u8>>());
    place.write("first.tsv", cells(0, 1500, "old"));
    place.write("second.tsv", cells(1000, 2000, "new"));
    place.expect(0, "fill db first.tsv --hash-key-file secret");
    place.expect(0, "fill db second.tsv --hash-key-file raw");
    place
}

#[test]
fn every_command_takes_the_key() {
    let place = with_keyed_store();
    let stats = place.json(0, "stats db --json --hash-key-file raw");
    assert_eq!(stats["hash_key_id"], ID);
    let table = stats["tables"][0]["file"].as_str().unwrap();
    assert!(place.expect(0, "stats db --hash-key-file raw").contains(&format!("under the secret key {ID}")));
    assert_eq!(place.expect(0, "get db row-00007 a --hash-key-file raw"), "old-7");
    assert!(place.expect(0, "get db row-01100 a --explain --hash-key-file raw").contains("new-1100"));
    place.expect(1, "get db nothing --hash-key-file raw");
    assert_eq!(place.expect(0, "scan db --hash-key-file raw").lines().count(), 4000);
    for target in ["db".to_owned(), format!("db/{table}")] {
        place.expect(0, &format!("verify {target} --hash-key-file raw"));
    }
    let shown = place.json(0, &format!("inspect db/{table} --json --hash-key-file raw"));
    let hashes: Vec<_> = shown["filters"].as_array().unwrap().iter().map(|filter| &filter["hash_key_id"]).collect();
    assert_eq!(hashes, [ID, ID]);
    place.expect(0, "rebuild db --kind golomb --fpr 0.1% --hash-key-file raw");
    place.expect(0, "verify db --hash-key-file raw");
    let rebuilt = place.json(0, "stats db --json --hash-key-file raw");
    let kinds = rebuilt["tables"].as_array().unwrap().iter().flat_map(|table| table["filters"].as_array().unwrap());
    assert!(kinds.map(|filter| &filter["kind"]).all(|kind| kind == "golomb"));
}

#[test]
fn a_missing_or_wrong_key_is_named_and_never_drawn_anew() {
    let place = with_keyed_store();
    place.write("more.tsv", cells(0, 10, "more"));
    place.write("short", "0123456789abcde");
    let before = files(&place);
    for command in ["fill db more.tsv", "get db row-00001", "scan db", "stats db", "verify db", "rebuild db"] {
        let message = place.expect_failure(3, command);
        assert!(message.contains(&format!("hashed under the secret key {ID}, and none was given")), "{message}");
        assert!(message.contains("again with `--hash-key-file KEY`, the file of that key"), "{message}");
        let message = place.expect_failure(3, &format!("{command} --hash-key-file other"));
        assert!(message.contains(ID) && message.contains("and the secret key 0x"), "{message}");
        for (code, file) in [(2, "short"), (4, "nowhere")] {
            let message = place.expect_failure(code, &format!("{command} --hash-key-file {file}"));
            assert!(message.contains(file) && !message.contains("urandom"), "{message}");
        }
    }
    place.expect_failure(2, "fill db more.tsv --seed 1 --hash-key-file raw");
    place.expect_failure(2, "rebuild db --seed 1 --hash-key-file raw");
    place.expect_failure(2, "rebuild db --random-seed --hash-key-file raw");
    assert!(files(&place) == before);
    let sst = before.keys().find(|name| name.ends_with(".sst")).unwrap();
    for command in ["inspect", "verify"] {
        let message = stderr(&place.run(&format!("{command} db/{sst}")));
        assert!(message.contains(&format!("secret key {ID}, which was not given")), "{message}");
        assert!(message.contains("again with `--hash-key-file KEY`, the file of that key"), "{message}");
    }
}

#[test]
fn a_key_for_what_has_none_is_refused() {
    let place = super::with_store();
    place.write("raw", (0..16).collect::<Vec<u8>>());
    let table = &tables(&place)[0];
    for command in ["get db row-00001".to_owned(), "verify db".to_owned(), format!("inspect db/{table}")] {
        let message = stderr(&place.run(&format!("{command} --hash-key-file raw")));
        let parts = ["without", "Leave out"].map(|word| format!("{word} --hash-key-file"));
        assert!(parts.iter().any(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn rebuild_gives_a_store_a_key_another_or_none() {
    let place = super::with_store();
    place.write("raw", (0..16).collect::<Vec<u8>>());
    place.write("other", (1..17).collect::<Vec<u8>>());
    place.expect(0, "rebuild db --kind bloom --bits-per-key 12");
    let before = filters(&place);
    let message = place.expect_failure(3, "rebuild db --hash-key-file raw");
    assert!(message.contains("`filterblock rebuild db --change-hash-key --hash-key-file raw`"), "{message}");
    let table = &tables(&place)[0];
    place.expect_failure(2, &format!("rebuild db/{table} --change-hash-key --hash-key-file raw"));

    let printed = place.expect(0, "rebuild db --change-hash-key --hash-key-file raw");
    assert!(printed.ends_with(&format!("under the secret key {ID}\n")), "{printed}");
    place.expect_failure(3, "get db row-00001");
    place.expect(0, "verify db --hash-key-file raw");
    let stats = place.json(0, "stats db --json --hash-key-file raw");
    let bits = |filter: &serde_json::Value| (filter["kind"].clone(), filter["bits_per_key"].as_f64().unwrap().round());
    let now = stats["tables"].as_array().unwrap().iter().flat_map(|table| table["filters"].as_array().unwrap().clone());
    assert_eq!(now.map(|filter| bits(&filter)).collect::<Vec<_>>(), before.iter().map(bits).collect::<Vec<_>>());
    // Filters of prefixes are not lost with the key, though none can be opened then.
    place.expect(0, "rebuild db --prefix-len 4 --hash-key-file raw");
    let purposes = |key: &str| {
        let stats = place.json(0, &format!("stats db --json --hash-key-file {key}"));
        let tables = stats["tables"].as_array().unwrap().clone();
        let filters = tables.iter().flat_map(|table| table["filters"].as_array().unwrap().clone());
        filters.map(|filter| filter["purpose"].clone()).collect::<Vec<_>>()
    };
    let with_prefixes = purposes("raw");
    assert!(with_prefixes.contains(&"prefix".into()), "{with_prefixes:?}");
    place.expect(0, "rebuild db --change-hash-key --hash-key-file other");
    assert_eq!(purposes("other"), with_prefixes);
    place.expect(0, "rebuild db --change-hash-key --hash-key-file raw");
    // A lost key costs the filters, and no data.
    place.expect(0, "rebuild db --change-hash-key --hash-key-file other --kind blocked");
    place.expect(0, "verify db --hash-key-file other");
    assert!(place.expect(0, "rebuild db --change-hash-key").ends_with("with a seed, under no secret key\n"));
    place.expect(0, "verify db");
    assert_eq!((tables(&place).len(), filters(&place).len()), (2, 6));
    assert_eq!(place.expect(0, "get db row-00007 a"), "old-7");
}
