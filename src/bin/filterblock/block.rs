//! Files that hold a filter block: how one is read and shown, and the message when it is refused.

use crate::exit::Failure;
use crate::expected::Expected;
use crate::output::{self, Output, shell_word};
use filterblock::{
    DecodeError, DecodeErrorClass, FORMAT_VERSION, FilterBlockReader, FilterKind, HEADER_LEN, KeyHasher, KeyTransform,
    MAGIC,
};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

const UNREADABLE: &str = "Nothing was queried or checked. Run `filterblock build --help` to see how a block is made.";
const HEADER_BYTES: u64 = HEADER_LEN as u64;
/// The most that is read from a pipe or a device whose header's checksum is wrong.
const MAX_UNVOUCHED_BYTES: u64 = 1 << 30;
/// Read at a time, so that memory is taken for bytes that are there.
const STEP_BYTES: u64 = 1 << 20;

/// The bytes of the file at `path`, which holds one block as far as its header and its length show: the rest is read
/// only then.
pub(crate) fn read(path: &Path, expected: &Expected) -> Result<Vec<u8>, Failure> {
    let failure = |error: io::Error| Failure::io(path, "cannot read", &error, UNREADABLE);
    if path.is_dir() {
        let stats = expected.key.command(format_args!("stats {}", shell_word(path)));
        let next = format!("Nothing was queried or checked. If it is a store, run {stats}.");
        return Err(Failure::io(path, "cannot read", &io::ErrorKind::IsADirectory.into(), &next));
    }
    let mut file = File::open(path).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    let file_len = metadata.is_file().then_some(metadata.len());
    let mut bytes = Vec::new();
    (&mut file).take(HEADER_BYTES).read_to_end(&mut bytes).map_err(failure)?;
    let refused = |bytes: &[u8], error| Failure::damaged(describe(path, file_len, bytes, &error, expected));
    let declared_bytes = match expected.options().open(&bytes) {
        Err(DecodeError::PayloadLength { declared_bytes, .. }) => Some(declared_bytes),
        Ok(_) | Err(DecodeError::PayloadDigest { .. }) => Some(0),
        Err(error) if error.class() == DecodeErrorClass::Mismatch => Some(0),
        // The payload shows whether the header is damaged or the block belongs to another context. It is read only if
        // it has the length that the header gives, right or not.
        Err(error @ DecodeError::HeaderChecksum { .. }) => {
            let stated = bytes.get(32..40).and_then(|field| field.try_into().ok()).map(u64_from_le);
            if file_len.is_some_and(|len| stated != len.checked_sub(HEADER_BYTES)) {
                return Err(refused(&bytes, error));
            }
            None
        }
        Err(error) => return Err(refused(&bytes, error)),
    };
    let actual_bytes = file_len.map(|len| len.saturating_sub(HEADER_BYTES));
    let rest_bytes = match (declared_bytes, actual_bytes) {
        (Some(declared_bytes), Some(actual_bytes)) if declared_bytes != actual_bytes => {
            return Err(refused(&bytes, DecodeError::PayloadLength { declared_bytes, actual_bytes }));
        }
        (_, Some(actual_bytes)) => actual_bytes,
        // One more shows that there is more.
        (declared_bytes, None) => declared_bytes.map_or(MAX_UNVOUCHED_BYTES, |bytes| bytes.saturating_add(1)),
    };
    let exact = actual_bytes.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    bytes.try_reserve_exact(exact).map_err(|error| failure(error.into()))?;
    read_rest(&mut file, rest_bytes, &mut bytes).map_err(failure)?;
    let actual_bytes = bytes.len() as u64 - HEADER_BYTES;
    match declared_bytes {
        Some(declared_bytes) if declared_bytes != actual_bytes => {
            Err(refused(&bytes[..HEADER_LEN], DecodeError::PayloadLength { declared_bytes, actual_bytes }))
        }
        _ => Ok(bytes),
    }
}

