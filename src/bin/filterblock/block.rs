//! Files that hold a filter block: reading one, and saying what is wrong with it.

use crate::exit::Failure;
use filterblock::{
    DecodeError, DecodeErrorClass, FORMAT_VERSION, FilterBlockReader, FilterKind, KeyTransform, MAGIC, OpenOptions,
};
use std::path::Path;

const UNREADABLE: &str = "Nothing was asked or checked. Run 'filterblock build --help' to see how a block is made.";

/// The bytes of the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::io(path, "cannot read", &error, UNREADABLE))
}

/// Opens a file's only block.
pub(crate) fn open<'a>(path: &Path, bytes: &'a [u8], options: OpenOptions) -> Result<FilterBlockReader<'a>, Failure> {
    options.open(bytes).map_err(|error| Failure::damaged(describe(path, bytes, &error)))
}

/// The format version in the header of a block that was opened: the byte behind the magic.
pub(crate) fn version(block: &[u8]) -> u8 {
    block.get(MAGIC.len()).copied().unwrap_or(FORMAT_VERSION)
}

/// File, offset, length, kind and version where they can be trusted, failed check, consequence, next command.
fn describe(path: &Path, bytes: &[u8], error: &DecodeError) -> String {
    let what = what_failed(path, 0, bytes, error);
    format!("{what}{}. {}", text_mode_note(bytes, error), consequence(path, bytes, error))
}

/// The first half of the message: as `t.fb: filter block at offset 0 (4133 bytes, bloom v1): payload digest …`.
pub(crate) fn what_failed(path: &Path, offset: u64, block: &[u8], error: &DecodeError) -> String {
    format!("{}: filter block at offset {offset} ({}): {error}", path.display(), dimensions(block, error))
}

/// As `4133 bytes, bloom v1`; without kind and version where no checksum vouches for them.
fn dimensions(bytes: &[u8], error: &DecodeError) -> String {
    let len = bytes.len();
    let Some(tag) = trusted_tag(bytes, error) else {
        return format!("{len} bytes");
    };
    let kind = FilterKind::from_tag(tag).map_or_else(|| format!("kind {tag}"), |kind| kind.name().to_owned());
    format!("{len} bytes, {kind} v{}", version(bytes))
}

/// The kind's tag, unless the header it stands in failed its own check.
fn trusted_tag(bytes: &[u8], error: &DecodeError) -> Option<u8> {
    match error {
        DecodeError::TooShort { .. } | DecodeError::Magic { .. } | DecodeError::HeaderChecksum { .. } => None,
        _ => bytes.get(MAGIC.len() + 1).copied(),
    }
}

/// Whether the magic is as a copy in text mode leaves it: a line end rewritten either way, the upper bit cut off, or its
/// first byte encoded or replaced as UTF-8.
fn mangled_as_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(2 * MAGIC.len())];
    let forms: [&[u8]; 5] = [b"\xf1FBLK\r\r\n", b"\xf1FBLK\n\x1a", b"\x71FBLK", b"\xc3\xb1FBLK", b"\xef\xbf\xbdFBLK"];
    forms.iter().any(|form| start.starts_with(form))
}

/// Whether the magic's letters stand where a block's would, perhaps among bytes that a copy as text has changed.
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

/// What follows from `error`, and the command to run next.
fn consequence(path: &Path, bytes: &[u8], error: &DecodeError) -> String {
    let file = shell_word(path);
    if matches!(error, DecodeError::Magic { .. }) && !looks_like_a_block(bytes) {
        // Somebody's file of another kind: no advice here may end in overwriting it.
        return "It tells nothing about any key. Run 'filterblock build --help' to see how a block is made.".to_owned();
    }
    let kind = trusted_tag(bytes, error).and_then(FilterKind::from_tag).unwrap_or(FilterKind::Blocked);
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
                "Filter ignored: it is intact, but belongs to another place. If it is the right one, run 'filterblock \
                 inspect --context {found:#x} {file}'."
            ),
            DecodeError::KeyNeeded { .. } | DecodeError::WrongSeed { .. } | DecodeError::WrongHash { .. } => format!(
                "Filter ignored: it is intact, but was hashed otherwise. If you have its key, run 'filterblock inspect \
                 --hash-key-file KEY {file}'."
            ),
            _ => format!("Filter ignored: it is intact, but not of these keys. Run {rebuild}."),
        },
    }
}

/// `path` as one word of a shell's command line.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    // Only a NUL cannot be quoted, and no path has one.
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), |word| word.into_owned())
}

/// Refuses blocks whose entries cannot be made from a key alone.
pub(crate) fn require_keys(path: &Path, reader: &FilterBlockReader<'_>) -> Result<(), Failure> {
    let transform = reader.transform();
    match transform {
        KeyTransform::WholeKey | KeyTransform::Row | KeyTransform::FixedPrefix { .. } => Ok(()),
        _ => Err(Failure::damaged(format!(
            "{}: filter block at offset 0 ({} bytes): its entries were made by the transform {transform}, and a key \
             alone does not tell which. No key was asked. Run 'filterblock inspect {}'.",
            path.display(),
            reader.block_len(),
            shell_word(path)
        ))),
    }
}
