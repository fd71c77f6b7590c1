//! Filters of other entries than whole keys, and compact frames.

use crate::*;
use filterblock::partition::PartitionLimit;
use std::fmt::Write as _;
use testkit::harness::{Stored, Writer};

/// Two columns for each of 100 rows.
fn cells() -> String {
    (0..200).fold(String::new(), |mut text, i| {
        let _ = writeln!(text, "row-{}\tcolumn-{}", i / 2, i % 2);
        text
    })
}

#[test]
fn pairs_are_rows_tabs_and_columns() {
    let place = Place::new();
    place.write("cells.txt", cells());
    place.expect(0, "build --transform row+column --seed 0 --output c.fb cells.txt");
    let policy =
        FilterPolicy::with_bits_per_key(FilterKind::default(), 10.0).unwrap().with_transform(KeyTransform::RowColumn);
    let mut builder = FilterBlockBuilder::new(&policy);
    for line in cells().lines() {
        let (row, column) = line.split_once('\t').unwrap();
        builder.add_row_column(row.as_bytes(), column.as_bytes());
    }
    assert_eq!(place.read("c.fb"), builder.finish().unwrap());
    let answers = place.expect(0, "query c.fb --keys cells.txt");
    assert_eq!(answers, cells().lines().map(|line| format!("maybe\t{line}\n")).collect::<String>());
    place.write("others.txt", cells().replace("column-", "other-"));
    let others = place.expect(0, "query c.fb --keys others.txt");
    assert!(others.lines().filter(|line| line.starts_with("no\t")).count() > 190, "{others}");
    let verified = place.expect(0, "verify c.fb --keys cells.txt");
    assert!(verified.contains("200"), "{verified}");
    // Further tabs belong to the column.
    place.write("tabs.txt", "row\ta\tb\n");
    place.expect(0, "build --transform row+column --output tabs.fb tabs.txt");
    assert_eq!(place.expect(0, "query tabs.fb --keys tabs.txt"), "maybe\trow\ta\tb\n");
}

#[test]
fn a_line_without_a_column_is_named_and_nothing_is_written() {
    let place = Place::new();
    place.write("bad.txt", "row-1\tcolumn\nrow-2\n");
    let message = place.expect_failure(2, "build --transform row+column --output bad.fb bad.txt");
    assert!(message.starts_with("bad.txt: line 2: no tab: expected a row, a tab and a column"), "{message}");
    assert!(message.contains("Nothing was written") && !place.path("bad.fb").exists(), "{message}");
}

#[test]
fn rows_and_prefixes_are_entries() {
    let place = Place::new();
    place.write("keys.txt", lines("key", 1000) + "k\n");
    for (transform, asked, answer, num_short) in [
        ("row", "key-7", "maybe", 0),
        ("prefix:4", "key-unseen", "maybe", 1),
        ("prefix:4", "other", "no", 1),
        ("prefix:4", "ke", "maybe", 1),
        ("delimited:-", "key-unseen", "maybe", 1),
        ("delimited:-:1", "other-7", "no", 1),
        ("whole-key+prefix:4", "key-7", "maybe", 0),
        ("whole-key+prefix:4", "key-", "maybe", 0),
    ] {
        let line = format!("build --kind fuse --fpr 0.01% --transform {transform} --output t.fb keys.txt");
        let (_, warning) = ended(0, &place.run(&line));
        assert_eq!(warning.contains("1 of 1001 keys have no prefix that is an entry"), num_short == 1, "{warning}");
        assert_eq!(place.json(0, "inspect t.fb --json")["transform"], transform);
        let code = if answer == "no" { 1 } else { 0 };
        assert_eq!(place.expect(code, &format!("query t.fb {asked}")), format!("{answer}\t{asked}\n"), "{transform}");
    }
    let message = place.expect_failure(2, "build --transform custom:200:1 --output t.fb keys.txt");
    assert!(message.contains("the engine's own code is needed"), "{message}");
}