fn u64_from_le(field: [u8; 8]) -> u64 {
    field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Appends at most `most_bytes`.
fn read_rest(file: &mut File, most_bytes: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut left_bytes = most_bytes;
    while left_bytes > 0 {
        let step_bytes = left_bytes.min(STEP_BYTES);
        bytes.try_reserve(step_bytes as usize)?;
        if file.take(step_bytes).read_to_end(bytes)? == 0 {
            break;
        }
        left_bytes -= step_bytes;
    }
    Ok(())
}

/// Opens a file's only block, which [`read`] has read.
pub(crate) fn open<'a>(path: &Path, bytes: &'a [u8], expected: &Expected) -> Result<FilterBlockReader<'a>, Failure> {
    let refused = |error| Failure::damaged(describe(path, Some(bytes.len() as u64), bytes, &error, expected));
    expected.options().open(bytes).map_err(refused)
}

/// The format version in the header of an opened block: the byte after the magic.
pub(crate) fn version(block: &[u8]) -> u8 {
    block.get(MAGIC.len()).copied().unwrap_or(FORMAT_VERSION)
}

/// File, offset, length, kind and version if they can be trusted, failed check, consequence, next command. `start` has
/// at least the header, if there is one; `len` is the length of the file, if it has one.
fn describe(path: &Path, len: Option<u64>, start: &[u8], error: &DecodeError, expected: &Expected) -> String {
    let failed = match *error {
        // `read` gives no more than the header where the length of the rest is wrong.
        DecodeError::PayloadLength { declared_bytes, actual_bytes } if start.len() > HEADER_LEN => format!(
            "the entry count and the parameters imply {declared_bytes} bytes of payload, the length field \
             {actual_bytes}"
        ),
        DecodeError::PayloadLength { declared_bytes, actual_bytes } => {
            format!("the length field declares {declared_bytes} bytes of payload, the file has {actual_bytes}")
        }
        error => error.to_string(),
    };
    let what = located(path, 0, &dimensions(len, start, error), &failed);
    format!("{what}{}. {}", text_mode_note(start, error), consequence(path, start, error, expected))
}

/// The first half of the message: as `t.fb: filter block at offset 0 (4133 bytes, bloom v1): payload digest …`.
pub(crate) fn what_failed(path: &Path, offset: u64, block: &[u8], error: &DecodeError) -> String {
    located(path, offset, &dimensions(Some(block.len() as u64), block, error), &error.to_string())
}

fn located(path: &Path, offset: u64, dimensions: &str, failed: &str) -> String {
    format!("{}: filter block at offset {offset} ({dimensions}): {failed}", path.display())
}

/// As `4133 bytes, bloom v1`; without kind and version unless a checksum covers them.
fn dimensions(len: Option<u64>, start: &[u8], error: &DecodeError) -> String {
    let len = len.map_or_else(|| "of unknown length".to_owned(), |len| format!("{len} bytes"));
    let Some(tag) = trusted_tag(start, error) else {
        return len;
    };
    let kind = FilterKind::from_tag(tag).map_or_else(|| format!("kind {tag}"), |kind| kind.name().to_owned());
    format!("{len}, {kind} v{}", version(start))
}

/// The kind's tag, unless its header failed the check.
fn trusted_tag(bytes: &[u8], error: &DecodeError) -> Option<u8> {
    match error {
        DecodeError::TooShort { .. } | DecodeError::Magic { .. } | DecodeError::HeaderChecksum { .. } => None,
        _ => bytes.get(MAGIC.len() + 1).copied(),
    }
}

/// Whether the magic is as a copy in text mode leaves it: a line end rewritten either way, the upper bit cleared, or
/// the first byte encoded or replaced as UTF-8.
fn mangled_as_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(2 * MAGIC.len())];
    let forms: [&[u8]; 5] = [b"\xf1FBLK\r\r\n", b"\xf1FBLK\n\x1a", b"\x71FBLK", b"\xc3\xb1FBLK", b"\xef\xbf\xbdFBLK"];
    forms.iter().any(|form| start.starts_with(form))
}

