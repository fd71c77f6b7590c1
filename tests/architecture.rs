//! The layers, read off the sources: which module may import which, which files may contain `unsafe` or name a byte
//! order, and how long a file may be.

use filterblock::FilterKind;
use std::path::{Path, PathBuf};

/// Layers from the bottom up, each with the modules of the crate that it may import. A file's layer is the longest
/// prefix of its path under `src`.
const LAYERS: &[(&str, &[&str])] = &[
    ("kind.rs", &[]),
    ("hash_name.rs", &[]),
    ("transform_name.rs", &[]),
    ("error.rs", &["hash_name", "kind", "transform_name"]),
    ("bytes.rs", &[]),
    ("hash/", &["bytes"]),
    ("hashes/", &[]),
    ("math/", &["math"]),
    ("cpu/", &[]),
    ("bits.rs", &["bytes"]),
    // A folder in it is a kind.
    ("filter/", &["bits", "bytes", "cpu", "error", "filter", "hash", "hashes", "kind", "math"]),
    ("policy/", &["bytes", "error", "filter", "hash", "kind", "transform_name"]),
    ("block/", &["bytes", "error", "filter", "hash", "hash_name", "kind", "math", "policy"]),
    ("partition/", &["block", "bytes", "error", "filter", "hash", "policy"]),
    // The kinds' mathematics, as users see it.
    ("sizing.rs", &["filter", "kind", "math"]),
    // What engines other than ours embed too: they and the store may import what every user may, the store also the one
    // file that names a byte order.
    ("budget/", &["PUBLIC"]),
    ("ledger/", &["PUBLIC"]),
    ("capi/", &["capi", "ledger", "probe_tables", "PUBLIC"]),
    ("kv/", &["budget", "bytes", "kv", "ledger", "partition", "PUBLIC"]),
    ("bin/", &["PUBLIC", "OWN"]),
    ("lib.rs", &["PUBLIC"]),
];

/// The store's layers from the bottom up: a module may import those of its own line and of the lines above it.
const STORE_LAYERS: &[&[&str]] = &[
    &["encoding", "error", "fences", "names", "purpose", "range", "sync"],
    &["cell", "prefix", "storage"],
    &["batch", "cache", "log", "memtable"],
    &["manifest"],
    &["options"],
    &["sstable"],
    &["version"],
    &["compaction", "merge"],
    &["store"],
];

/// Within the tool, from the bottom up: a module may import those of the lines above its own.
const TOOL_LAYERS: &[&[&str]] = &[
    &["exit", "interrupt", "units"],
    &["keys", "model", "output", "workload"],
    &["target"],
    &["answers", "expected"],
    &["block"],
    &["frame", "table"],
    &["store"],
    &["build", "calc", "completions", "demo", "inspect", "query", "thin", "verify"],
    &["cli"],
    &["main"],
];

/// Files that may hold `unsafe`, by prefix: SIMD and the C interface. (The macros of `cpu/` expand to it in their
/// callers.)
const UNSAFE_FILES: &[&str] = &[
    "capi/",
    "cpu/",
    "filter/blocked/avx2/",
    "filter/blocked/avx512/",
    "filter/blocked/inlined.rs",
    "filter/blocked/lanes.rs",
    "filter/blocked/neon/",
    "filter/golomb/avx2.rs",
    "filter/golomb/avx512.rs",
    "filter/ribbon/avx2.rs",
    "filter/ribbon/avx512.rs",
    "filter/ribbon/neon.rs",
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

/// The source without comments, and with nothing in its strings and character literals: prose may name what code may
/// not.
fn code(source: &str) -> String {
    let (mut code, mut rest) = (String::new(), source);
    while let Some(next) = rest.chars().next() {
        // What is dropped after `keep`, and what takes its place.
        let (drop_len, keep) = match next {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), ""),
            'r' if rest.starts_with("r#\"") => (rest.find("\"#").map_or(rest.len(), |end| end + 2), "\"\""),
            '"' => (literal_len(rest, '"'), "\"\""),
            '\'' if rest.starts_with("'\\") || rest.chars().nth(2) == Some('\'') => (literal_len(rest, '\''), "' '"),
            _ => (next.len_utf8(), &rest[..next.len_utf8()]),
        };
        code.push_str(keep);
        rest = &rest[drop_len..];
    }
    code
}

