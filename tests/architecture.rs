//! The layers of the library, read off its sources: which module may import which, which files may contain `unsafe` or
//! name a byte order, and where a kind may be named. And how long a file of any package may be.

use filterblock::FilterKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules of `src` from the bottom up: each may import those before its own. `keys` and `ranges` are the two
/// families, and know nothing of each other; in `keys/kinds` a folder is a kind. Between packages the compiler enforces
/// this.
const LAYERS: &str = "kind query bytes bits cpu math error hash build codes frame keys ranges partition";
const STRANGERS: [&str; 2] = ["keys", "ranges"];

/// The most modules of a folder, and the longest chain of imports among them.
const MAX_MODULES: usize = 16;
const MAX_FLOORS: usize = 6;

/// Files that may hold `unsafe`, by prefix: SIMD. (The macros of `cpu/` expand to it in their callers.) Of the other
/// packages, the C library has it and the rest forbids it.
const UNSAFE_FILES: &[&str] = &[
    "src/codes/avx2.rs",
    "src/codes/avx512.rs",
    "src/cpu/",
    "src/keys/kinds/blocked/avx2/",
    "src/keys/kinds/blocked/avx512/",
    "src/keys/kinds/blocked/inlined.rs",
    "src/keys/kinds/blocked/lanes.rs",
    "src/keys/kinds/blocked/neon/",
    "src/keys/kinds/blocked/query.rs",
    "src/keys/kinds/ribbon/avx2.rs",
    "src/keys/kinds/ribbon/avx512.rs",
    "src/keys/kinds/ribbon/neon.rs",
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

/// The module of a file: `["keys", "kinds"]` for `src/keys/kinds/mod.rs`.
fn module_of(file: &str) -> Vec<String> {
    let path = file.trim_start_matches("src/").trim_end_matches(".rs");
    path.split('/').filter(|name| *name != "mod").map(str::to_owned).collect()
}

/// The absolute paths that `code` of `module` names after `crate::` or `super::`, as far as they name modules.
fn imported(module: &[String], code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (at, word) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let before = &code[..at];
        if before.ends_with("super::") || before.ends_with('$') {
            continue; // A chain is read from its first link, and a macro's `$crate` is that of its callers.
        }
        let (mut rest, mut base) = (&code[at..], if word == "crate::" { Vec::new() } else { module.to_vec() });
        while let Some(shorter) = rest.strip_prefix("super::") {
            base.pop();
            rest = shorter;
        }
        collect_tree(rest.strip_prefix("crate::").unwrap_or(rest), &base, &mut paths);
    }
    paths
}

/// Adds the paths of a `use` tree, and returns what follows it.
fn collect_tree<'a>(mut rest: &'a str, base: &[String], paths: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = base.to_vec();
    loop {
        rest = rest.trim_start();
        if let Some(group) = rest.strip_prefix('{') {
            rest = group;
            loop {
                rest = collect_tree(rest, &path, paths).trim_start();
                match rest.strip_prefix(',') {
                    Some(next) => rest = next,
                    None => return rest.strip_prefix('}').unwrap_or(rest),
                }
            }
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        path.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(next) => rest = next,
            None => break,
        }
    }
    path.retain(|name| name.starts_with(|c: char| c.is_lowercase()) && name != "self");
    paths.push(path);
    rest
}

/// For each folder of `src`, its modules, and for each of these the other modules of the folder that it imports.
fn folders() -> BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>> {
    let sources = sources();
    let mut folders: BTreeMap<_, BTreeMap<_, BTreeSet<_>>> = BTreeMap::new();
    for (file, _) in sources.iter().filter(|(file, _)| !is_test(file) && file != "src/lib.rs") {
        let mut module = module_of(file);
        while let Some(name) = module.pop() {
            folders.entry(module.clone()).or_default().entry(name).or_default();
        }
    }
    for (file, source) in sources.iter().filter(|(file, _)| !is_test(file) && file != "src/lib.rs") {
        let module = module_of(file);
        for path in imported(&module, &library_code(source)) {
            let shared = module.iter().zip(&path).take_while(|(a, b)| a == b).count();
            let (Some(own), Some(other)) = (module.get(shared), path.get(shared)) else { continue };
            let modules = folders.get_mut(&module[..shared]).expect("a folder of the file");
            if modules.contains_key(other) {
                modules.get_mut(own).expect("a module of the folder").insert(other.clone());
            }
        }
    }
    folders
}

