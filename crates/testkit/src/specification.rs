//! The format's document: `format-spec.md`, its chapters in `format`, and the vectors in `format/vectors`.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.find(|directory| directory.join("format-spec.md").is_file()).expect("the document").to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of `format-spec.md` and of all chapters.
pub fn text() -> String {
    let chapters = std::fs::read_dir(root().join("format")).expect("the chapters");
    let mut paths: Vec<PathBuf> = chapters.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths.insert(0, root().join("format-spec.md"));
    paths.iter().map(|path| read(path)).collect()
}

/// The lines of the vectors called `name`, without comments: a file of their own, or an example in a chapter.
pub fn vectors(name: &str) -> Vec<String> {
    let file = root().join("format/vectors").join(name).with_extension("txt");
    let (text, fence) = if file.is_file() { (read(&file), "") } else { (text(), &*format!("```vectors {name}\n")) };
    let (_, lines) = text.split_once(fence).unwrap_or_else(|| panic!("no vectors called {name}"));
    let lines = lines.lines().take_while(|line| *line != "```");
    lines.filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}
