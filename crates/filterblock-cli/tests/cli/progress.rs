//! Progress of long commands on a terminal.

use crate::*;

/// A list that takes longer to come than what shows no progress.
const SLOW: &str = "(seq 3; sleep 1; seq 2000)";

/// Every command that reads a list, with standard output elsewhere.
const READERS: [&str; 6] = [
    "build --output x.fb",
    "build --kind range --output x.fb",
    "query t.fb --keys -",
    "query t.fb --summary --keys -",
    "verify t.fb --keys -",
    "fill db --rows-only",
];

fn with_numbers() -> Place {
    let place = Place::new();
    place.write("keys.txt", (1..=2000).map(|number| format!("{number}\n")).collect::<String>());
    place.expect(0, "build --output t.fb keys.txt");
    place
}

#[test]
fn a_list_that_takes_a_while_shows_how_far_it_is() {
    let place = with_numbers();
    for command in READERS {
        let shown = place.on_terminal(&format!("{SLOW} | $FB {command} > out"), b"");
        assert!(shown.contains("reading: ") && shown.contains("3 lines"), "{command}: {shown}");
        // At the end the line is empty again.
        assert!(shown.ends_with("\u{1b}[2K") || shown.ends_with('\n'), "{command}: {shown:?}");
    }
    // Answers that are printed to the terminal show it themselves.
    let shown = place.on_terminal(&format!("{SLOW} | $FB query t.fb --keys -"), b"");
    assert!(!shown.contains("reading") && shown.contains("maybe\t2000"), "{shown}");
    // A message stands on a line of its own.
    let shown = place.on_terminal("(printf 'a\\r\\n'; sleep 1; seq 9) | $FB build --output x.fb > out", b"");
    let message = shown.lines().last().unwrap().rsplit("\u{1b}[2K").next().unwrap();
    assert!(message.starts_with("standard input: lines that end in a carriage return: 1 of 10"), "{shown:?}");
}

#[test]
fn without_a_terminal_nothing_is_shown() {
    let place = with_numbers();
    for command in READERS {
        let output = place.shell(&format!("{SLOW} | $FB {command}"));
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{command}");
    }
}