#[test]
fn compact_frames_are_built_queried_and_shown() {
    for kind in KINDS {
        let place = Place::with_block(kind);
        let built = place.expect(0, &format!("build --kind {kind} --compact-frame --seed 7 --output f.fb keys.txt"));
        let flags = "--compact-frame --seed 0x7 --transform whole-key";
        assert!(built.contains(flags), "{built}");
        let policy = FilterPolicy::with_bits_per_key(kind.parse().unwrap(), 10.0).unwrap().with_seed(7);
        let (mut builder, mut frame) = (FilterBlockBuilder::new(&policy), Vec::new());
        lines("key", 1000).lines().for_each(|key| builder.add_key(key.as_bytes()));
        builder.finish_compact_into(&mut frame).unwrap();
        assert_eq!(place.read("f.fb"), frame, "{kind}");
        let answers = place.expect(0, &format!("query f.fb {flags} --keys keys.txt --summary"));
        assert_eq!(answers, "1000 queries: 1000 maybe, 0 no\n");
        let absent = place.json(0, &format!("query f.fb {flags} --keys absent.txt --summary --json"));
        assert!(absent["no"].as_u64().unwrap() > 950, "{kind}: {absent}");
        let shown = place.json(0, "inspect f.fb --compact-frame --json");
        assert_eq!((&shown["kind"], &shown["frame_len_bytes"]), (&kind.into(), &frame.len().into()));
        // What it does not store is not guessed, and a block is no frame.
        for line in ["query f.fb --compact-frame key-1", "query f.fb --compact-frame --seed 7 key-1"] {
            assert!(place.expect_failure(2, line).contains("stores neither hash nor transform"));
        }
        let message = place.expect_failure(2, &format!("query t.fb {flags} key-1"));
        assert!(message.contains("begins as a block does"), "{message}");
        place.expect_failure(2, &format!("query f.fb {flags} --context 1 key-1"));
        place.expect_failure(3, "query f.fb key-1");
        place.write("cut.fb", &frame[..frame.len() - 1]);
        let message = place.expect_failure(3, &format!("query cut.fb {flags} key-1"));
        let start = format!("cut.fb: compact frame at offset 0 ({} bytes): ", frame.len() - 1);
        assert!(message.starts_with(&start), "{message}");
        for tag in [0x20 | frame[frame.len() - 1] & 15, 0x17] {
            place.write("new.fb", [&frame[..frame.len() - 1], &[tag]].concat());
            let message = place.expect_failure(3, &format!("query new.fb {flags} key-1"));
            assert!(message.contains("but slower. A newer filterblock than this "), "{message}");
        }
    }
}

#[test]
fn a_compact_frame_without_entries_denies_every_key() {
    let place = Place::new();
    place.write("none.txt", "");
    place.run("build --compact-frame --allow-empty --output f.fb none.txt");
    assert_eq!(place.read("f.fb"), [0x10]);
    place.expect(1, "query f.fb --compact-frame --seed 0 --transform whole-key key");
}

#[test]
fn compact_frames_are_verified() {
    let place = Place::with_block("fuse");
    place.expect(0, "build --kind fuse --compact-frame --seed 3 --output f.cf keys.txt");
    for command in ["verify f.cf", "inspect f.cf", "query f.cf key-1"] {
        let message = place.expect_failure(3, command);
        assert!(message.contains("inspect, query and verify read it with --compact-frame"), "{message}");
    }
    let text = place.expect(0, "verify --compact-frame f.cf");
    assert!(text.starts_with("f.cf: ok: compact frame, fuse, ") && text.contains("it has no checksums"), "{text}");
    let with = "verify --compact-frame f.cf --transform whole-key";
    let report = place.json(0, &format!("{with} --seed 3 --keys keys.txt --json"));
    assert_eq!((&report["keys_asked"], &report["keys_missing"]), (&1000.into(), &0.into()));
    assert!(report["deviation_sigma"].as_f64().unwrap().abs() < 4.0, "{report}");
    assert!(place.expect_failure(3, &format!("{with} --seed 4 --keys keys.txt")).contains("keys are answered 'no'"));
    assert!(place.expect_failure(2, &format!("{with} --keys keys.txt")).contains("give --transform and --seed"));
    place.write("g.cf", &place.read("f.cf")[1..]);
    place.expect_failure(3, "verify --compact-frame g.cf");
}

