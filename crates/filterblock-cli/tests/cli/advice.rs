//! What messages advise: commands that can be followed word for word and destroy nothing.

use crate::*;
use filterblock::CustomTransform;

#[test]
fn no_command_writes_over_what_is_no_filter_block() {
    let place = Place::with_block("golomb");
    let block = place.read("t.fb");
    place.write("cells.tsv", "row\tcolumn\tvalue\n");
    place.expect(0, "fill db cells.tsv");
    place.write("short.txt", "a\nb\n");
    place.write("long.txt", lines("key", 100));
    place.write("empty", "");
    place.write("start", &block[..7]);
    place.write("as-text", String::from_utf8_lossy(&block).as_bytes());
    let mut names: Vec<String> = std::fs::read_dir(place.path("db"))
        .unwrap()
        .map(|entry| format!("db/{}", entry.unwrap().file_name().into_string().unwrap()))
        .filter(|name| !name.ends_with(".sst"))
        .collect();
    assert!(names.iter().any(|name| name.ends_with(".wal")), "{names:?}");
    names.extend(["short.txt", "long.txt", "empty", "start", "as-text", "/dev/null"].map(str::to_owned));
    for name in names {
        for line in [format!("inspect {name}"), format!("query {name} key"), format!("verify {name}")] {
            let message = place.expect_failure(3, &line);
            assert!(!message.contains("--output") && message.contains("It holds no block"), "{line}: {message}");
        }
    }
    place.write("cut.fb", &block[..100]);
    let message = place.expect_failure(3, "inspect cut.fb");
    assert!(message.contains("To replace it, build a block") && !message.contains("--output"), "{message}");
    // Nor is a file replaced that begins with a block and holds more.
    place.write("more.fb", [&block[..], &block[..]].concat());
    for line in ["inspect more.fb", "query more.fb key", "verify more.fb"] {
        assert!(!place.expect_failure(3, line).contains("--output"), "{line}");
    }
}

#[test]
fn no_command_draws_a_key_over_a_file() {
    let place = Place::with_block("bloom");
    place.write("short", "0123456789abcde");
    place.write("long", "f".repeat(10_000));
    place.write("digits", "000102030405060708090a0b0c0d0e0g");
    for line in [
        "query t.fb --hash-key-file short key",
        "query t.fb --hash-key-file digits key",
        "inspect t.fb --hash-key-file long",
        "verify t.fb --hash-key-file short",
        "build --hash-key-file short --output x.fb keys.txt",
        "build --hash-key-file /dev/zero --output x.fb keys.txt",
    ] {
        let message = place.expect_failure(2, line);
        assert!(message.contains("expected 16 bytes or 32 hexadecimal digits"), "{line}: {message}");
        let file = line.split(' ').skip_while(|&word| word != "--hash-key-file").nth(1).unwrap();
        assert!(message.contains(file) && !message.contains("urandom"), "{line}: {message}");
    }
    place.expect_failure(2, "build --seed 1 --hash-key-file short --output x.fb keys.txt");
    let message = place.expect_failure(4, "query t.fb --hash-key-file nowhere key");
    assert!(message.contains("nowhere: cannot read the hash key") && !message.contains("urandom"), "{message}");
    let message = place.expect_failure(4, "build --hash-key-file nowhere --output x.fb keys.txt");
    let command = message.split('`').nth(1).unwrap();
    assert_eq!(command, "(umask 077; set -C; head -c 16 /dev/urandom > nowhere)");
    assert!(place.shell(command).status.success());
    place.expect(0, "build --hash-key-file nowhere --output x.fb keys.txt");
}

#[test]
fn a_key_given_for_a_block_without_one_is_to_be_left_out() {
    let place = Place::with_block("blocked");
    place.write("key", [7; 16]);
    for line in ["query t.fb --hash-key-file key key-1", "inspect t.fb --hash-key-file key"] {
        let message = place.expect_failure(3, line);
        assert!(message.ends_with("Leave out --hash-key-file.\n"), "{message}");
        assert!(!message.contains("If you have its key"), "{message}");
    }
}

#[test]
fn a_block_whose_key_was_not_given_is_not_called_intact() {
    let place = Place::with_block("blocked");
    place.write("key", [7; 16]);
    place.expect(0, "build --hash-key-file key --output k.fb keys.txt");
    // Without probes: damage that the checksums do not show.
    let mut block = place.read("k.fb");
    let num_probes = (40..52).find(|&at| block[at] == 8).unwrap();
    block[num_probes] = 0;
    repair_crc(&mut block, 0);
    place.write("k.fb", block);
    for line in ["verify k.fb", "inspect k.fb"] {
        let message = place.expect_failure(3, line);
        assert!(!message.contains("intact"), "{message}");
        assert!(message.contains("checksums are right") && message.contains("were not checked"), "{message}");
    }
    assert!(place.expect_failure(3, "verify k.fb --hash-key-file key").contains("num_probes = 0"));
}

/// Blocks whose entries a key alone does not determine.
fn with_transforms() -> Place {
    let place = Place::new();
    for (name, transform) in [
        ("row-column.fb", KeyTransform::RowColumn),
        ("custom.fb", KeyTransform::Custom(CustomTransform::new(128, 7).unwrap())),
    ] {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0).unwrap().with_transform(transform);
        let mut builder = FilterBlockBuilder::new(&policy);
        builder.add_entry(b"entry");
        place.write(name, builder.finish().unwrap());
    }
    place
}