/// [`code`] without the unit tests at the end, which may use what they need.
fn library_code(source: &str) -> String {
    let mut code = code(source);
    code.truncate(code.find("\nmod tests {").unwrap_or(code.len()));
    code
}

/// Bytes of the literal that `text` begins with, both its quotes included.
fn literal_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The names after each `crate::` in `code`: one name, or the first names of a braced group.
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

/// The names after a chain of `super::` that leads from the module of `file` to the crate's root.
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
        let code = library_code(&source);
        for name in imported_upward(&file, &code) {
            seen += 1;
            let public = allowed.contains(&"PUBLIC") && name.starts_with(char::is_uppercase);
            let own = allowed.contains(&"OWN") || prefix.trim_end_matches('/') == name;
            if !(public || own || allowed.contains(&name.as_str()) || *prefix == "lib.rs") {
                forbidden.push(format!("{file} imports crate::{name}"));
            }
        }
    }
    assert!(seen > 30, "only {seen} imports found: the test has gone blind");
    assert!(forbidden.is_empty(), "forbidden:\n{}", forbidden.join("\n"));
}

/// Where the list is, and where the kinds' modules are declared: there a kind is named in its declaration alone.
const LIST: &str = "kind.rs";
const DECLARATIONS: &str = "filter/mod.rs";

/// What is made from the list, which no kind may know.
const OF_ALL_KINDS: [&str; 3] = ["FilterView", "FilterLayout", "FilterKind"];

/// The words of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// Files with tests in them, which name the kinds that they test.
fn is_test(file: &str) -> bool {
    file.ends_with("tests.rs")
}

#[test]
fn a_kind_is_named_in_its_folder_and_in_the_list() {
    let kinds: Vec<_> =
        FilterKind::ALL.iter().map(|kind| (kind.name(), format!("{kind:?}"), format!("filter/{kind}/"))).collect();
    let (mut strangers, mut seen) = (Vec::new(), 0);
    for (file, source) in sources().into_iter().filter(|(file, _)| !is_test(file)) {
        let mut code = library_code(&source);
        for (module, name, folder) in &kinds {
            if file == DECLARATIONS {
                code = code.replace(&format!("pub(crate) mod {module};"), "");
            }
            let is_named = words(&code).any(|word| word == *module || word == name);
            seen += usize::from(is_named);
            if is_named && file != LIST && !file.starts_with(folder) {
                strangers.push(format!("{file} names {module}"));
            }
            let of_all = |word: &&str| OF_ALL_KINDS.contains(word);
            if let Some(word) = words(&code).find(of_all).filter(|_| file.starts_with(folder)) {
                strangers.push(format!("{file}, of one kind, names {word}"));
            }
        }
    }
    assert!(seen >= kinds.len(), "only {seen} names found: the test has gone blind");
    assert!(strangers.is_empty(), "a kind is named outside its folder:\n{}", strangers.join("\n"));
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
        let code = library_code(&source);
        // In a binary, its own root is the crate.
        let code = if folder.starts_with("bin/") { code } else { code.replace("crate::", "") };
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
    let stripped =
        code("let x = \"a // \\\" bloom\\n\"; // bloom\nlet y: &'a T = '\"'; r#\"bloom\"#; bloom::f('\\'');");
    assert_eq!(stripped, "let x = \"\"; \nlet y: &'a T = ' '; \"\"; bloom::f(' ');");
    assert!(words("filter::bloom::Params").any(|word| word == "bloom"));
    assert!(!words("let bloom_of = 1;").any(|word| word == "bloom"));
}
