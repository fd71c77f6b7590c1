//! Files that hold a filter block: how one is read and shown, and the message when it is refused.

use crate::exit::{Code, Failure};
use crate::open_args::{Expected, HashKey};
use crate::output::shell_word;
use filterblock::range::RangeFilter;
use filterblock::{
    BlockKind, DecodeError, DecodeErrorClass, FORMAT_VERSION, FilterBlockReader, HEADER_LEN, KeyTransform, MAGIC,
};
use filterblock_set::{FOOTER_LEN, SET_MAGIC};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const HEADER_BYTES: u64 = HEADER_LEN as u64;
/// The most that is read from a pipe or a device whose header's checksum is wrong.
pub(crate) const MAX_UNVOUCHED_BYTES: u64 = 1 << 30;
/// The payload's length in a header.
const LENGTH_FIELD: std::ops::Range<usize> = 32..40;

/// The bytes of the file at `path`, which holds one block as far as its header and its length show: the rest is read
/// only then.
pub(crate) fn read(path: &Path, expected: &Expected) -> Result<Vec<u8>, Failure> {
    let failure = |error: io::Error| unreadable(path, &error);
    if path.is_dir() {
        let stats = expected.key.command(format_args!("stats {}", shell_word(path)));
        let next = format!("Nothing was queried or checked. If it is a store, run {stats}.");
        return Err(Failure::io(path, "cannot read", &io::ErrorKind::IsADirectory.into(), &next));
    }
    if is_set(path) {
        return Err(refuse_set(path, &expected.key));
    }
    let mut file = File::open(path).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    let file_len = metadata.is_file().then_some(metadata.len());
    let mut bytes = Vec::new();
    (&mut file).take(HEADER_BYTES).read_to_end(&mut bytes).map_err(failure)?;
    let refused = |bytes: &[u8], error| Failure::damaged(describe(path, file_len, bytes, &error, expected));
    let declared_bytes = match expected.options().open(&bytes) {
        Err(DecodeError::PayloadLength { .. }) => stated_len(&bytes),
        Ok(_) | Err(DecodeError::PayloadDigest { .. }) => 0,
        // The header is right; this reader does not look further.
        Err(DecodeError::WrongFamily { .. }) => stated_len(&bytes),
        // The checksums are those of a header alone; with a byte more they yield no context.
        Err(DecodeError::WrongContext { .. }) => {
            (&mut file).take(1).read_to_end(&mut bytes).map_err(failure)?;
            return match expected.options().open(&bytes) {
                Err(error @ DecodeError::HeaderChecksum { .. }) => Err(refused(&bytes, error)),
                _ => Ok(bytes),
            };
        }
        Err(error) if error.class() == DecodeErrorClass::Mismatch => 0,
        // The payload shows whether the header is damaged or the block belongs to another context. It is read only if
        // it has the length that the header gives, right or not.
        Err(error @ DecodeError::HeaderChecksum { .. }) => {
            let stated_bytes = stated_len(&bytes);
            if file_len.is_some_and(|len| stated_bytes != len.saturating_sub(HEADER_BYTES)) {
                return Err(refused(&bytes, error));
            }
            stated_bytes.min(MAX_UNVOUCHED_BYTES)
        }
        Err(error) => return Err(refused(&bytes, error)),
    };
    let of_another_len = |bytes: &[u8], actual_bytes| {
        let error = DecodeError::PayloadLength { declared_bytes, actual_bytes };
        let failed =
            format!("the length field declares {declared_bytes} bytes of payload, the file has {actual_bytes}");
        Failure::damaged(describe_as(&failed, path, file_len, bytes, &error, expected))
    };
    if let Some(actual_bytes) = file_len.map(|len| len.saturating_sub(HEADER_BYTES)) {
        if actual_bytes != declared_bytes {
            return Err(of_another_len(&bytes, actual_bytes));
        }
    }
    // One more shows that there is more.
    file.take(declared_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failure)?;
    match bytes.len() as u64 - HEADER_BYTES {
        actual_bytes if actual_bytes != declared_bytes => Err(of_another_len(&bytes, actual_bytes)),
        _ => Ok(bytes),
    }
}

/// Returns whether the file ends as a filter set does.
pub(crate) fn is_set(path: &Path) -> bool {
    let ends_as_set = || -> io::Result<bool> {
        // A pipe is not opened: it may have no end.
        if !fs::metadata(path)?.is_file() {
            return Ok(false);
        }
        let (mut file, mut magic) = (File::open(path)?, [0; SET_MAGIC.len()]);
        file.seek(SeekFrom::End(-(FOOTER_LEN as i64)))?;
        file.read_exact(&mut magic)?;
        Ok(magic == SET_MAGIC)
    };
    // If this fails, reading it as a block will report the same error.
    ends_as_set().unwrap_or(false)
}