/// The library's golden files: partitions, and after them their index.
#[test]
fn a_partitioned_filter_in_one_file_is_queried_shown_and_verified() {
    let place = Place::new();
    let golden = |name: &str| {
        let path = format!("{}/../../tests/golden/v1/partitioned/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read(path).expect("a golden file")
    };
    let index: serde_json::Value = serde_json::from_slice(&golden("index.json")).expect("JSON");
    let mut num_queried = 0;
    for set in index.as_array().expect("a list") {
        let name = set["name"].as_str().expect("a name");
        let (partitions, index) = (golden(&format!("{name}.partitions")), golden(&format!("{name}.index")));
        place.write("p.fb", [&partitions[..], &index].concat());
        let flags = format!("--context {}", set["context"].as_str().expect("a context"));
        if !set["hash_key"].is_null() {
            place.expect_failure(3, &format!("inspect p.fb {flags}"));
            continue;
        }
        if partitions.is_empty() {
            assert!(place.expect_failure(2, &format!("inspect p.fb {flags}")).contains("every key is absent"));
            continue;
        }
        let shown = place.json(0, &format!("inspect p.fb {flags} --json"));
        let num_partitions = shown["num_partitions"].as_u64().expect("a number");
        assert!(num_partitions > 0 && shown["index_len_bytes"] == index.len(), "{name}: {shown}");
        let text = place.expect(0, &format!("verify p.fb {flags}"));
        assert!(text.starts_with("p.fb: ok: ") && text.contains(&shown["num_entries"].to_string()), "{text}");
        // Where entries are the keys: each is found, and a key above all others is not there.
        if shown["transform"] == "whole-key" {
            let keys = String::from_utf8(golden(&format!("{name}.keys"))).expect("text");
            let bytes = |hex: &str| -> Vec<u8> {
                (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("digits")).collect()
            };
            let lines = keys.lines().map(|line| [&bytes(line.split(' ').next().expect("a key"))[..], b"\0"].concat());
            place.write("keys.txt", lines.collect::<Vec<_>>().concat());
            let queries = format!("query p.fb {flags} --keys keys.txt --null --summary");
            assert!(place.expect(0, &queries).ends_with(" maybe, 0 no\n"), "{name}");
            place.expect(0, &format!("verify p.fb {flags} --keys keys.txt --null"));
            place.write("high.txt", [0xff; 40]);
            let high = place.expect(0, &format!("query p.fb {flags} --keys high.txt --summary"));
            assert_eq!(high, "1 queries: 0 maybe, 1 no\n");
            num_queried += 1;
        }
        let bad = flipped(&[&partitions[..], &index].concat(), 70);
        place.write("bad.fb", &bad);
        let message = crate::stderr(&place.run(&format!("verify bad.fb {flags}")));
        assert!(message.contains("Partition 0 ignored: lookups of its keys stay correct but slower"), "{message}");
        place.write("bad.fb", flipped(&bad, partitions.len() + 66));
        let message = place.expect_failure(3, &format!("verify bad.fb {flags}"));
        let expected = format!("bad.fb: index of partitions at offset {}: payload digest stored", partitions.len());
        assert!(message.starts_with(&expected), "{message}");
    }
    assert!(num_queried > 0);
    place.write("r.fb", ["partitions", "index"].map(|end| golden(&format!("../ranges/partitioned.{end}"))).concat());
    for command in ["inspect r.fb", "verify r.fb", "query r.fb key"] {
        assert!(place.expect_failure(2, command).contains("a range filter in partitions"));
    }
}

/// In a partitioned filter, too, prefixes that are entries are answered, where their partition opens.
#[test]
fn a_partitioned_filter_answers_for_prefixes() {
    for transform in ["prefix:6", "whole-key+prefix:6", "delimited:/"] {
        let policy: FilterPolicy = format!("golomb:fpr=0.000001,seed=1,transform={transform}").parse().unwrap();
        let mut writer = Writer::new(policy, PartitionLimit::Entries(100), 0);
        (0..1000).for_each(|key| writer.key(format!("{key:06}/x").as_bytes()).unwrap());
        let Stored { mut file, index } = writer.finish().unwrap();
        let place = Place::new();
        place.write("p.fb", [&file[..], &index].concat());
        assert!(place.json(0, "inspect p.fb --json")["num_partitions"].as_u64() > Some(5));
        let list: String = (0..2000).map(|key| format!("{key:06}/y\n")).collect();
        let output = place.with_stdin("query p.fb --ranges -", list.as_bytes());
        let answers = String::from_utf8(output.stdout).unwrap();
        for (key, line) in answers.lines().enumerate() {
            assert_eq!(line.starts_with("maybe\t"), key < 1000, "{transform}: {line}");
        }
        assert_eq!(answers.lines().count(), 2000);
        file[70] ^= 1;
        place.write("p.fb", [&file[..], &index].concat());
        assert!(place.expect(0, "query p.fb --prefix 000001/").starts_with("maybe\t"));
        assert!(place.expect(1, "query p.fb --prefix 999999/").starts_with("no\t"));
    }
}
