//! Files that hold a filter set: the filters of many files, and at the end an index of them.

pub(crate) mod list;
pub(crate) mod query;
mod value;

use crate::block_file;
use crate::exit::{self, Code, Failure};
use crate::filter::{hash_figures, print_figures};
use crate::open_args::HashKey;
use crate::output::{self, object, printable, put_bytes, shell_word};
use crate::verdict::Verdict;
use filterblock::{DecodeError, DecodeErrorClass};
use filterblock_set::{FOOTER_LEN, FetchError, FilterSet, SET_VERSION, SetBlock};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

/// A set whose index is open.
pub(crate) struct SetFile<'a> {
    path: &'a Path,
    file: File,
    num_bytes: u64,
    index: FilterSet,
}

/// The number of blocks, and of their bytes.
#[derive(Clone, Copy, Default)]
struct Size {
    num_blocks: u64,
    num_bytes: u64,
}

impl Size {
    fn add(&mut self, block: &SetBlock<'_>) {
        self.num_blocks += 1;
        self.num_bytes += block.range.end - block.range.start;
    }
}

impl<'a> SetFile<'a> {
    /// Opens the set at `path`, which [`block_file::is_set`] has found to be one.
    pub(crate) fn open(path: &'a Path, key: &HashKey) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| block_file::unreadable(path, &error);
        let file = File::open(path).map_err(unreadable)?;
        let num_bytes = file.metadata().map_err(unreadable)?.len();
        let index = FilterSet::fetch_index(num_bytes, key.hasher.as_ref(), |range| read_range(&file, range));
        let index = index.map_err(|error| match error {
            FetchError::Fetch(error) => unreadable(error),
            FetchError::Decode(error) => index_failure(path, num_bytes, key, &error),
        })?;
        if let Some(foreign) = index.foreign_append() {
            exit::message(format_args!(
                "{}: the {} bytes at offset {} were appended by another writer, or twice. Files that only they have are not \
                 shown, and are 'maybe'. The first {} bytes are a set with these files, as long as they are intact: copy \
                 them to a file to list it.",
                path.display(),
                foreign.end - foreign.start,
                foreign.start,
                foreign.end
            ));
        }
        Ok(Self { path, file, num_bytes, index })
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        read_range(&self.file, range)
    }

