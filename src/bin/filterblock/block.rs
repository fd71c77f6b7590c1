//! Files that hold a filter block: how one is read and shown, and the message when it is refused.

use crate::exit::Failure;
use crate::output::{self, Output};
use filterblock::{
    DecodeError, DecodeErrorClass, FORMAT_VERSION, FilterBlockReader, FilterKind, KeyTransform, MAGIC, OpenOptions,
};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::Path;

const UNREADABLE: &str = "Nothing was queried or checked. Run 'filterblock build --help' to see how a block is made.";

/// The bytes of the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::io(path, "cannot read", &error, UNREADABLE))
}

/// Opens a file's only block.
pub(crate) fn open<'a>(path: &Path, bytes: &'a [u8], options: OpenOptions) -> Result<FilterBlockReader<'a>, Failure> {
    options.open(bytes).map_err(|error| Failure::damaged(describe(path, bytes, &error)))
}

/// The format version in the header of an opened block: the byte after the magic.
pub(crate) fn version(block: &[u8]) -> u8 {
    block.get(MAGIC.len()).copied().unwrap_or(FORMAT_VERSION)
}

/// File, offset, length, kind and version if they can be trusted, failed check, consequence, next command.
fn describe(path: &Path, bytes: &[u8], error: &DecodeError) -> String {
    let what = what_failed(path, 0, bytes, error);
    format!("{what}{}. {}", text_mode_note(bytes, error), consequence(path, bytes, error))
}

/// The first half of the message: as `t.fb: filter block at offset 0 (4133 bytes, bloom v1): payload digest …`.
pub(crate) fn what_failed(path: &Path, offset: u64, block: &[u8], error: &DecodeError) -> String {
    format!("{}: filter block at offset {offset} ({}): {error}", path.display(), dimensions(block, error))
}

/// As `4133 bytes, bloom v1`; without kind and version unless a checksum covers them.
fn dimensions(bytes: &[u8], error: &DecodeError) -> String {
    let len = bytes.len();
    let Some(tag) = trusted_tag(bytes, error) else {
        return format!("{len} bytes");
    };
    let kind = FilterKind::from_tag(tag).map_or_else(|| format!("kind {tag}"), |kind| kind.name().to_owned());
    format!("{len} bytes, {kind} v{}", version(bytes))
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

/// Whether the magic's letters are near the start, perhaps among bytes that a copy as text has changed.
fn looks_like_a_block(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(2 * MAGIC.len())];
    start.windows(4).any(|window| window == &MAGIC[1..5])
}

fn text_mode_note(bytes: &[u8], error: &DecodeError) -> &'static str {
    match error {
        DecodeError::Magic { .. } | DecodeError::TooShort { .. } if mangled_as_text(bytes) => {
            "; the file was changed by a copy in text mode, which rewrites line ends or characters"
        }
        _ => "",
    }
}

/// The consequence of `error`, and the next command.
fn consequence(path: &Path, bytes: &[u8], error: &DecodeError) -> String {
    let file = shell_word(path);
    if matches!(error, DecodeError::Magic { .. }) && !looks_like_a_block(bytes) {
        // Probably not a filter block at all: following the advice must never overwrite the file.
        return "It holds no filter. Run 'filterblock build --help' to see how a block is made.".to_owned();
    }
    let kind = trusted_tag(bytes, error).and_then(FilterKind::from_tag).unwrap_or_default();
    let rebuild = format!("'filterblock build --kind {kind} --output {file} KEYS'");
    match error.class() {
        DecodeErrorClass::Damaged => format!("Filter ignored: lookups stay correct but slower. Run {rebuild}."),
        DecodeErrorClass::Newer => format!(
            "Filter ignored: lookups stay correct but slower. Read it with a newer filterblock than this {}, or run \
             {rebuild}.",
            env!("CARGO_PKG_VERSION")
        ),
        DecodeErrorClass::Mismatch => match error {
            DecodeError::WrongContext { found, .. } => format!(
                "Filter ignored: it is intact, but bound to another number. If it is the right block, run 'filterblock \
                 inspect --context {found:#x} {file}'."
            ),
            DecodeError::KeyNeeded { .. } | DecodeError::WrongSeed { .. } | DecodeError::WrongHash { .. } => format!(
                "Filter ignored: it is intact, but was hashed with another key or seed. If you have its key, run \
                 'filterblock inspect --hash-key-file KEY {file}'."
            ),
            _ => format!("Filter ignored: it is intact, but was not built from these keys. Run {rebuild}."),
        },
        _ => "Filter ignored: lookups stay correct but slower.".to_owned(),
    }
}

/// `path` as one word of a shell's command line.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    // Only a NUL cannot be quoted, and no path has one.
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), |word| word.into_owned())
}

/// Refuses blocks whose entries cannot be derived from a key alone.
pub(crate) fn require_keys(path: &Path, reader: &FilterBlockReader<'_>) -> Result<(), Failure> {
    let transform = reader.transform();
    match transform {
        KeyTransform::WholeKey | KeyTransform::Row | KeyTransform::FixedPrefix { .. } => Ok(()),
        _ => Err(Failure::damaged(format!(
            "{}: filter block at offset 0 ({} bytes): its entries were derived by the transform {transform}, which \
             needs more than a key. No key was queried. Run 'filterblock inspect {}'.",
            path.display(),
            reader.block_len(),
            shell_word(path)
        ))),
    }
}

/// The figures of a block under their names in JSON.
pub(crate) fn figures(block: &[u8], reader: &FilterBlockReader<'_>) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("kind", json!(reader.kind().name()));
    put("version", json!(version(block)));
    put("num_entries", json!(reader.num_entries()));
    put("bits_per_key", json!(reader.bits_per_key()));
    if let Some(num_probes) = reader.num_probes() {
        put("num_probes", json!(num_probes));
    }
    put("predicted_fpr", json!(reader.false_positive_rate()));
    put("block_len_bytes", json!(reader.block_len()));
    let hasher = reader.hasher();
    let (hash, seed) = if hasher.hash_id() == 1 { ("xxh3-64", "seed") } else { ("siphash-1-3", "hash_key_id") };
    put("hash", json!(hash));
    put(seed, json!(output::hex(hasher.seed())));
    put("transform", json!(reader.transform().to_string()));
    put("fill", json!(reader.fill()));
    fields
}

/// Figures for people, a line each.
pub(crate) fn print_figures(out: &mut Output, fields: &Map<String, Value>, indent: &str) -> io::Result<()> {
    for (name, value) in fields {
        let text = match (name.as_str(), value) {
            ("predicted_fpr" | "fill", value) => value.as_f64().map_or_else(String::new, output::rate),
            ("bits_per_key", value) => value.as_f64().map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}")),
            (_, Value::String(text)) => text.clone(),
            (_, other) => other.to_string(),
        };
        writeln!(out, "{indent}{name:<20} {text}")?;
    }
    Ok(())
}
