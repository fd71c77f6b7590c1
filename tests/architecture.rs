//! The layers, read off the sources: who may import whom, where `unsafe` and byte orders may stand, how long a file may be.

use std::path::{Path, PathBuf};

/// Layers from the bottom up, each with the modules of the crate it may import. The longest matching prefix of a
/// file's path under `src` is its layer.
const LAYERS: &[(&str, &[&str])] = &[
    ("kind.rs", &[]),
    ("error.rs", &["kind"]),
    ("bytes.rs", &[]),
    ("hash/", &["bytes"]),
    ("hashes/", &[]),
    ("prefetch.rs", &[]),
    ("bits/", &["bytes"]),
    ("sizing/", &["error", "sizing"]),
    ("filter/bloom", &["bits", "bytes", "error", "hash", "hashes", "prefetch", "sizing"]),
    ("filter/blocked", &["bits", "bytes", "error", "hash", "hashes", "prefetch", "sizing"]),
    ("filter/golomb", &["bits", "bytes", "error", "hash", "hashes", "prefetch", "sizing"]),
    ("filter/", &["error", "filter", "hash", "hashes", "kind", "sizing"]),
    ("policy/", &["bytes", "error", "hash", "kind", "sizing"]),
    ("block/", &["bytes", "error", "filter", "hash", "kind", "policy", "sizing"]),
    // The store sees what any user sees, and the one file that names a byte order.
    ("kv/", &["bytes", "kv", "PUBLIC"]),
    ("bin/", &["PUBLIC", "OWN"]),
    ("lib.rs", &["PUBLIC"]),
];

/// Within the store, from the bottom up: a module may import those of its own line and of the lines above it.
const STORE_LAYERS: &[&[&str]] = &[
    &["encoding", "error", "fences", "names", "purpose", "range", "sync"],
    &["cell", "prefix", "storage"],
    &["batch", "budget", "cache", "ledger", "log", "memtable"],
    &["manifest"],
    &["options"],
    &["sstable"],
    &["version"],
    &["compaction", "merge"],
    &["scan"],
    &["store"],
];

/// Within the tool, from the bottom up: a module may import those of the lines above its own.
const TOOL_LAYERS: &[&[&str]] = &[
    &["exit", "formulas", "units"],
    &["keys", "model", "output", "target"],
    &["answers", "block", "expected"],
    &["table"],
    &["store"],
    &["build", "calc", "completions", "demo", "inspect", "query", "verify"],
    &["cli"],
    &["main"],
];

/// Files that may hold `unsafe`, by prefix: SIMD and the C interface.
const UNSAFE_FILES: &[&str] = &[
    "capi/",
    "prefetch.rs",
    "filter/bloom/avx512.rs",
    "filter/blocked/avx2.rs",
    "filter/blocked/avx512/",
    "filter/blocked/lanes.rs",
    "filter/blocked/neon.rs",
    "filter/golomb/bmi2.rs",
    "filter/golomb/avx512.rs",
];

const MAX_LINES: usize = 500;

fn sources() -> Vec<(String, String)> {
    fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a readable directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => collect(&path, files),
                false => files.push(path),
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    let name = |path: &Path| path.strip_prefix(&root).expect("under src").to_string_lossy().replace('\\', "/");
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("a text file"))).collect()
}

/// The source without its comments, line by line, so that prose may name what code may not.
fn code(source: &str) -> String {
    source.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect()
}

/// What follows each `crate::` in `code`: one name, or the first names of a braced group.
fn imported(code: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `pub(crate)` and `$crate` are not paths of this kind; `filterblock::crate::` does not exist.
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(name(rest));
            continue;
        };
        let (mut depth, mut item) = (0, String::new());
        for c in group.chars() {
            match c {
                '}' if depth == 0 => break,
                ',' if depth == 0 => names.push(name(std::mem::take(&mut item).trim())),
                '{' => depth += 1,
                '}' => depth -= 1,
                _ if depth == 0 => item.push(c),
                _ => {}
            }
        }
        names.push(name(item.trim()));
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What follows a chain of `super::` that leads out of the topmost module of `file`, to the crate's root.
fn imported_upward(file: &str, code: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let to_root = "super::".repeat(path.split('/').count());
    imported(&code.replace(&to_root, "crate::").replace("super::crate::", "crate::"))
}

fn layer(file: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    LAYERS.iter().filter(|(prefix, _)| file.starts_with(prefix)).max_by_key(|(prefix, _)| prefix.len())
}

