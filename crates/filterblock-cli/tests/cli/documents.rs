//! The commands of the documents: a fence of commands is run as it stands, in the order of its document, or a comment
//! before it states why it is not: `<!-- not run: reason -->`.

/// Has the test that the measured figures are those of the run that they are filled in from.
#[path = "../../../../benches/compare/src/documents.rs"]
mod figures;

use crate::*;
use std::path::Path;

const MARK: &str = "<!-- not run: ";
/// The programs that a fence without a comment may call: the tool, and what every system has.
const RUNNABLE: [&str; 8] = ["(umask", "filterblock", "find", "head", "printf", "seq", "set", "tail"];
/// Names of languages for commands that this test does not look for.
const OTHER_SHELLS: [&str; 5] = ["```bash", "```console", "```shell", "```zsh", "```sh "];

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents, by their paths from the root.
fn documents() -> Vec<String> {
    let mut paths = Vec::new();
    let names = |dir: &str| -> Vec<String> {
        let entries = fs::read_dir(root().join(dir)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    for dir in ["", "docs/", "format/"] {
        paths.extend(names(dir).into_iter().filter(|name| name.ends_with(".md")).map(|name| format!("{dir}{name}")));
    }
    for dir in ["", "benches/", "crates/", "integrations/", "tests/"] {
        let readmes = names(dir).into_iter().map(|name| format!("{dir}{name}/README.md"));
        paths.extend(readmes.filter(|path| root().join(path).is_file()));
    }
    paths.sort();
    paths
}

/// A fence of commands.
struct Fence {
    /// The document and the line that the fence begins at.
    place: String,
    script: String,
    /// Why it is not run.
    reason: Option<String>,
}

/// Returns the fences of commands of a document.
fn fences(path: &str, text: &str) -> Vec<Fence> {
    let (mut fences, mut reason) = (Vec::new(), None);
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let place = format!("{path}:{number}");
        assert!(!OTHER_SHELLS.iter().any(|shell| line.starts_with(shell)), "{place}: write ```sh");
        match line.strip_prefix(MARK) {
            Some(text) => {
                let text = text.strip_suffix(" -->").filter(|text| !text.trim().is_empty());
                reason = Some(text.unwrap_or_else(|| panic!("{place}: write {MARK}reason -->")).to_owned());
            }
            None if line == "```sh" => {
                let script = lines.by_ref().map(|(line, _)| line).take_while(|&line| line != "```");
                let script = script.map(|line| format!("{line}\n")).collect();
                fences.push(Fence { place, script, reason: reason.take() });
            }
            None if line.starts_with("```") => {
                assert_eq!(reason, None, "{place}: not a fence of commands");
                lines.by_ref().find(|&(line, _)| line == "```");
            }
            None => assert_eq!(reason, None, "{place}: a fence must follow the comment at once"),
        }
    }
    fences
}

/// Returns the commands of a script, without comments.
fn commands(script: &str) -> Vec<Vec<String>> {
    let joined = script.replace("\\\n", " ");
    let words = joined.lines().map(|line| shlex::split(line).unwrap_or_else(|| panic!("quotes of {line}")));
    words.filter(|words| !words.is_empty()).collect()
}

/// The first program of a script that an unmarked fence may not call.
fn not_runnable(script: &str) -> Option<String> {
    let commands = commands(script);
    let programs = commands.iter().flat_map(|words| words.split(|word| ["|", "&&", ";"].contains(&word.as_str())));
    programs.filter_map(|words| words.first().cloned()).find(|word| !RUNNABLE.contains(&word.as_str()))
}

#[test]
fn commands_of_documents_run_or_state_why_not() {
    let lanes: String = ["native", "lib", "store", "foreign", "guard_pages"]
        .map(|name| fs::read_to_string(root().join(format!(".ci/{name}.sh"))).unwrap())
        .concat();
    let (mut num_run, mut num_not_run, mut num_pages, mut out) = (0, 0, 0, Vec::new());
    for path in documents() {
        let place = Place::new();
        let fences = fences(&path, &fs::read_to_string(root().join(&path)).unwrap());
        num_pages += usize::from(!fences.is_empty());
        for Fence { place: at, script, reason } in fences {
            if let Some(reason) = reason {
                // Every second part is between quotes: the name of a lane, whole or its beginning.
                for lane in reason.split('"').skip(1).step_by(2) {
                    assert!(lanes.contains(&format!("\nproves \"{lane}")), "{at}: there is no lane \"{lane}\"");
                }
                let commands = commands(&script);
                for words in commands.iter().filter(|words| [".ci/run", ".ci/full"].contains(&words[0].as_str())) {
                    let words = words[1..].join(" ");
                    let mut names = lanes.lines().filter_map(|line| line.strip_prefix("proves \"")?.split('"').next());
                    assert!(names.any(|name| name.contains(&words)), "{at}: no lane has \"{words}\" in its name");
                }
                let (first, num) = (commands[0].join(" "), commands.len());
                out.push(format!("counted: not run: {at}: {first} (the first of {num}): {reason}"));
                num_not_run += commands.len();
                continue;
            }
            if let Some(program) = not_runnable(&script) {
                panic!("{at}: this test does not run {program}: a comment before the fence must state why");
            }
            let output = place.shell_with_tool(&script);
            assert!(output.status.success(), "{at}: {:?}\n{script}{}", output.status, stderr(&output));
            num_run += commands(&script).len();
        }
    }
    assert!(num_run > 0 && num_not_run > 0);
    out.push(format!("counted: {num_run} commands of {num_pages} documents run as they stand, {num_not_run} not run"));
    // Not by `print!`, which a test that passes does not show.
    writeln!(std::io::stdout(), "{}", out.join("\n")).unwrap();
}

/// Returns whether a page has a heading that `#anchor` leads to.
fn has_anchor(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let is_kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let mut anchors = headings.map(|words| words.to_lowercase().chars().filter(is_kept).collect::<String>());
    anchors.any(|words| words.replace(' ', "-") == anchor)
}

#[test]
fn links_lead_to_files_and_headings() {
    for path in documents() {
        let (page, text) = (root().join(&path), fs::read_to_string(root().join(&path)).unwrap());
        // Between fences: code may have brackets as a link has.
        let links = text.split("\n```").step_by(2).flat_map(|text| text.split("](").skip(1));
        for link in links.map(|rest| rest.split(')').next().unwrap()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let is_here = file.starts_with("https://")
                || target.exists() && (anchor.is_empty() || has_anchor(&fs::read_to_string(&target).unwrap(), anchor));
            assert!(is_here, "{path}: there is no {link}");
        }
    }
}

/// The mistakes that the test is for.
#[test]
fn fences_without_a_reason_are_found() {
    let found = |text: &str| fences("page.md", text);
    let [run, marked] = &found("```sh\nseq 3 > a\n```\ntext\n<!-- not run: why -->\n```sh\ncargo test\n```\n")[..]
    else {
        panic!("two fences")
    };
    assert_eq!((run.place.as_str(), run.reason.as_deref(), not_runnable(&run.script)), ("page.md:1", None, None));
    assert_eq!((marked.place.as_str(), marked.reason.as_deref()), ("page.md:6", Some("why")));
    assert_eq!(not_runnable(&marked.script).as_deref(), Some("cargo"));
    assert_eq!(not_runnable("seq 3 | \\\n  sort # text\n").as_deref(), Some("sort"));
    assert_eq!(not_runnable("# text\nseq 3 | head -n 1\nfilterblock demo\n"), None);
    for text in [
        "```bash\ncargo test\n```\n",
        "<!-- not run:  -->\n```sh\ncargo test\n```\n",
        "<!-- not run: why -->\n\n```sh\ncargo test\n```\n",
        "<!-- not run: why -->\n```text\nwords\n```\n",
    ] {
        assert!(std::panic::catch_unwind(|| found(text)).is_err(), "{text}");
    }
}