/// A set is not a filter of one table.
fn refuse_set(path: &Path, key: &HashKey) -> Failure {
    let file = shell_word(path);
    let [list, query] =
        [format!("list {file}"), format!("query {file} VALUE --column NAME")].map(|command| key.command(command));
    let message = format!(
        "{}: a filter set, the filters of many files, where one filter is expected. To see its files and columns, run {list}; \
         to query it, run {query}.",
        path.display()
    );
    Failure::new(Code::Usage, message)
}

/// The failure to read a file, with a command that shows what there is.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let next = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let dir = path.ancestors().skip(1).find(|dir| dir.exists()).unwrap_or(Path::new("."));
            format!("Run `ls -a -- {}` to see which files there are.", shell_word(dir))
        }
        _ => format!("Run `ls -ld -- {}` to see what it is and who may read it.", shell_word(path)),
    };
    Failure::io(path, "cannot read", error, &format!("Nothing was queried or checked. {next}"))
}

/// The payload's length by the header.
pub(crate) fn stated_len(header: &[u8]) -> u64 {
    let field = header.get(LENGTH_FIELD).unwrap_or_default();
    field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Returns whether a file is one whole block with right checksums, under whatever hash and context.
pub(crate) fn is_block(path: &Path) -> bool {
    let expected = Expected::default();
    let open = |bytes: &[u8]| match is_range(bytes) {
        true => expected.options().open_ranges(bytes).map(drop),
        false => expected.options().open(bytes).map(drop),
    };
    let opened = read(path, &expected).map(|bytes| open(&bytes));
    opened.is_ok_and(|opened| opened.err().is_none_or(|error| error.class() == DecodeErrorClass::Mismatch))
}

/// Opens a file's only block, which [`read`] has read.
pub(crate) fn open<'a>(path: &Path, bytes: &'a [u8], expected: &Expected) -> Result<FilterBlockReader<'a>, Failure> {
    let refused = |error| Failure::damaged(describe(path, Some(bytes.len() as u64), bytes, &error, expected));
    expected.options().open(bytes).map_err(refused)
}

/// A file's only filter, if it is a range filter.
pub(crate) type OpenedRange<'a> = Option<Result<RangeFilter<&'a [u8]>, Failure>>;

/// Opens a file's only block, which [`read`] has read, if its header names a range filter. A secret key does not apply.
pub(crate) fn open_range<'a>(path: &Path, bytes: &'a [u8], expected: &Expected) -> OpenedRange<'a> {
    let refused = |error| Failure::damaged(describe(path, Some(bytes.len() as u64), bytes, &error, expected));
    is_range(bytes).then(|| expected.options().open_ranges(bytes).map_err(refused))
}

fn is_range(block: &[u8]) -> bool {
    block.starts_with(&MAGIC) && tag(block) == Some(BlockKind::Ranges.tag())
}

/// The kind's tag of a block or an index, which may be damaged.
pub(crate) fn tag(block: &[u8]) -> Option<u8> {
    block.get(MAGIC.len() + 1).copied()
}

/// The format version in the header of an opened block: the byte after the magic.
pub(crate) fn version(block: &[u8]) -> u8 {
    block.get(MAGIC.len()).copied().unwrap_or(FORMAT_VERSION)
}

/// File, offset, length, kind and version if they can be trusted, failed check, consequence, next command. `start` has
/// at least the header, if there is one; `len` is the length of the file, if it has one.
fn describe(path: &Path, len: Option<u64>, start: &[u8], error: &DecodeError, expected: &Expected) -> String {
    let failed = match *error {
        // `read` has compared the length field; the kind's own payload is shorter by a remapped filter's seed.
        DecodeError::PayloadLength { declared_bytes, actual_bytes } => {
            let stated_bytes = stated_len(start);
            let implied_bytes = declared_bytes.saturating_add(stated_bytes.saturating_sub(actual_bytes));
            format!(
                "the entry count and the parameters imply {implied_bytes} bytes of payload, the length field \
                 {stated_bytes}"
            )
        }
        error => error.to_string(),
    };
    describe_as(&failed, path, len, start, error, expected)
}

