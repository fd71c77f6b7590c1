//! Where blocks are written to.

use crate::*;

#[test]
fn a_dash_is_standard_output() {
    let place = Place::with_block("golomb");
    let output = place.run("build --kind golomb --seed 0 --output - keys.txt");
    assert_eq!((output.status.code(), output.stdout == place.read("t.fb")), (Some(0), true));
    assert!(stderr(&output).starts_with("-: golomb, 1000 distinct entries, "), "{}", stderr(&output));
    let output = place.run("build --kind golomb --seed 0 --output - --json keys.txt");
    let summary: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&summary["num_entries"], output.stdout == place.read("t.fb")), (&1000.into(), true));
    assert!(!place.path("-").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_no_block() {
    let place = Place::with_block("golomb");
    let output = place.on_terminal("$FB build --output - keys.txt", b"");
    assert!(output.starts_with("standard output: a terminal, which is not for bytes. No key was read."), "{output}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_names_of_standard_output_are_those_of_a_dash() {
    let place = Place::with_block("golomb");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        for script in ["| cat > out.fb", "> out.fb"] {
            let output = place.shell(&format!("$FB build --kind golomb --seed 0 --output {name} keys.txt {script}"));
            assert!(output.status.success() && place.read("out.fb") == place.read("t.fb"), "{name} {script}");
            assert!(stderr(&output).starts_with(&format!("{name}: golomb, 1000 distinct entries, ")));
        }
    }
    let (_, message) = ended(4, &place.shell("mkfifo fifo; $FB build --output fifo keys.txt"));
    assert!(message.contains("not a regular file") && message.contains("with --output -, and send"), "{message}");
    let output = place.shell("$FB build --kind golomb --seed 0 --output /dev/fd/3 keys.txt 3>&1 | cat");
    assert!(output.stdout.is_empty() && stderr(&output).contains("not a regular file"), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_stay_what_they_are() {
    let place = Place::with_block("golomb");
    place.write("cells.tsv", "row\tcolumn\tvalue\n");
    let name = crate::bytes_name(b"\xff'.fb");
    let run = |args: &[&str]| {
        let args = args.iter().map(|&arg| if arg == "NAME" { name } else { arg.as_ref() });
        let output = place.command(args).output().unwrap();
        (output.stdout.clone(), stderr(&output))
    };
    let json = |args: &[&str]| -> serde_json::Value { serde_json::from_slice(&run(args).0).unwrap() };
    let hex = "ff272e6662";
    assert_eq!(json(&["build", "--context", "7", "--json", "--output", "NAME", "keys.txt"])["output_hex"], hex);
    let args = ["query", "key-1", "--context", "7", "--json", "--in", "NAME"];
    assert_eq!(json(&args)["file_hex"], hex);
    assert_eq!(json(&[&args[..], &["--summary"]].concat())["file_hex"], hex);
    assert_eq!(run(&["query", "key-1", "--context", "7", "--in", "NAME"]).0, b"maybe\t\xff'.fb\tkey-1\n");
    assert_eq!(json(&["verify", "--context", "7", "--json", "NAME"])["file_hex"], hex);
    // A command that a message names can be run, by a shell that knows the notation.
    let message = run(&["inspect", "NAME"]).1;
    assert!(message.ends_with("run `filterblock inspect --context 0x7 $'\\xff\\'.fb'`.\n"), "{message}");
    fs::remove_file(place.path("t.fb")).unwrap();
    fs::remove_file(place.dir.path().join(name)).unwrap();
    assert_eq!(json(&["fill", "NAME", "cells.tsv", "--json"])["store_hex"], hex);
    assert_eq!(json(&["verify", "NAME", "--json"])["file_hex"], hex);
    assert_eq!(json(&["stats", "NAME", "--json"])["store_hex"], hex);
}

#[cfg(unix)]
#[test]
fn links_are_followed_even_to_what_does_not_exist() {
    use std::os::unix::fs::symlink;
    let place = Place::with_block("bloom");
    fs::create_dir(place.path("far")).unwrap();
    symlink("far/new.fb", place.path("second.fb")).unwrap();
    symlink("second.fb", place.path("first.fb")).unwrap();
    place.expect(0, "build --kind bloom --seed 0 --output first.fb keys.txt");
    for link in ["first.fb", "second.fb"] {
        assert!(fs::symlink_metadata(place.path(link)).unwrap().is_symlink(), "{link}");
    }
    assert!(place.read("far/new.fb") == place.read("t.fb"));
    assert!(fs::symlink_metadata(place.path("far/new.fb")).unwrap().is_file());
    symlink("round.fb", place.path("round.fb")).unwrap();
    assert!(place.expect_failure(4, "build --output round.fb keys.txt").contains("too many links"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_takes_no_file_is_noticed_before_keys_are_read() {
    let place = Place::new();
    // Nobody can create files in /proc, not even root.
    let message = place.expect_failure(4, "build --output /proc/x.fb no-such-keys");
    assert!(message.starts_with("/proc/x.") && message.contains(": cannot be written to: "), "{message}");
    let output = place.with_stdin("build --output missing/x.fb", lines("key", 1000).as_bytes());
    assert!(stderr(&output).contains("No key was read."), "{}", stderr(&output));
}