fn text_mode_note(bytes: &[u8], error: &DecodeError) -> &'static str {
    match error {
        DecodeError::Magic { .. } | DecodeError::TooShort { .. } if mangled_as_text(bytes) => {
            "; the file was changed by a copy in text mode, which rewrites line ends or characters"
        }
        _ => "",
    }
}

/// How a block is replaced. No command that could be run word for word: it would write over the file, with a seed, a
/// key or a context that lookups do not expect.
pub(crate) const BUILD_AGAIN: &str = "To replace it, build a block from the keys of its table, with the kind, size, \
                                      seed, key and context that it had; `filterblock build --help` lists the flags.";

/// The consequence of `error`, and the next step.
fn consequence(path: &Path, start: &[u8], error: &DecodeError, expected: &Expected) -> String {
    if !start.starts_with(&MAGIC) {
        return "It holds no filter. Run `filterblock build --help` to see how a block is made.".to_owned();
    }
    let file = shell_word(path);
    match error.class() {
        DecodeErrorClass::Damaged => format!("Filter ignored: lookups stay correct but slower. {BUILD_AGAIN}"),
        DecodeErrorClass::Newer => format!(
            "Filter ignored: lookups stay correct but slower. A newer filterblock than this {} reads it. {BUILD_AGAIN}",
            env!("CARGO_PKG_VERSION")
        ),
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
            _ => "Filter ignored: its entries were not made of these keys.".to_owned(),
        },
        _ => "Filter ignored: lookups stay correct but slower.".to_owned(),
    }
}

/// Whether this tool can derive entries from lines.
pub(crate) fn takes_keys(transform: KeyTransform) -> bool {
    !matches!(transform, KeyTransform::Custom(_))
}

/// The figures of a block under their names in JSON.
pub(crate) fn figures(block: &[u8], reader: &FilterBlockReader<'_>) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("kind", json!(reader.kind().name()));
    put("version", json!(version(block)));
    put("num_entries", json!(reader.num_entries()));
    put("bits_per_key", json!(reader.bits_per_key()));
    if let Some(num_probes) = reader.num_probes() {
        put("num_probes", json!(num_probes));
    }
    if let Some(num_columns) = reader.num_columns() {
        put("num_columns", json!(num_columns));
    }
    if let Some(num_columns) = reader.thinned_from() {
        put("thinned_from", json!(num_columns));
    }
    put("predicted_fpr", json!(reader.false_positive_rate()));
    put("block_len_bytes", json!(reader.block_len()));
    hash_figures(reader.hasher()).into_iter().for_each(|(name, value)| put(name, value));
    put("transform", json!(reader.transform().to_string()));
    put("fill", json!(reader.fill()));
    fields
}

/// The hash, and its seed or the id of its secret key.
pub(crate) fn hash_figures(hasher: KeyHasher) -> [(&'static str, Value); 2] {
    let (hash, seed) = if hasher.hash_id() == 1 { ("xxh3-64", "seed") } else { ("siphash-1-3", "hash_key_id") };
    [("hash", json!(hash)), (seed, json!(output::hex(hasher.seed())))]
}

/// Figures for people, a line each.
pub(crate) fn print_figures(out: &mut Output, fields: &Map<String, Value>, indent: &str) -> io::Result<()> {
    for (name, value) in fields {
        let text = match (name.as_str(), value) {
            ("predicted_fpr" | "fill", value) => value.as_f64().map_or_else(String::new, output::rate),
            ("bits_per_key", value) => value.as_f64().map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}")),
            ("thinned_from", value) => format!("{value} columns"),
            (_, Value::String(text)) => text.clone(),
            (_, other) => other.to_string(),
        };
        writeln!(out, "{indent}{name:<20} {text}")?;
    }
    Ok(())
}