#[test]
fn filters_of_more_than_keys_answer_maybe() {
    let place = with_transforms();
    place.write("keys.txt", lines("key", 10));
    for (name, num_notes) in [("row-column.fb", 0), ("custom.fb", 1)] {
        let (answer, note) = ended(0, &place.run(&format!("query {name} some-key")));
        assert_eq!(answer, "maybe\tsome-key\n");
        assert_eq!((note.contains("which is the engine's own code"), note.lines().count()), (num_notes > 0, num_notes));
        let summary = place.json(0, &format!("query {name} --keys keys.txt --summary --json"));
        assert_eq!((&summary["maybe"], &summary["no"]), (&10.into(), &0.into()));
    }
}

/// What a list of keys cannot tell, and what to do instead.
#[test]
fn keys_for_filters_of_more_than_keys_are_refused_with_the_reason() {
    let place = with_transforms();
    place.write("keys.txt", lines("key", 10));
    let message = place.expect_failure(2, "verify row-column.fb --keys keys.txt");
    assert!(message.starts_with("keys.txt: line 1: no tab: expected a row, a tab and a column"), "{message}");
    for (name, entries) in [("custom.fb", "by the engine's own code")] {
        let message = place.expect_failure(3, &format!("verify {name} --keys keys.txt"));
        assert!(message.starts_with(&format!("{name}: filter block at offset 0 (128 bytes, blocked ")), "{message}");
        for part in [entries, "Its checksums and its structure are right", "no key was checked"] {
            assert!(message.contains(part), "{message}");
        }
        let named = commands(&message);
        assert_eq!(named, [format!("filterblock verify {name}")]);
        assert_eq!(place.follow(&named[0]).status.code(), Some(0));
    }
}

/// No command takes a file's name for a flag, or for standard input.
#[cfg(unix)]
#[test]
fn names_that_begin_with_a_dash_are_followed() {
    let place = Place::with_block("bloom");
    for name in ["-t.fb", "--json", "-"] {
        place.write(name, place.read("t.fb"));
        let message = place.expect_failure(3, &format!("inspect --context 7 -- {name}"));
        let named = commands(&message);
        assert_eq!(named, [format!("filterblock inspect --context 0x0 ./{name}")]);
        assert_eq!(place.follow(&named[0]).status.code(), Some(0), "{message}");
        let message = place.expect_failure(2, &format!("list -- {name}"));
        assert_eq!(place.follow(&commands(&message)[0]).status.code(), Some(0), "{message}");
    }
}

#[test]
fn a_length_is_ascribed_to_the_field_that_it_follows_from() {
    let place = Place::with_block("golomb");
    let block = place.read("t.fb");
    place.write("cut.fb", &block[..100]);
    let message = place.expect_failure(3, "inspect cut.fb");
    let expected = format!("the length field declares {} bytes of payload, the file has 36", block.len() - 64);
    assert!(message.contains(&expected), "{message}");
    // 2^40 entries in the same payload.
    let mut block = block;
    block[29] = 1;
    repair_crc(&mut block, 0);
    place.write("many.fb", &block);
    let message = place.expect_failure(3, "inspect many.fb");
    let length = format!("bytes of payload, the length field {}.", block.len() - 64);
    assert!(message.contains("the entry count and the parameters imply") && message.contains(&length), "{message}");
    // A payload of no bytes, where the parameters imply some: the checksums are right.
    for kind in KINDS {
        let place = Place::with_block(kind);
        let mut block = place.read("t.fb");
        block.truncate(64);
        block[32..40].fill(0);
        repair(&mut block, 0);
        place.write("none.fb", &block);
        let message = place.expect_failure(3, "inspect none.fb");
        let is_range = kind == "blocked" && message.contains("num_lines = 0");
        let implied = message.contains("imply ") && !message.contains("imply 0 bytes");
        assert!(is_range || implied && message.contains("the length field 0."), "{message}");
    }
}

#[test]
fn an_empty_block_with_a_byte_more_has_no_context() {
    let place = Place::with_block("bloom");
    place.write("none.txt", "");
    place.run("build --kind bloom --context 1 --allow-empty --output none.fb none.txt");
    assert!(place.expect_failure(3, "inspect none.fb").contains("inspect --context 0x1 none.fb"));
    place.write("more.fb", [&place.read("none.fb")[..], b"\0"].concat());
    let message = place.expect_failure(3, "inspect more.fb");
    assert!(
        message.starts_with("more.fb: filter block at offset 0 (65 bytes): header checksum stored 0x"),
        "{message}"
    );
}

#[test]
fn the_ends_of_a_range_are_rounded_and_legal() {
    let place = Place::with_block("bloom");
    for kind in KINDS {
        let message = place.expect_failure(2, &format!("build --kind {kind} --fpr 2 --output x.fb keys.txt"));
        let (_, range) = message.split_once("legal range ").unwrap();
        let ends: Vec<&str> = range.split(". ").next().unwrap().lines().next().unwrap().split(" to ").collect();
        for end in ends {
            assert!(end.len() <= 8, "{message}");
            place.expect(0, &format!("build --kind {kind} --fpr {end} --output x.fb keys.txt"));
        }
    }
}