#[test]
fn layers_only_look_down() {
    let (mut forbidden, mut seen) = (Vec::new(), 0);
    for (file, source) in sources() {
        let Some((prefix, allowed)) = layer(&file) else {
            forbidden.push(format!("{file} belongs to no layer"));
            continue;
        };
        let code = code(&source);
        // Unit tests at the end of a file may use what they need.
        let code = code.split("#[cfg(test)]").next().unwrap_or("");
        let code = code.split("#[cfg(all(test").next().unwrap_or("");
        for name in imported_upward(&file, code) {
            seen += 1;
            let public = allowed.contains(&"PUBLIC") && name.starts_with(char::is_uppercase);
            let own = allowed.contains(&"OWN") || prefix.trim_end_matches('/') == name;
            if !(public || own || allowed.contains(&name.as_str()) || *prefix == "lib.rs") {
                forbidden.push(format!("{file} imports crate::{name}"));
            }
        }
        if let Some(kind) =
            ["bloom", "blocked", "golomb"].iter().find(|kind| file.starts_with(&format!("filter/{kind}")))
        {
            for other in ["bloom", "blocked", "golomb"].iter().filter(|other| other != &kind) {
                if code.contains(&format!("super::{other}")) || code.contains(&format!("filter::{other}")) {
                    forbidden.push(format!("{file} knows {other}"));
                }
            }
        }
    }
    assert!(seen > 30, "only {seen} imports found: the test has gone blind");
    assert!(forbidden.is_empty(), "forbidden:\n{}", forbidden.join("\n"));
}

/// Imports in the files of `folder` that `layers` do not allow, and the number of all imports. A module may import its
/// own files and the lines above its own; those of its own line only if `own_line`.
fn imports_upward(folder: &str, layers: &[&[&str]], own_line: bool) -> (Vec<String>, usize) {
    let line = |name: &str| layers.iter().position(|line| line.contains(&name));
    let (mut forbidden, mut seen) = (Vec::new(), 0);
    for (file, source) in sources() {
        let Some(file) = file.strip_prefix(folder).filter(|file| *file != "mod.rs") else {
            continue;
        };
        let module = file.split('/').next().unwrap_or("").trim_end_matches(".rs");
        let Some(own) = line(module) else {
            forbidden.push(format!("{folder}{file} belongs to no layer"));
            continue;
        };
        let code = code(&source);
        let code = code.split("#[cfg(test)]").next().unwrap_or("");
        // In a binary, its own root is the crate.
        let code = if folder.starts_with("bin/") { code.to_owned() } else { code.replace("crate::", "") };
        for name in imported_upward(file, &code) {
            seen += 1;
            let is_allowed = |other: usize| other < own || (own_line && other == own);
            if name != module && !line(&name).is_some_and(is_allowed) {
                forbidden.push(format!("{folder}{file} imports {name}"));
            }
        }
    }
    (forbidden, seen)
}

#[test]
fn the_store_only_looks_down() {
    let (forbidden, seen) = imports_upward("kv/", STORE_LAYERS, true);
    assert!(seen > 100, "only {seen} imports found: the test has gone blind");
    assert!(forbidden.is_empty(), "forbidden:\n{}", forbidden.join("\n"));
}

#[test]
fn the_tool_only_looks_down() {
    let (forbidden, seen) = imports_upward("bin/filterblock/", TOOL_LAYERS, false);
    assert!(seen > 60, "only {seen} imports found: the test has gone blind");
    assert!(forbidden.is_empty(), "forbidden:\n{}", forbidden.join("\n"));
}

#[test]
fn unsafe_stays_in_its_files() {
    let is_word = |code: &str, at: usize| {
        let edge = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        edge(code[..at].chars().next_back()) && edge(code[at + "unsafe".len()..].chars().next())
    };
    for (file, source) in sources() {
        let code = code(&source);
        let found = code.match_indices("unsafe").any(|(at, _)| is_word(&code, at));
        assert!(!found || UNSAFE_FILES.iter().any(|prefix| file.starts_with(prefix)), "{file} holds unsafe");
    }
}

#[test]
fn one_file_names_a_byte_order() {
    for (file, source) in sources() {
        for word in ["_le_bytes", "_be_bytes", "_ne_bytes", "byteorder::", "LittleEndian", "BigEndian"] {
            assert!(file == "bytes.rs" || !code(&source).contains(word), "{file} names a byte order: {word}");
        }
    }
}

#[test]
fn files_stay_short() {
    for (file, source) in sources() {
        let lines = source.lines().count();
        assert!(lines <= MAX_LINES, "{file} has {lines} lines");
    }
}

#[test]
fn the_reader_sees_an_import_it_must_forbid() {
    assert_eq!(imported("use crate::{a::B, c::{D, E}, F};\nlet x = crate::g::h();"), ["a", "c", "F", "g"]);
    assert_eq!(imported("pub(crate) fn f() {}"), Vec::<String>::new());
    assert_eq!(imported_upward("filter/combine.rs", "use super::super::block::X;"), ["block"]);
    assert_eq!(imported_upward("filter/blocked/mod.rs", "use super::super::kv::X; use super::PARAMS_LEN;"), ["kv"]);
    assert!(!layer("hash/mod.rs").expect("a layer").1.contains(&"block"));
}
