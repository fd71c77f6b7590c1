//! `filterblock query`.

use crate::*;

#[test]
fn each_key_has_a_line_and_no_present_key_is_denied() {
    for kind in KINDS {
        let place = Place::with_block(kind);
        let expected: String = lines("key", 1000).lines().map(|key| format!("maybe\t{key}\n")).collect();
        assert_eq!(place.expect(0, "query t.fb --keys keys.txt"), expected, "{kind}");
        let absent = place.expect(0, "query t.fb --keys absent.txt");
        assert_eq!(absent.lines().count(), 1000);
        let num_denied = absent.lines().filter(|line| line.starts_with("no\tabsent-")).count();
        assert!(num_denied > 950, "{kind}: {num_denied}");
    }
}

#[test]
fn the_exit_code_is_the_answer_for_a_single_key_only() {
    let place = Place::with_block("golomb");
    // Deterministic: the first absent key that the block denies.
    let answers = place.expect(0, "query t.fb --keys absent.txt");
    let denied = answers.lines().find_map(|line| line.strip_prefix("no\t")).unwrap();
    assert_eq!(place.expect(0, "query t.fb key-7"), "maybe\tkey-7\n");
    assert_eq!(place.expect(1, &format!("query t.fb {denied}")), format!("no\t{denied}\n"));
    assert_eq!(place.expect(0, &format!("query t.fb key-7 {denied}")), format!("maybe\tkey-7\nno\t{denied}\n"));
    place.expect(1, &format!("query t.fb --summary {denied}"));
    place.write("one.txt", denied);
    place.expect(0, "query t.fb --keys one.txt");
    place.expect(0, &format!("query t.fb --keys one.txt {denied}"));
    place.expect_failure(2, "query t.fb");
}

#[test]
fn keys_come_from_standard_input_too() {
    let place = Place::with_block("bloom");
    let output = place.with_stdin("query t.fb --keys -", b"key-1\nkey-2");
    assert_eq!(output.stdout, b"maybe\tkey-1\nmaybe\tkey-2\n");
    let output = place.with_stdin("query t.fb --null --keys - key-0", b"key-1\0key-2\0");
    assert_eq!(output.stdout, b"maybe\tkey-0\nmaybe\tkey-1\nmaybe\tkey-2\n");
    let output = place.with_stdin("query t.fb --keys -", b"");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
}

#[test]
fn summaries_count() {
    let place = Place::with_block("blocked");
    let summary = place.json(0, "query t.fb --keys keys.txt --summary --json");
    assert_eq!(field_names(&summary), "queries maybe no");
    assert_eq!(summary, serde_json::json!({ "queries": 1000, "maybe": 1000, "no": 0 }));
    let summary = place.json(0, "query t.fb --keys absent.txt --summary --json");
    assert_eq!(summary["maybe"].as_u64().unwrap() + summary["no"].as_u64().unwrap(), 1000);
    assert!(summary["no"].as_u64().unwrap() > 950);
    assert_eq!(place.expect(0, "query t.fb key-1 key-2 --summary"), "2 queries: 2 maybe, 0 no\n");
}

#[test]
fn several_blocks_are_queried_at_once() {
    let place = Place::with_block("bloom");
    place.expect(0, "build --kind golomb --fpr 0.0001% --seed 0 --output a.fb absent.txt");
    place.expect(0, "build --kind golomb --fpr 0.0001% --seed 1 --transform row --output k.fb keys.txt");
    let both = "no\ta.fb\tkey-1\nmaybe\tk.fb\tkey-1\n";
    assert_eq!(place.expect(0, "query key-1 --in a.fb k.fb"), both);
    assert_eq!(place.expect(0, "query --in a.fb --in k.fb -- key-1"), both);
    assert_eq!(place.expect(1, "query other --in a.fb k.fb"), "no\ta.fb\tother\nno\tk.fb\tother\n");
    let records = place.expect(0, "query absent-1 --in a.fb k.fb --json");
    let expected = ["{\"file\":\"a.fb\",\"key\":\"absent-1\",\"answer\":\"maybe\"}", "\"answer\":\"no\"}"];
    assert!(records.lines().zip(expected).all(|(record, expected)| record.ends_with(expected)), "{records}");
    let counts = "a.fb: 1000 queries: 0 maybe, 1000 no\nk.fb: 1000 queries: 1000 maybe, 0 no\n";
    assert_eq!(place.expect(0, "query --keys keys.txt --summary --in a.fb k.fb"), counts);
    place.expect_failure(2, "query --in a.fb k.fb");
}