    /// The size of the blocks that `is_counted`.
    fn size_of(&self, is_counted: impl Fn(&SetBlock<'_>) -> bool) -> Size {
        let mut size = Size::default();
        self.index.blocks().filter(is_counted).for_each(|block| size.add(&block));
        size
    }

    /// The size of the blocks of each file and column that has some.
    fn sizes(&self) -> HashMap<(&[u8], &[u8]), Size> {
        let mut sizes: HashMap<_, Size> = HashMap::new();
        self.index.blocks().for_each(|block| sizes.entry((block.file, block.column)).or_default().add(&block));
        sizes
    }

    fn figures(&self) -> Map<String, Value> {
        let size = self.size_of(|_| true);
        let mut figures = object([
            ("kind", "set".into()),
            ("version", SET_VERSION.into()),
            ("num_files", self.index.files().count().into()),
            ("num_columns", self.index.columns().count().into()),
            ("num_blocks", size.num_blocks.into()),
            ("blocks_len_bytes", size.num_bytes.into()),
            ("set_len_bytes", self.num_bytes.into()),
        ]);
        figures.extend(hash_figures(self.index.hasher()));
        figures
    }

    fn column_figures(&self) -> Vec<Map<String, Value>> {
        let column = |(name, class): (&[u8], _)| {
            let mut figures = Map::new();
            put_bytes(&mut figures, "column", name);
            let size = self.size_of(|block| block.column == name);
            figures.extend(object([
                ("class", value::class_name(class).into()),
                ("num_slices", self.index.num_slices(name).into()),
                ("num_blocks", size.num_blocks.into()),
                ("blocks_len_bytes", size.num_bytes.into()),
            ]));
            figures
        };
        self.index.columns().map(column).collect()
    }

    /// A block that does not open costs the keys in it.
    fn block_failure(&self, block: &SetBlock<'_>, bytes: &[u8], error: &DecodeError, key: &HashKey) -> Failure {
        let what = block_file::what_failed(self.path, block.range.start, bytes, error);
        Failure::damaged(format!(
            "{what}. It is that of file \"{}\", column \"{}\", slice {}: there every answer is 'maybe', and lookups stay \
             correct but slower. Restore the set from a copy or write it again, then run {}.",
            printable(block.file),
            printable(block.column),
            block.slice,
            key.command(format_args!("verify {}", shell_word(self.path)))
        ))
    }
}

fn read_range(mut file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(range.start))?;
    file.take(range.end - range.start).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Without its index nothing of a set is used.
fn index_failure(path: &Path, num_bytes: u64, key: &HashKey, error: &DecodeError) -> Failure {
    let next = match (error, error.class()) {
        (DecodeError::WrongHash { found: 1, .. }, _) => "Leave out --hash-key-file: it has no secret key.".to_owned(),
        (_, DecodeErrorClass::Mismatch) => {
            "Run the command again with `--hash-key-file KEY`, the file of its secret key.".to_owned()
        }
        (_, DecodeErrorClass::Newer) => {
            "A newer filterblock reads it; `filterblock --version` shows this one's.".to_owned()
        }
        _ => {
            let verify = key.command(format_args!("verify {}", shell_word(path)));
            format!("Restore it from a copy or write it again, then run {verify}.")
        }
    };
    let offset = num_bytes.saturating_sub(FOOTER_LEN as u64);
    Failure::damaged(format!(
        "{}: filter set of {num_bytes} bytes, index before the footer at offset {offset}: {error}. Set ignored: every answer \
         is 'maybe', and lookups stay correct but slower. {next}",
        path.display()
    ))
}

/// Shows a set and its columns.
pub(crate) fn inspect(path: &Path, key: &HashKey, json: bool) -> anyhow::Result<ExitCode> {
    let set = SetFile::open(path, key)?;
    let (mut figures, columns) = (set.figures(), set.column_figures());
    output::print(|out| {
        if json {
            figures.insert("columns".to_owned(), columns.into());
            return out.json(&figures);
        }
        print_figures(out, &figures, "")?;
        columns.iter().try_for_each(|column| {
            writeln!(out, "column")?;
            print_figures(out, column, "  ")
        })
    })?;
    Ok(Code::Ok.into())
}

/// Checks a set: its index, and that every block opens.
pub(crate) fn verify(path: &Path, key: &HashKey) -> Result<Verdict, Failure> {
    let set = SetFile::open(path, key)?;
    let (mut failures, mut num_entries) = (Vec::new(), 0);
    for block in set.index.blocks() {
        let bytes = set.read(block.range.clone()).map_err(|error| block_file::unreadable(path, &error))?;
        match set.index.open_block(&block, &bytes) {
            Ok(opened) => num_entries += opened.num_entries(),
            Err(error) => failures.push(set.block_failure(&block, &bytes, &error, key)),
        }
    }
    let mut figures = set.figures();
    figures.extend(object([("num_entries", num_entries.into()), ("num_unusable_blocks", failures.len().into())]));
    let mut text = format!(
        "{}: ok: set v{SET_VERSION}, {}, {}, {}, {num_entries} entries, {} bytes; checksums and structure are right\n",
        path.display(),
        output::count(set.index.files().count() as u64, "file"),
        output::count(set.index.columns().count() as u64, "column"),
        output::count(set.size_of(|_| true).num_blocks, "block"),
        set.num_bytes
    );
    if !failures.is_empty() {
        text.clear();
    }
    Ok(Verdict { failures, figures, text })
}
