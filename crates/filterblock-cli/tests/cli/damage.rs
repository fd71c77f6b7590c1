//! Damaged and foreign files, through every subcommand that reads them.

use crate::*;

/// Every command that opens a block fails on `name` with code 3 and the same message, which is returned.
#[track_caller]
fn refused(place: &Place, name: &str) -> String {
    let message = place.expect_failure(3, &format!("query {name} key-1"));
    for line in [format!("inspect {name}"), format!("inspect {name} --json"), format!("verify {name}")] {
        assert_eq!(place.expect_failure(3, &line), message);
    }
    assert!(message.starts_with(&format!("{name}: filter block at offset 0 (")), "{message}");
    // The next command exists.
    let (_, command) = message.split_once("`filterblock ").unwrap();
    let subcommand = command.split(' ').next().unwrap();
    place.expect(0, &format!("{subcommand} --help"));
    message
}

#[test]
fn a_flipped_byte_anywhere_is_found() {
    for kind in KINDS {
        let place = Place::with_block(kind);
        let block = place.read("t.fb");
        for at in [0, 8, 9, 12, 16, 24, 32, 40, 52, 60, 64, block.len() / 2, block.len() - 1] {
            place.write("bad.fb", flipped(&block, at));
            place.expect_failure(3, "verify bad.fb");
        }
    }
}

#[test]
fn a_damaged_payload_is_reported_with_both_digests() {
    let place = Place::with_block("bloom");
    let block = place.read("t.fb");
    place.write("bad.fb", flipped(&block, 700));
    let message = refused(&place, "bad.fb");
    let start = format!("bad.fb: filter block at offset 0 ({} bytes, bloom v1): payload digest stored 0x", block.len());
    assert!(message.starts_with(&start), "{message}");
    let next =
        ". Filter ignored: lookups stay correct but slower. To replace it, build a block from the keys of its table";
    assert!(message.contains(", computed 0x") && message.contains(next), "{message}");
}

#[test]
fn a_damaged_header_is_not_trusted_for_the_kind() {
    let place = Place::with_block("golomb");
    place.write("bad.fb", flipped(&place.read("t.fb"), 20));
    let message = refused(&place, "bad.fb");
    assert!(message.contains("bytes): header checksum stored 0x"), "{message}");
}

#[test]
fn truncated_and_empty_files_are_never_empty_filters() {
    for kind in KINDS {
        let place = Place::with_block(kind);
        let block = place.read("t.fb");
        for len in [0, 1, 63, 64, 65, block.len() - 1] {
            place.write("bad.fb", &block[..len]);
            let message = refused(&place, "bad.fb");
            assert!(message.contains(&format!("({len} bytes")), "{message}");
        }
        place.write("bad.fb", [&block[..], b"\0"].concat());
        refused(&place, "bad.fb");
    }
}

#[test]
fn a_file_of_another_program_is_not_to_be_written_over() {
    let place = Place::new();
    place.write("other.txt", vec![b'x'; 1000]);
    let message = refused(&place, "other.txt");
    assert!(message.contains("not a filter block") && !message.contains("--output"), "{message}");
}

#[test]
fn newer_blocks_are_distinguished_from_damaged_ones() {
    let place = Place::with_block("blocked");
    for (at, value, part) in [(8, 2, "format version 2 is newer"), (9, 99, "filter kind 99"), (10, 7, "hash id 7")] {
        let mut bytes = place.read("t.fb");
        bytes[at] = value;
        repair_crc(&mut bytes, 0);
        place.write("new.fb", bytes);
        let message = refused(&place, "new.fb");
        assert!(message.contains(part) && message.contains("newer filterblock"), "{message}");
    }
}

#[test]
fn a_block_with_another_context_is_reported_with_it() {
    let place = Place::with_block("golomb");
    place.expect(0, "build --kind golomb --context 42 --output c.fb keys.txt");
    let message = refused(&place, "c.fb");
    assert!(message.contains("bound to another number"), "{message}");
    assert!(message.ends_with("run `filterblock inspect --context 0x2a c.fb`.\n"), "{message}");
    assert_eq!(place.json(0, "inspect --context 0x2a c.fb --json")["num_entries"], 1000);
    place.expect(0, "query --context 42 c.fb key-1");
    place.expect(0, "verify --context 42 c.fb --keys keys.txt");
}

#[test]
fn unreadable_files_exit_with_4() {
    let place = Place::with_block("bloom");
    for name in ["missing.fb", ".", "t.fb/t.fb"] {
        let verify = format!("verify {name}");
        // Verifying a directory verifies a store.
        let verify = (name != ".").then_some(verify);
        for line in [format!("query {name} key"), format!("inspect {name}")].into_iter().chain(verify) {
            let message = place.expect_failure(4, &line);
            assert!(message.starts_with(&format!("{name}: cannot read: ")), "{message}");
        }
    }
    assert!(place.expect_failure(4, "query t.fb --keys missing.txt").starts_with("missing.txt: cannot open: "));
}

#[test]
fn names_are_quoted_in_commands_to_run() {
    let place = Place::new();
    place.write("keys.txt", "key\n");
    place.expect(0, "build --output t.fb keys.txt");
    place.expect(0, "build --context 7 --output t.fb keys.txt");
    place.write("two words $x.fb", place.read("t.fb"));
    let output = place.command(["inspect", "two words $x.fb"]).output().unwrap();
    let message = crate::stderr(&output);
    assert!(message.contains("run `filterblock inspect --context 0x7 'two words $x.fb'`."), "{message}");
}