/// The longest chain of imports from `name` down.
fn floors(name: &str, modules: &BTreeMap<String, BTreeSet<String>>, above: &mut Vec<String>) -> usize {
    assert!(!above.iter().any(|other| other == name), "imports in a circle: {above:?} and {name} again");
    above.push(name.to_owned());
    let below = modules[name].iter().map(|other| floors(other, modules, above)).max().unwrap_or(0);
    above.pop();
    below + 1
}

#[test]
fn modules_only_import_those_below() {
    let folders = folders();
    let layers: Vec<_> = LAYERS.split(' ').collect();
    let layer = |name: &str| layers.iter().position(|layer| *layer == name).expect("a layer");
    for (module, others) in &folders[&[][..]] {
        for other in others {
            assert!(layer(other) < layer(module), "{module} imports {other}");
            assert!(![module, other].iter().all(|name| STRANGERS.contains(&name.as_str())), "{module} imports {other}");
        }
    }
    let num_imports: usize = folders.values().flat_map(|modules| modules.values().map(BTreeSet::len)).sum();
    assert!(num_imports > 200, "only {num_imports} imports found: the test has gone blind");
    // The files of a kind are one room: build, search and engines share its fields.
    let is_kind = |folder: &[String]| folder.len() > 2 && folder[..2] == ["keys", "kinds"];
    for (folder, modules) in folders.iter().filter(|(folder, _)| !is_kind(folder)) {
        let folder = folder.join("/");
        assert!(modules.len() <= MAX_MODULES, "src/{folder} has {} modules", modules.len());
        let highest = modules.keys().map(|name| floors(name, modules, &mut Vec::new())).max().unwrap_or(0);
        assert!(highest <= MAX_FLOORS, "src/{folder} has {highest} floors");
    }
}

/// Where the list is, and where the kinds' modules are declared: there a kind is named in its declaration alone.
const LIST: &str = "src/kind.rs";
const DECLARATIONS: &str = "src/keys/kinds/mod.rs";

/// What is made from the list, which no kind may know.
const OF_ALL_KINDS: [&str; 3] = ["FilterView", "FilterLayout", "FilterKind"];

/// The words of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// Files with tests in them, which name the kinds that they test.
fn is_test(file: &str) -> bool {
    ["tests.rs", "guard_pages.rs", "random.rs"].iter().any(|end| file.ends_with(end))
}

#[test]
fn a_kind_is_named_in_its_folder_and_in_the_list() {
    let kinds: Vec<_> = FilterKind::ALL
        .iter()
        .map(|kind| (kind.name(), format!("{kind:?}"), format!("src/keys/kinds/{kind}/")))
        .collect();
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

/// Packagers run the unit tests of the published sources, without the test kit, which is not published.
#[test]
fn unit_tests_do_without_the_test_kit() {
    let users: Vec<_> =
        sources().into_iter().filter(|(_, source)| words(&code(source)).any(|word| word == "testkit")).collect();
    assert!(users.is_empty(), "{:?}", users.iter().map(|(file, _)| file).collect::<Vec<_>>());
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
    let of = |file: &str, code: &str| -> Vec<_> {
        imported(&module_of(file), code).into_iter().map(|path| path.join("::")).collect()
    };
    let imports = "use crate::{a::B, c::{d::E, self}, F};\nlet x = crate::g::h();";
    assert_eq!(of("src/keys/reader.rs", imports), ["a", "c::d", "c", "", "g::h"]);
    assert_eq!(of("src/keys/reader.rs", "pub(crate) fn f() {}"), Vec::<String>::new());
    assert_eq!(of("src/keys/kinds/mod.rs", "use super::super::frame::X; super::open::y"), ["frame", "keys::open::y"]);
    let stripped =
        code("let x = \"a // \\\" bloom\\n\"; // bloom\nlet y: &'a T = '\"'; r#\"bloom\"#; bloom::f('\\'');");
    assert_eq!(stripped, "let x = \"\"; \nlet y: &'a T = ' '; \"\"; bloom::f(' ');");
    assert!(words("filter::bloom::Params").any(|word| word == "bloom"));
    assert!(!words("let bloom_of = 1;").any(|word| word == "bloom"));
}
