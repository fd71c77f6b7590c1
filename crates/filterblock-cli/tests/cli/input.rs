//! Keys and blocks from odd places: empty, encoded, endless, too large, one at a time.

use crate::*;

#[test]
fn an_empty_input_causes_a_warning() {
    let place = Place::with_block("bloom");
    place.write("empty", "");
    let all = "build --allow-empty --output e.fb; build --allow-empty --output e.fb empty; \
        query t.fb --keys empty; verify t.fb --keys empty; fill db empty";
    for line in all.split("; ") {
        let (_, message) = ended(0, &place.run(line));
        assert!(message.contains(": empty: nothing was read.") && message.lines().count() == 1, "{line}: {message}");
    }
}

#[test]
fn encodings_that_are_not_of_single_bytes_cause_a_warning() {
    let place = Place::new();
    place.write("mark.txt", "\u{feff}first\nsecond\n");
    place.write("plain.txt", "first\nsecond\u{feff}\n");
    place.write("numbers.bin", (0..200u8).flat_map(|number| [0, 0, 0, number, b'\n']).collect::<Vec<_>>());
    place.write("wide.txt", b"\xff\xfe1\0\n\0");
    for (name, part) in [("mark.txt", "UTF-8 byte"), ("wide.txt", "UTF-16"), ("plain.txt", ""), ("numbers.bin", "")] {
        let (_, message) = ended(0, &place.run(&format!("build --output t.fb {name}")));
        assert_eq!(message.lines().count(), usize::from(!part.is_empty()), "{name}: {message}");
        assert!(message.contains(part) && message.contains(if part.is_empty() { "" } else { name }), "{message}");
    }
    // A list that ends its keys with NULs is full of them.
    place.write("null.bin", "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0");
    assert_eq!(stderr(&place.run("build --null --output t.fb null.bin")), "");
}

#[cfg(target_os = "linux")]
#[test]
fn endless_inputs_end_in_an_error() {
    let place = Place::with_block("blocked");
    for line in ["inspect /dev/zero", "query /dev/zero key", "verify /dev/zero"] {
        assert!(place.expect_failure(3, line).contains("not a filter block"), "{line}");
    }
    let all = "build --output x.fb /dev/zero; build --null --output x.fb /dev/zero; \
        query t.fb --summary --keys /dev/urandom; verify t.fb --keys /dev/zero; \
        demo --keys /dev/zero --absent keys.txt";
    for line in all.split("; ") {
        let message = place.expect_failure(4, line);
        assert!(message.contains("from a device, which may have no end"), "{line}: {message}");
    }
    assert!(!place.path("x.fb").exists());
    let (_, message) = ended(4, &place.shell("yes | tr -d '\\n' | $FB build --output x.fb"));
    assert!(message.contains("a line of more than 134217728 bytes"), "{message}");
}

/// Sparse: they take no room on the disk. The limit is below their length, and above what the tool needs besides.
#[cfg(target_os = "linux")]
#[test]
fn a_header_is_judged_before_the_rest_is_read() {
    const LEN: u64 = 3 << 30;
    let place = Place::with_block("golomb");
    let block = place.read("t.fb");
    for (name, flipped) in [("large.fb", None), ("bad.fb", Some(20)), ("other", Some(0))] {
        let mut header = block[..64].to_vec();
        flipped.into_iter().for_each(|at: usize| header[at] ^= 1);
        place.write(name, header);
        File::options().write(true).open(place.path(name)).unwrap().set_len(LEN).unwrap();
    }
    for (name, code, part) in [
        ("large.fb", 3, "of payload, the file has 3221225408"),
        ("other", 3, "not a filter block"),
        // Its payload could tell damage from another context, but does not have the length that the header gives.
        ("bad.fb", 3, "header checksum stored"),
    ] {
        for command in ["query NAME key", "inspect NAME", "verify NAME"] {
            let (_, message) =
                ended(code, &place.shell(&format!("ulimit -v 1000000; exec $FB {}", command.replace("NAME", name))));
            assert!(message.starts_with(name) && message.contains(part), "{command}: {message}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lack_of_memory_is_an_error() {
    let place = Place::with_block("blocked");
    for command in [
        "$FB build --output x.fb",
        "$FB build --kind range --output x.fb",
        "$FB verify t.fb --keys -",
        "$FB demo --absent keys.txt --keys /dev/fd/0",
    ] {
        let (_, message) = ended(4, &place.shell(&format!("ulimit -v 120000; seq inf | {command}")));
        assert!(message.contains("in memory: out of memory"), "{command}: {message}");
    }
    assert!(!place.path("x.fb").exists());
}

#[test]
fn answers_come_as_keys_do() {
    let place = Place::with_block("bloom");
    let mut command = place.command(["query", "t.fb", "--keys", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for i in 0..10 {
        // The next key is written only after the answer for this one.
        writeln!(stdin, "key-{i}").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), format!("maybe\tkey-{i}"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success() && answers.next().is_none());
}

#[cfg(target_os = "linux")]
#[test]
fn who_reads_from_a_terminal_says_so() {
    let place = Place::with_block("bloom");
    let output = place.on_terminal("$FB query t.fb --keys -", b"key-1\n\x04");
    assert!(output.contains("standard input: reading lines from the terminal, up to Ctrl-D"), "{output}");
    assert!(output.contains("maybe\tkey-1"), "{output}");
    let output = place.with_stdin("query t.fb --keys -", lines("key", 3).as_bytes());
    assert_eq!(stderr(&output), "");
}
