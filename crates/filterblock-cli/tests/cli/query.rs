//! `filterblock query`.

use crate::{KINDS, Place, field_names, lines, stderr};
use std::ffi::OsStr;
use std::fs;
use std::process::Stdio;

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
    assert!(place.expect_failure(4, "query key-1 --in a.fb none.fb").starts_with("none.fb: cannot read"));
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