fn describe_as(
    failed: &str,
    path: &Path,
    len: Option<u64>,
    start: &[u8],
    error: &DecodeError,
    expected: &Expected,
) -> String {
    let what = located(path, 0, &dimensions(len, start, error), failed);
    // Nothing but its end shows what a set is.
    let of_set = match error {
        DecodeError::Magic { .. } => " If it was a filter set, its end is damaged or missing: restore it from a copy.",
        _ => "",
    };
    format!("{what}. {}{of_set}", consequence(path, start, error, expected))
}

/// The first half of the message: as `t.fb: filter block at offset 0 (4133 bytes, bloom v1): payload digest …`.
pub(crate) fn what_failed(path: &Path, offset: u64, block: &[u8], error: &DecodeError) -> String {
    located(path, offset, &dimensions(Some(block.len() as u64), block, error), &error.to_string())
}

fn located(path: &Path, offset: u64, dimensions: &str, failed: &str) -> String {
    format!("{}: filter block at offset {offset} ({dimensions}): {failed}", path.display())
}

/// Describes a block as in `4133 bytes, bloom v1`, without kind and version unless a checksum covers them.
fn dimensions(len: Option<u64>, start: &[u8], error: &DecodeError) -> String {
    let len = len.map_or_else(|| "of unknown length".to_owned(), |len| format!("{len} bytes"));
    let Some(tag) = trusted_tag(start, error) else {
        return len;
    };
    let kind = BlockKind::from_tag(tag).map_or_else(|| format!("kind {tag}"), |kind| kind.to_string());
    format!("{len}, {kind} v{}", version(start))
}

/// The kind's tag, unless its header failed the check.
fn trusted_tag(bytes: &[u8], error: &DecodeError) -> Option<u8> {
    match error {
        DecodeError::TooShort { .. } | DecodeError::Magic { .. } | DecodeError::HeaderChecksum { .. } => None,
        _ => tag(bytes),
    }
}

/// The advice to replace a block. It is not a command that could be run word for word: it would write over the file,
/// with a seed, a key or a context that lookups do not expect.
pub(crate) const BUILD_AGAIN: &str = "To replace it, build a block from the keys of its table, with the kind, size, \
                                      seed, key and context that it had; `filterblock build --help` lists the flags.";

/// The end of the messages of damaged and of newer filters.
pub(crate) fn ignored(error: &DecodeError) -> String {
    let newer = match error.class() {
        DecodeErrorClass::Newer => {
            format!("A newer filterblock than this {} reads it. ", env!("CARGO_PKG_VERSION"))
        }
        _ => String::new(),
    };
    format!("Filter ignored: lookups stay correct but slower. {newer}{BUILD_AGAIN}")
}

/// The consequence of `error`, and the next step.
pub(crate) fn consequence(path: &Path, start: &[u8], error: &DecodeError, expected: &Expected) -> String {
    if !start.starts_with(&MAGIC) {
        return "It holds no block. Run `filterblock build --help` to see how one is made. If it is a compact frame, which \
                nothing in it shows, inspect, query and verify read it with --compact-frame."
            .to_owned();
    }
    let file = shell_word(path);
    match error.class() {
        DecodeErrorClass::Mismatch => match error {
            DecodeError::WrongContext { found, .. } => {
                let inspect = expected.key.command(format_args!("inspect --context {found:#x} {file}"));
                format!(
                    "Filter ignored: its checksums are right, but it is bound to another number, and nothing else was \
                     checked. If it is the right block, run {inspect}."
                )
            }
            DecodeError::WrongHash { found: 1, .. } => "Filter ignored: its checksums are right, but it was hashed \
                 without a secret key, and nothing else was checked. Leave out --hash-key-file."
                .to_owned(),
            DecodeError::KeyNeeded { .. }
            | DecodeError::WrongSeed { .. }
            | DecodeError::WrongKey { .. }
            | DecodeError::WrongHash { .. } => format!(
                "Filter ignored: its checksums are right, but it was hashed under another key or seed; its structure \
                 and its answers were not checked. If you have its key, run `filterblock inspect{} --hash-key-file KEY \
                 {file}`.",
                expected.context_flag()
            ),
            DecodeError::WrongFamily { .. } => {
                let inspect = expected.command(format_args!("inspect {file}"));
                format!(
                    "It answers for keys, ranges and prefixes, through query, inspect and verify: run {inspect}. For \
                     other uses, build a filter of the same keys, of another kind."
                )
            }
            _ => "Filter ignored: its entries were not made of these keys.".to_owned(),
        },
        _ => ignored(error),
    }
}

/// Returns whether this tool can derive entries from lines.
pub(crate) fn takes_keys(transform: KeyTransform) -> bool {
    !matches!(transform, KeyTransform::Custom(_))
}
