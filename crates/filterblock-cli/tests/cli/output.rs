//! Where blocks are written to.

use crate::{Place, lines, stderr};
use std::fs;

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
