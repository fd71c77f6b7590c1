//! `filterblock build`.

use crate::*;
use testkit::policies;
use testkit::random::Random;

#[test]
fn prefixes_without_a_byte_and_beyond_the_limit_are_refused() {
    let place = Place::with_block("blocked");
    for arguments in
        ["--transform prefix:0", "--transform whole-key+prefix:0", "--policy blocked:10,transform=prefix:0"]
    {
        let message = place.expect_failure(2, &format!("build {arguments} --output p.fb keys.txt"));
        assert!(message.contains("prefix length = 0 is outside the legal range 1 to 65535"), "{message}");
    }
    let message = place.expect_failure(2, "build --transform prefix:70000 --output p.fb keys.txt");
    assert!(message.contains("'70000' is not a whole number from 0 to 65535"), "{message}");
    assert!(!place.path("p.fb").exists());
}

#[test]
fn keys_come_from_standard_input_by_default_or_for_a_dash() {
    let place = Place::with_block("blocked");
    for line in ["build --kind blocked --seed 0 --output s.fb", "build --kind blocked --seed 0 --output s.fb -"] {
        let (_, message) = ended(0, &place.with_stdin(line, lines("key", 1000).as_bytes()));
        assert_eq!(message, "", "no progress where standard error is no terminal");
        assert_eq!(place.read("s.fb"), place.read("t.fb"));
        fs::remove_file(place.path("s.fb")).unwrap();
    }
}

