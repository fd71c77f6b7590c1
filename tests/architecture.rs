//! The layers of the library, read off its sources: which module may import which, which files may contain `unsafe` or
//! name a byte order, and where a kind may be named. And how long a file of any package may be.

use filterblock::FilterKind;
use std::path::{Path, PathBuf};

/// Layers from the bottom up, of the library or of a module's files: a module may import those before its own. Between
/// packages the compiler enforces this. In `filter` a folder is a kind; `sizing` has the kinds' mathematics, as users see
/// it.
const LAYERS: &[(&str, &str)] = &[
    (
        "src",
        "kind error bytes hash hash_set math cpu bits output codes filter frame policy block range partition sizing",
    ),
    (
        "src/block",
        "aligned checksums fields header thin queries reader compact options tables combine self_check payload builder \
         tests",
    ),
    (
        "src/range",
        "order bits code form layout group query inner search portable avx2 avx512 engine bounds keys integers header reader tables \
         weigh plan build policy check builder tests work",
    ),
];

/// Files that may hold `unsafe`, by prefix: SIMD. (The macros of `cpu/` expand to it in their callers.) Of the other
/// packages, the C library has it and the rest forbids it.
const UNSAFE_FILES: &[&str] = &[
    "src/codes/avx2.rs",
    "src/codes/avx512.rs",
    "src/cpu/",
    "src/filter/blocked/avx2/",
    "src/filter/blocked/avx512/",
    "src/filter/blocked/inlined.rs",
    "src/filter/blocked/lanes.rs",
    "src/filter/blocked/neon/",
    "src/filter/blocked/query.rs",
    "src/filter/ribbon/avx2.rs",
    "src/filter/ribbon/avx512.rs",
    "src/filter/ribbon/neon.rs",
    "src/range/avx2.rs",
    "src/range/avx512.rs",
];

const MAX_LINES: usize = 500;

/// The Rust files of the library's `src`, by their path from the root.
fn sources() -> Vec<(String, String)> {
    rust_files(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// The Rust files of the `src` of a package, by their path from its folder.
fn rust_files(package: &Path) -> Vec<(String, String)> {
    fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a readable directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => collect(&path, files),
                false => files.push(path),
            }
        }
    }
    let mut files = Vec::new();
    collect(&package.join("src"), &mut files);
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    let name = |path: &Path| path.strip_prefix(package).expect("in the package").to_string_lossy().replace('\\', "/");
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

#[test]
fn layers_only_look_down() {
    let sources = sources();
    for (folder, layers) in LAYERS {
        let layers: Vec<_> = layers.split(' ').collect();
        let layer = |name: &str| layers.iter().position(|layer| *layer == name);
        let is_root = *folder == "src";
        let (mut forbidden, mut seen) = (Vec::new(), 0);
        for (file, source) in &sources {
            let Some(file) = file.strip_prefix(folder).and_then(|file| file.strip_prefix('/')) else {
                continue;
            };
            let module = file.split('/').next().unwrap_or("").trim_end_matches(".rs");
            if ["lib", "mod"].contains(&module) {
                continue;
            }
            let Some(own) = layer(module) else {
                forbidden.push(format!("{folder}/{file} belongs to no layer"));
                continue;
            };
            let mut code = library_code(source);
            if !is_root {
                // The imports from elsewhere, which are the package's matter.
                code = code.replace("crate::", "");
            }
            for name in imported_upward(file, &code) {
                // Names of the root itself are what `lib.rs` publishes from modules.
                let is_module = name.starts_with(char::is_lowercase);
                seen += usize::from(is_module);
                if is_module && name != module && layer(&name).is_none_or(|other| other > own) {
                    forbidden.push(format!("{folder}/{file} imports {name}"));
                }
            }
        }
        let least = if is_root { 30 } else { layers.len() };
        assert!(seen > least, "{folder}: only {seen} imports found: the test has gone blind");
        assert!(forbidden.is_empty(), "forbidden:\n{}", forbidden.join("\n"));
    }
}

/// Where the list is, and where the kinds' modules are declared: there a kind is named in its declaration alone.
const LIST: &str = "src/kind.rs";
const DECLARATIONS: &str = "src/filter/mod.rs";

/// What is made from the list, which no kind may know.
const OF_ALL_KINDS: [&str; 3] = ["FilterView", "FilterLayout", "FilterKind"];

/// The words of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// Files with tests in them, which name the kinds that they test.
fn is_test(file: &str) -> bool {
    file.ends_with("tests.rs") || file.ends_with("guard_pages.rs")
}

#[test]
fn a_kind_is_named_in_its_folder_and_in_the_list() {
    let kinds: Vec<_> =
        FilterKind::ALL.iter().map(|kind| (kind.name(), format!("{kind:?}"), format!("src/filter/{kind}/"))).collect();
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
            assert!(file == "src/bytes.rs" || !code(&source).contains(word), "{file} names a byte order: {word}");
        }
    }
}

#[test]
fn files_stay_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = std::fs::read_dir(root.join("crates")).expect("packages");
    let packages = packages.map(|package| package.expect("a package").path()).chain([root.to_owned()]);
    for (file, source) in packages.flat_map(|package| rust_files(&package)) {
        let lines = source.lines().filter(|line| !line.starts_with("//!")).count(); // without the essay
        assert!(lines <= MAX_LINES, "{file} has {lines} lines");
    }
}

#[test]
fn the_reader_sees_an_import_it_must_forbid() {
    assert_eq!(imported("use crate::{a::B, c::{D, E}, F};\nlet x = crate::g::h();"), ["a", "c", "F", "g"]);
    assert_eq!(imported("pub(crate) fn f() {}"), Vec::<String>::new());
    assert_eq!(imported_upward("filter/combine.rs", "use super::super::block::X;"), ["block"]);
    assert_eq!(imported_upward("filter/blocked/mod.rs", "use super::super::kv::X; use super::PARAMS_LEN;"), ["kv"]);
    let stripped =
        code("let x = \"a // \\\" bloom\\n\"; // bloom\nlet y: &'a T = '\"'; r#\"bloom\"#; bloom::f('\\'');");
    assert_eq!(stripped, "let x = \"\"; \nlet y: &'a T = ' '; \"\"; bloom::f(' ');");
    assert!(words("filter::bloom::Params").any(|word| word == "bloom"));
    assert!(!words("let bloom_of = 1;").any(|word| word == "bloom"));
}
