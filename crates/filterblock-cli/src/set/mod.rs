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
use filterblock_set::{FOOTER_LEN, FetchError, FilterSet, Group, SET_VERSION};
use serde_json::{Map, Value};
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

/// The figures of some groups.
fn groups_figures<'a>(groups: impl Iterator<Item = &'a Group> + Clone) -> Map<String, Value> {
    let sum = |of: fn(&Group) -> u64| groups.clone().map(of).fold(0, u64::saturating_add).into();
    object([
        ("num_groups", sum(|_| 1)),
        ("num_units", sum(|group| group.units().count() as u64)),
        ("groups_len_bytes", sum(|group| group.record().group_len())),
        ("units_per_lookup", sum(|group| group.record().table.shape.num_visits.into())),
    ])
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

    fn figures(&self) -> Map<String, Value> {
        let mut figures = object([
            ("kind", "set".into()),
            ("version", SET_VERSION.into()),
            ("num_files", self.index.files().count().into()),
            ("num_columns", self.index.columns().count().into()),
            ("set_len_bytes", self.num_bytes.into()),
        ]);
        figures.extend(hash_figures(self.index.hasher()));
        figures
    }

    fn column_figures(&self) -> Vec<Map<String, Value>> {
        let column = |(number, (name, class)): (usize, (&[u8], _))| {
            let mut figures = Map::new();
            put_bytes(&mut figures, "column", name);
            figures.extend(object([("class", value::class_name(class).into())]));
            let of_column = |group: &&Group| usize::from(group.record().column) == number;
            figures.extend(groups_figures(self.index.groups().iter().filter(of_column)));
            figures
        };
        self.index.columns().enumerate().map(column).collect()
    }

    /// Returns a failure for each unit, of one column or of all, whose check fails.
    fn unit_failures(&self, column: Option<&[u8]>, key: &HashKey) -> Result<Vec<Failure>, Failure> {
        let (names, mut failures) = (self.index.columns().map(|(name, _)| name).collect::<Vec<_>>(), Vec::new());
        for group in self.index.groups() {
            let name = names[usize::from(group.record().column)];
            for (part, unit, range) in group.units().filter(|_| column.is_none_or(|column| column == name)) {
                let bytes = self.read(range.clone()).map_err(|error| block_file::unreadable(self.path, &error))?;
                let checked = group.check_unit(part, unit, &bytes);
                failures.extend(checked.err().map(|error| self.unit_failure(group, name, &range, &error, key)));
            }
        }
        Ok(failures)
    }

    fn unit_failure(
        &self,
        group: &Group,
        column: &[u8],
        range: &Range<u64>,
        error: &DecodeError,
        key: &HashKey,
    ) -> Failure {
        Failure::damaged(format!(
            "{}: unit of {} bytes at offset {}: {error}. It has rows of {} of column \"{}\": there more answers are 'maybe', \
             and lookups stay correct but slower. Restore the set from a copy or write it again, then run {}.",
            self.path.display(),
            range.end - range.start,
            range.start,
            output::count(group.files().len() as u64, "file"),
            printable(column),
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

/// Checks a set: its index, and every unit of its groups.
pub(crate) fn verify(path: &Path, key: &HashKey) -> Result<Verdict, Failure> {
    let set = SetFile::open(path, key)?;
    let failures = set.unit_failures(None, key)?;
    let mut figures = set.figures();
    figures.extend(groups_figures(set.index.groups().iter()));
    let count = |name: &str, of: &str| output::count(figures[name].as_u64().unwrap_or_default(), of);
    let mut text = format!(
        "{}: ok: set v{SET_VERSION}, {}, {}, {}, {}, {} bytes; checksums and structure are right\n",
        path.display(),
        count("num_files", "file"),
        count("num_columns", "column"),
        count("num_groups", "group"),
        count("num_units", "unit"),
        set.num_bytes
    );
    if !failures.is_empty() {
        text.clear();
    }
    figures.extend(object([("num_unusable_units", failures.len().into())]));
    Ok(Verdict { failures, figures, text })
}