#[test]
fn a_file_that_cannot_be_used_is_maybe_and_the_next_is_queried() {
    let place = Place::with_block("bloom");
    place.write("cells.tsv", "row\tcolumn\tvalue\n");
    place.expect(0, "build --kind golomb --fpr 0.0001% --seed 0 --output a.fb absent.txt");
    place.expect(0, "build --kind bloom --context 7 --output c.fb keys.txt");
    place.write("bad.fb", flipped(&place.read("t.fb"), 700));
    place.expect(0, "fill db cells.tsv");
    let names = fs::read_dir(place.path("db")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let table = format!("db/{}", names.filter(|name| name.ends_with(".sst")).max().unwrap());
    for (name, code, says) in [
        ("bad.fb", 3, "payload digest stored"),
        ("none.fb", 4, "cannot read"),
        ("c.fb", 3, "bound to another number"),
        ("db", 4, "cannot read"),
        (&table, 2, "is a table of the store"),
    ] {
        let alone = place.run(&format!("query {name} key-1"));
        assert_eq!((alone.status.code(), &alone.stdout[..]), (Some(code), &b""[..]), "{name}");
        // Once, however many keys are asked; a `no` of the other files is not one of all.
        let (printed, message) = ended(code, &place.run(&format!("query key-1 other --in {name} a.fb")));
        let answers = format!("maybe\t{name}\tkey-1\nno\ta.fb\tkey-1\nmaybe\t{name}\tother\nno\ta.fb\tother\n");
        assert_eq!(printed, answers);
        assert!(message.contains(says) && message == stderr(&alone), "{message}");
    }
    let output = place.run("query key-1 --in none.fb a.fb bad.fb t.fb --summary");
    let counts = "none.fb: 1 queries: 1 maybe, 0 no\na.fb: 1 queries: 0 maybe, 1 no\n\
        bad.fb: 1 queries: 1 maybe, 0 no\nt.fb: 1 queries: 1 maybe, 0 no\n";
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap().as_str()), (Some(4), counts));
    // What there is, is shown by the command that the message names.
    let message = place.expect_failure(4, "inspect none.fb");
    assert!(message.contains("run `ls -a -- .`") || message.contains("Run `ls -a -- .`"), "{message}");
    assert!(!message.contains("build"), "{message}");
    let message = place.expect_failure(4, "inspect no/such/file.fb");
    assert!(message.contains("Run `ls -a -- .`"), "{message}");
    assert!(place.expect_failure(4, "verify t.fb/x --compact-frame").contains("Run `ls -a -- t.fb`"));
}

/// As `may_contain_prefix` of the library answers.
#[test]
fn blocks_of_prefixes_answer_for_prefixes() {
    let place = Place::new();
    place.write("keys.txt", "user1/a\nuser2/b\nab\n");
    for transform in ["prefix:5", "whole-key+prefix:5"] {
        let frame = format!("--compact-frame --seed 1 --transform {transform}");
        place.expect(
            0,
            &format!("build --kind golomb --fpr 0.0001% --seed 1 --transform {transform} --output p.fb keys.txt"),
        );
        place.expect(0, &format!("build --kind golomb --fpr 0.0001% {frame} --force --output f.fb keys.txt"));
        for file in ["p.fb".to_owned(), format!("f.fb {frame}")] {
            for (code, prefix) in
                [(0, "user1"), (0, "user2/nothing"), (1, "user3"), (1, "visitor"), (0, "user"), (0, "x")]
            {
                let (_, message) = ended(code, &place.run(&format!("query {file} --prefix {prefix}")));
                let is_short = message.contains("makes no entry of that of --prefix");
                assert_eq!(is_short, prefix.len() < 5, "{file}: {prefix}");
            }
            let message = place.expect_failure(2, &format!("query {file} --from a --to b"));
            assert!(message.contains("for keys and prefixes, not for ranges"), "{message}");
            // A range in a list is as little answered as a short prefix is.
            let output = place.with_stdin(&format!("query {file} --ranges -"), b"user1\nuser3\nuser\na\tb\n");
            assert_eq!(output.stdout, b"maybe\tuser1\nno\tuser3\nmaybe\tuser\nmaybe\ta\tb\n");
        }
    }
    place.expect(0, "build --transform row --output r.fb keys.txt");
    assert!(place.expect_failure(2, "query r.fb --prefix user1").contains("for single keys only"));
}

#[cfg(unix)]
#[test]
fn keys_on_the_command_line_are_raw_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    place.write("keys.bin", b"\xff\x00\xfe\n\xc3\x28\n");
    place.expect(0, "build --kind golomb --fpr 0.000001 --output t.fb keys.bin");
    let ask = |json: bool| {
        let mut command = place.command(["query", "t.fb"]);
        command.arg(OsStr::from_bytes(b"\xc3\x28"));
        command.args(json.then_some("--json")).output().unwrap()
    };
    assert_eq!((ask(false).status.code(), ask(false).stdout), (Some(0), b"maybe\t\xc3\x28\n".to_vec()));
    assert_eq!(ask(true).stdout, b"{\"key_hex\":\"c328\",\"answer\":\"maybe\"}\n");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    let place = Place::with_block("blocked");
    // More than pipes and buffers hold.
    place.write("many.txt", lines("some-rather-long-key", 200_000));
    let all = "query t.fb --keys many.txt; query t.fb key-1; inspect t.fb; calc --entries 1000 --fpr 1%; \
        completions bash";
    for line in all.split("; ") {
        let mut command = place.command(line.split(' '));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_errors_exit_with_4() {
    let place = Place::with_block("blocked");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(["inspect", "t.fb"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("standard output: cannot write"));
}
