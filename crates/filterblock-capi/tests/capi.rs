//! The C header against the library. What the calls do is tested in C: `run`.

use filterblock::FilterKind;
use filterblock_capi::{FILTERBLOCK_ABI_VERSION, filterblock_abi_version};

const HEADER: &str = include_str!("../include/filterblock.h");
const MANIFEST: &str = include_str!("../Cargo.toml");

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

/// The shared library is named after it.
#[test]
fn header_manifest_and_library_have_one_version() {
    let version = FILTERBLOCK_ABI_VERSION.to_string();
    assert_eq!(defined("FILTERBLOCK_ABI_VERSION"), Some(&*version));
    assert_eq!(filterblock_abi_version(), FILTERBLOCK_ABI_VERSION);
    let (_, library) = MANIFEST.split_once("[package.metadata.capi.library]").expect("a table");
    assert!(library.contains(&format!("\nversion = \"{version}.")), "{library}");
}
