//! The C header against the library. What the calls do is tested in C: `run`.

use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy};
use filterblock_capi::{FILTERBLOCK_ABI_VERSION, filterblock_abi_version};

const HEADER: &str = include_str!("../include/filterblock.h");
const MANIFEST: &str = include_str!("../Cargo.toml");
const README: &str = include_str!("../README.md");
/// The tests that commit mistakes.
const MISUSE: [&str; 3] = [
    include_str!("../c/test_misuse.c"),
    include_str!("../c/test_range_misuse.c"),
    include_str!("../c/test_partitions.c"),
];

/// The value of a macro of the header.
fn defined(name: &str) -> Option<&'static str> {
    HEADER.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix(' '))
}

/// These are written by hand, in `cbindgen.toml`.
#[test]
fn the_header_names_every_kind() {
    for kind in FilterKind::ALL {
        let name = format!("FILTERBLOCK_KIND_{}", kind.name().to_uppercase());
        assert_eq!(defined(&name), Some(&*kind.tag().to_string()), "{name}");
    }
    assert_eq!(HEADER.matches("#define FILTERBLOCK_KIND_").count(), FilterKind::ALL.len());
}

#[test]
fn the_header_has_the_compact_frame_of_no_keys() {
    let digits = defined("FILTERBLOCK_COMPACT_EMPTY").and_then(|value| value.strip_prefix("0x")).expect("a byte");
    let byte = u8::from_str_radix(digits, 16).expect("a byte");
    for kind in FilterKind::ALL {
        let policy: FilterPolicy = format!("{}:10,seed=7", kind.name()).parse().expect("a policy");
        let mut frame = Vec::new();
        FilterBlockBuilder::new(&policy).allow_empty().finish_compact_into(&mut frame).expect("an empty frame");
        assert_eq!(frame, [byte], "{kind:?}");
    }
}

/// The shared library is named after it.
#[test]
fn header_manifest_and_library_have_one_version() {
    let version = FILTERBLOCK_ABI_VERSION.to_string();
    assert_eq!(defined("FILTERBLOCK_ABI_VERSION"), Some(&*version));
    assert_eq!(filterblock_abi_version(), FILTERBLOCK_ABI_VERSION);
    let (_, library) = MANIFEST.split_once("[package.metadata.capi.library]").expect("a table");
    assert!(library.contains(&format!("\nversion = \"{version}.")), "{library}");
}

/// The mistakes of a test's tables, with their outcomes; controls are called "none".
fn committed(source: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    source.lines().filter_map(|line| {
        let row = line.trim_start();
        let row = row.strip_prefix('{').or_else(|| row.strip_prefix("note("))?;
        let (name, rest) = row.split_once('"')?.1.split_once('"')?;
        let outcome = ["REFUSED", "MAYBE", "DENIES"].into_iter().find(|outcome| rest.contains(outcome))?;
        (!name.starts_with("none")).then_some((name, outcome))
    })
}

/// The README's table of mistakes has those that the tests commit, with their outcomes.
#[test]
fn the_readme_lists_every_mistake() {
    let (_, table) = README.split_once("\n## Mistakes\n").expect("a section");
    let (table, _) = table.split_once("\n## ").expect("another section");
    let mut listed: Vec<_> = table
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let (name, outcome) = (cells.next()?, cells.next()?);
            let outcome = match outcome.trim_end_matches(" |") {
                "refused" => "REFUSED",
                "*maybe*" => "MAYBE",
                "**denies**" => "DENIES",
                _ => return None,
            };
            Some((name, outcome))
        })
        .collect();
    let mut committed: Vec<_> = MISUSE.into_iter().flat_map(committed).collect();
    listed.sort_unstable();
    committed.sort_unstable();
    assert_eq!(listed, committed);
    assert!(committed.len() > 50, "{}", committed.len());
}
