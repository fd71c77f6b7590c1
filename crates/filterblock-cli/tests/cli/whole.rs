//! Help, version, completions.

use crate::*;

const SUBCOMMANDS: &str =
    "build query inspect verify list thin combine calc fill get scan stats rebuild repair demo completions";

#[test]
fn help_ends_with_examples() {
    let place = Place::new();
    for line in ["--help", "-h"] {
        assert!(place.expect(0, line).contains("\nExamples:\n  filterblock build "));
    }
    let overview = place.expect(0, "--help");
    for code in ["0  done", "1  ", "2  ", "3  ", "4  "] {
        assert!(overview.contains(&format!("\n  {code}")), "{overview}");
    }
    for subcommand in SUBCOMMANDS.split(' ') {
        let help = place.expect(0, &format!("{subcommand} --help"));
        assert!(help.contains(&format!("\nExamples:\n  filterblock {subcommand}")), "{help}");
        assert!(overview.contains(&format!("\n  {subcommand} ")), "{overview}");
    }
}

#[test]
fn version_names_format_commit_and_engines() {
    let place = Place::new();
    // Without git there is no commit to name.
    let commit = option_env!("FILTERBLOCK_COMMIT").map_or_else(String::new, |commit| format!(", commit {commit}"));
    assert_eq!(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.git")).exists(), !commit.is_empty());
    let (version, format) = (env!("CARGO_PKG_VERSION"), filterblock::FORMAT_VERSION);
    let expected = format!("filterblock {version} (format version {format}{commit})\n");
    assert_eq!(place.expect(0, "-V"), expected);
    let engines = filterblock::detected_engines().collect::<Vec<_>>().join(", ");
    assert_eq!(place.expect(0, "--version"), format!("{expected}engines: {engines}\n"));
    let manual = place.expect(0, "completions man");
    for subcommand in SUBCOMMANDS.split(' ') {
        assert!(manual.contains(&format!("\n.TH filterblock-{subcommand} 1")), "{subcommand}");
    }
    assert!(manual.contains("bits\\-per\\-key"), "{manual}");
}

#[cfg(target_os = "linux")]
#[test]
fn help_and_version_that_cannot_be_written_are_failures() {
    let place = Place::new();
    for line in ["--help", "-h", "--version", "-V", "help", "help build", "build --help", "completions man"] {
        let output = place.shell(&format!("$FB {line} > /dev/full"));
        assert_eq!(output.status.code(), Some(4), "{line}");
        assert!(crate::stderr(&output).starts_with("standard output: cannot write: "), "{line}");
        // A reader that has seen enough is none.
        let output = place.shell(&format!("{{ $FB {line}; echo $? >&2; }} | true"));
        assert_eq!(crate::stderr(&output), "0\n", "{line}");
    }
    ended(2, &place.shell("$FB build --unknown 2> /dev/full"));
}

#[test]
fn completions_know_the_subcommands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.expect(0, &format!("completions {shell}"));
        for subcommand in SUBCOMMANDS.split(' ') {
            assert!(script.contains(subcommand), "{shell}: {subcommand}");
        }
    }
    place.expect_failure(2, "completions tcsh");
}

#[test]
fn unknown_commands_exit_with_2() {
    let place = Place::new();
    place.expect_failure(2, "mend");
    place.expect_failure(2, "build --unknown");
    ended(2, &place.command([""; 0]).output().unwrap());
}

/// The examples of the overview work, run in their order.
#[test]
fn the_examples_work() {
    let place = Place::new();
    place.write("keys.txt", "some-key\nother\n");
    let help = place.expect(0, "--help");
    let examples: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  filterblock ")).collect();
    assert_eq!(examples.len(), 13);
    // The demo is slow and has its own tests.
    for example in examples.into_iter().filter(|&example| example != "demo") {
        place.expect(0, example);
    }
}

/// The budget in `docs/tool.md` is about ten bits for each entry of its list.
#[test]
fn the_shown_budget_fits() {
    let place = Place::new();
    place.write("keys.txt", (1..=100_000).map(|number| format!("{number}\n")).collect::<String>());
    let page = include_str!("../../../../docs/tool.md");
    let example = page.lines().find(|line| line.contains(" --level-kind ")).unwrap();
    let line = example.strip_prefix("filterblock ").unwrap();
    let summary = place.json(0, &format!("{line} --json"));
    let number = |name: &str| summary[name].as_f64().unwrap();
    let bits = number("filter_bytes") * 8.0 / number("filter_entries");
    assert!((8.0..12.0).contains(&bits), "{bits} bits per key: {summary}");
}

/// The figures in `docs/kinds.md` are what the tool prints.
#[test]
fn calc_prints_what_is_shown() {
    let page = include_str!("../../../../docs/kinds.md");
    let shown: Vec<_> = page.split("$ filterblock calc ").skip(1).collect();
    assert_eq!(shown.len(), 2);
    for example in shown {
        let (line, rest) = example.split_once('\n').unwrap();
        let output = Place::new().expect(0, &format!("calc {line}"));
        assert!(rest.starts_with(&output), "calc {line} prints:\n{output}");
    }
    let table =
        page.lines().skip_while(|line| !line.starts_with("| entries |")).take_while(|line| line.starts_with('|'));
    let rows: Vec<Vec<&str>> =
        table.map(|line| line.split('|').map(|cell| cell.trim_matches([' ', '`'])).collect()).collect();
    assert!(rows.len() > 5);
    for row in &rows[2..] {
        let output = Place::new().expect(0, &format!("calc --entries {} --bits-per-key 10", row[1]));
        for (kind, rate) in rows[0].iter().zip(row).skip(2) {
            let line = output.lines().find(|line| line.starts_with(kind));
            assert!(line.is_some_and(|line| line.contains(rate)), "{rate} of {kind}, {} entries: {output}", row[1]);
        }
    }
    let help = Place::new().expect(0, "calc --help").split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, machine) = include_str!("../../../../src/keys/kinds/speed.rs").split_once("one core of ").unwrap();
    let (machine, _) = machine.split_once(", with").unwrap();
    assert!(help.contains(machine), "the constants are of {machine}");
}