#[test]
fn the_summary_has_the_figures_of_the_block() {
    let place = Place::new();
    place.write("keys.txt", lines("key", 1000) + &lines("key", 10));
    let summary = place.json(0, "build --kind golomb --fpr 1% --seed 0x2a --output t.fb --json keys.txt");
    assert_eq!(summary["keys_read"], 1010);
    assert_eq!(summary["num_entries"], 1000);
    assert_eq!(summary["block_len_bytes"], place.read("t.fb").len());
    assert_eq!(summary["seed"], "0x000000000000002a");
    assert_eq!(summary["kind"], "golomb");
    let fpr = summary["predicted_fpr"].as_f64().unwrap();
    assert!(fpr > 0.008 && fpr <= 0.0105, "{fpr}");
    let bits = summary["bits_per_key"].as_f64().unwrap();
    assert!((bits - place.read("t.fb").len() as f64 * 8.0 / 1000.0).abs() < 1e-9);
    let text = place.expect(0, "build --kind golomb --output t.fb keys.txt");
    assert_eq!(text.lines().count(), 1);
    for part in ["t.fb", "golomb", "1000 distinct", "1010 keys", "bits/key", "predicted"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn given_sizes_are_met() {
    let place = Place::with_block("blocked");
    for kind in KINDS {
        place.expect(0, &format!("build --kind {kind} --bits-per-key 12.5 --output b.fb keys.txt"));
        let bits = place.read("b.fb").len() as f64 * 8.0 / 1000.0;
        assert!((11.5..13.5).contains(&bits), "{kind}: {bits}");
        place.expect(0, &format!("build --kind {kind} --max-bytes 1KiB --output b.fb keys.txt"));
        let len = place.read("b.fb").len();
        assert!((900..=1024).contains(&len), "{kind}: {len}");
    }
    place.expect(0, "build --policy blocked:10,salt_bits=0 --output s0.fb keys.txt");
    assert_ne!(place.read("s0.fb"), place.read("t.fb"));
    assert_eq!(place.read("s0.fb").len(), place.read("t.fb").len());
}

#[test]
fn keys_are_bytes() {
    let place = Place::new();
    // Not UTF-8, an empty line, a carriage return, and no newline at the end: four keys.
    place.write("keys.bin", b"\xff\xfe\x80\n\nwindows\r\nlast");
    let summary = place.json(0, "build --kind golomb --fpr 0.000001 --output t.fb --json keys.bin");
    assert_eq!(summary["num_entries"], 4);
    for (key, code) in [
        (&b"\xff\xfe\x80"[..], 0),
        (b"", 0),
        (b"windows\r", 0),
        (b"last", 0),
        (b"windows", 1),
        (b"last\n", 1),
        (b"\xff\xfe", 1),
    ] {
        place.write("one", [key, b"\0"].concat());
        let output = place.expect(0, "query t.fb --null --summary --json --keys one");
        let answer: Value = serde_json::from_str(&output).unwrap();
        assert_eq!(answer["no"], code, "{key:?}");
    }
}

#[test]
fn nul_separated_keys_may_hold_newlines() {
    let place = Place::new();
    place.write("keys.bin", b"two\nlines\0\0plain");
    let summary = place.json(0, "build --kind golomb --fpr 0.000001 --null --output t.fb --json keys.bin");
    assert_eq!(summary["num_entries"], 3);
    for (key, code) in [("two\nlines", 0), ("", 0), ("plain", 0), ("two", 1), ("lines", 1)] {
        let status = place.command(["query", "t.fb", key]).output().unwrap().status;
        assert_eq!(status.code(), Some(code), "{key:?}");
    }
}

#[cfg(unix)]
#[test]
fn crlf_files_cause_a_warning() {
    let place = Place::new();
    for (name, text, says) in [
        ("all.txt", "a\r\nb\r\n", "2 of 2, the first at line 1"),
        ("unended.txt", "a\r\nb\r\nc", "2 of 3, the first at line 1"),
        ("mixed.txt", "a\nb\r\n", "1 of 2, the first at line 2"),
        ("one.txt", "a\r", "1 of 1, the first at line 1"),
    ] {
        place.write(name, text);
        place.run("build --kind golomb --seed 0 --output t.fb all.txt");
        place.run("build --kind range --output r.fb all.txt");
        let all = "build --kind bloom --output b.fb LIST; build --kind range --output b.fb LIST; \
            query t.fb --keys LIST; query r.fb --ranges LIST; verify t.fb --keys LIST; verify r.fb --keys LIST; \
            fill db --rows-only LIST";
        for line in all.replace("LIST", name).split("; ") {
            let message = stderr(&place.run(line));
            let start = format!("{name}: lines that end in a carriage return: {says}.");
            assert!(message.starts_with(&start), "{line}: {message}");
            let command = message.split('`').nth(1).unwrap();
            assert_eq!(String::from_utf8(place.shell(command).stdout).unwrap(), text.replace('\r', ""), "{command}");
        }
    }
    place.write("null.bin", "a\r\0b\r\0");
    place.write("inner.txt", "a\rb\n\rc\n");
    for line in ["build --null --output t.fb null.bin", "build --output t.fb inner.txt"] {
        assert_eq!(stderr(&place.run(line)), "", "{line}");
    }
    let output = place.with_stdin("build --output t.fb", b"a\r\n");
    assert!(
        stderr(&output).ends_with("run the same command on the output of `sed 's/\\r$//'`.\n"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn no_keys_make_a_block_that_denies_everything_if_allowed() {
    for kind in KINDS {
        let place = Place::new();
        let message = place.expect_failure(2, &format!("build --kind {kind} --output t.fb"));
        assert!(message.contains("nothing was written") && message.contains("--allow-empty"), "{message}");
        assert!(!place.path("t.fb").exists());
        let output = place.with_stdin(&format!("build --kind {kind} --allow-empty --output t.fb --json"), b"");
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&summary["num_entries"], summary.get("bits_per_key")), (&0.into(), None));
        assert_eq!(place.expect(1, "query t.fb any"), "no\tany\n");
        assert_eq!(place.json(0, "inspect t.fb --json")["num_entries"], 0);
    }
}

#[test]
fn impossible_requests_are_refused_and_nothing_is_written() {
    let place = Place::with_block("blocked");
    let old = place.read("t.fb");
    place.write("old.fb", &old);
    for (options, part) in [
        ("--kind bloom --bits-per-key 1", "legal range"),
        ("--kind bloom --bits-per-key NaN", "legal range"),
        ("--kind golomb --fpr 1.5", "legal range"),
        ("--kind golomb --max-bytes 10", "legal range"),
        ("--kind golomb --max-bytes 100", "at least"),
        ("--policy blocked:10,salt_bits=7", "legal range"),
        ("--policy blocked:10 --kind blocked", "cannot be used with"),
        ("--policy blocked", "a kind and a size"),
        ("--kind auto --bits-per-key 1", "legal range"),
        ("--policy auto:10,level=256", "is not a whole number from 0 to 255"),
        ("--policy blocked:10,level=3", "is not a setting"),
        ("--kind bloom --seed 0x10000000000000000", "64-bit"),
        ("--kind bloom --seed -1", ""),
        ("--kind cuckoo", "bloom, blocked, golomb, ribbon, fuse"),
        ("--kind bloom --bits-per-key 10 --fpr 1%", "cannot be used with"),
        ("--kind bloom --fpr 1% --max-bytes 1000", "cannot be used with"),
    ] {
        let message = place.expect_failure(2, &format!("build {options} --output old.fb keys.txt"));
        assert!(message.contains(part), "{options}: {message}");
        assert_eq!(place.read("old.fb"), old, "{options}");
    }
    place.expect_failure(2, "build --kind bloom keys.txt");
}

/// Drawn policies: each builds, and no key is denied, or it is refused as its parser refuses it, or for its keys.
#[test]
fn every_policy_that_is_taken_builds() {
    let (place, mut random, mut num_built) = (Place::new(), Random::new(50), 0);
    for draw in 0..150 {
        let text = if draw % 3 == 0 { policies::of_ranges(&mut random) } else { policies::of_keys(&mut random) };
        let num_keys = policies::num_keys(&mut random, 1000).max(1);
        place.write("keys.txt", (0..num_keys).map(|i| format!("a/{i}\tcolumn\n")).collect::<String>());
        let output = place.run(&format!("build --policy {text} --output p.fb keys.txt"));
        let is_legal = text.parse::<FilterPolicy>().is_ok() || text.parse::<RangePolicy>().is_ok();
        if output.status.success() {
            let answers = place.expect(0, "query p.fb --keys keys.txt");
            assert!(is_legal && answers.lines().count() == num_keys && !answers.contains("no\t"), "{text}: {answers}");
            num_built += 1;
        } else {
            // Bytes that are too few; keys without an entry, or that are no integers.
            let may_be = ["max=", "bytes=", "custom", "65535", "0x00", "0xff", "form=integers"];
            assert_eq!(output.status.code(), Some(2), "{text}: {}", stderr(&output));
            assert!(!is_legal || may_be.iter().any(|part| text.contains(part)), "{text}: {}", stderr(&output));
        }
    }
    assert!(num_built > 40, "{num_built}");
}

#[test]
fn the_kind_has_a_default() {
    let place = Place::with_block("blocked");
    place.expect(0, "build --seed 0 --output default.fb keys.txt");
    assert!(place.read("default.fb") == place.read("t.fb"));
    assert!(place.expect(0, "build --help").contains("[default: blocked]"));
}

/// The block is that of the kind which `calc` names for as many keys.
#[test]
fn the_kind_can_be_chosen() {
    let place = Place::with_block("blocked");
    let num_keys = place.json(0, "inspect t.fb --json")["num_entries"].as_u64().unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for workload in
        ["level=2", "level=0", "queries=0,byte_ns=4000000000", "queries=0,byte_ns=0", "level=6,read_ns=1000000000"]
    {
        let options: String =
            workload.split(',').map(|setting| format!(" --{}", setting.replace('_', "-").replace('=', " "))).collect();
        let calc = place.json(0, &format!("calc --entries {num_keys} --fpr 1%{options} --json"));
        let kind = calc["choice"]["kind"].as_str().unwrap().to_owned();
        let built =
            place.json(0, &format!("build --policy auto:fpr=1%,{workload},seed=0 --output auto.fb --json keys.txt"));
        assert_eq!(built["kind"], kind.as_str(), "{options}");
        place.expect(0, &format!("build --kind {kind} --fpr 1% --seed 0 --output kind.fb keys.txt"));
        assert!(place.read("auto.fb") == place.read("kind.fb"), "{options}");
        kinds.insert(kind);
    }
    // The default workload is that of level 2.
    place.expect(0, "build --kind auto --fpr 1% --seed 0 --output auto.fb keys.txt");
    place.expect(0, "build --policy auto:fpr=1%,level=2,seed=0 --output kind.fb keys.txt");
    assert!(place.read("auto.fb") == place.read("kind.fb"));
    assert!(kinds.len() > 1, "{kinds:?}");
}

#[test]
fn file_errors_exit_with_4_and_leave_no_debris() {
    let place = Place::with_block("blocked");
    fs::create_dir(place.path("directory")).unwrap();
    let all = "build --kind bloom --output x.fb missing.txt; build --kind bloom --output x.fb directory; \
        build --kind bloom --output directory keys.txt; build --kind bloom --output missing/x.fb keys.txt; \
        build --kind bloom --output t.fb/x.fb keys.txt";
    for line in all.split("; ") {
        let message = place.expect_failure(4, line);
        assert!(message.contains(": cannot "), "{line}: {message}");
    }
    let mut names: Vec<_> = fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["absent.txt", "directory", "keys.txt", "t.fb"]);
}

#[cfg(unix)]
#[test]
fn the_target_is_replaced_atomically_and_links_stay_links() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let place = Place::with_block("blocked");
    let old = fs::metadata(place.path("t.fb")).unwrap();
    // Readable like any new file, not only by the owner.
    fs::write(place.path("plain"), "").unwrap();
    assert_eq!(old.permissions().mode(), fs::metadata(place.path("plain")).unwrap().permissions().mode());
    std::os::unix::fs::symlink("t.fb", place.path("link.fb")).unwrap();
    place.expect(0, "build --kind bloom --output link.fb keys.txt");
    assert!(fs::symlink_metadata(place.path("link.fb")).unwrap().is_symlink());
    assert_ne!(fs::metadata(place.path("t.fb")).unwrap().ino(), old.ino(), "renamed into place, not overwritten");
    assert_eq!(place.json(0, "inspect t.fb --json")["kind"], "bloom");
    place.expect_failure(4, "build --kind bloom --output /dev/null keys.txt");
}
