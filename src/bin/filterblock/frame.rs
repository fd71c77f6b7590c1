//! Files that hold a compact frame, and a filter in either form.

use crate::block;
use crate::exit::{Code, Failure};
use filterblock::{
    CompactFrameReader, DecodeError, FilterBlockReader, FilterKind, KeyHash, KeyHasher, KeyTransform, MAGIC,
};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most that is read: nothing in a frame shows where it ends.
const MAX_BYTES: u64 = 1 << 30;
const NEXT: &str = "Nothing was queried. Run `filterblock build --help` to see how a compact frame is made.";

/// A filter to be queried.
pub(crate) enum Filter<'a> {
    Block(FilterBlockReader<'a>),
    Frame(CompactFrameReader<'a>),
}

/// The same call of both readers.
macro_rules! of_either {
    ($self:ident, $reader:ident => $result:expr) => {
        match $self {
            Self::Block($reader) => $result,
            Self::Frame($reader) => $result,
        }
    };
}

impl Filter<'_> {
    pub(crate) fn transform(&self) -> KeyTransform {
        of_either!(self, reader => reader.transform())
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        of_either!(self, reader => reader.hasher())
    }

    pub(crate) fn may_contain_hash(&self, hash: KeyHash) -> bool {
        of_either!(self, reader => reader.may_contain_hash(hash))
    }

    pub(crate) fn num_probes(&self) -> Option<u32> {
        of_either!(self, reader => reader.num_probes())
    }

    /// Reads the whole payload.
    pub(crate) fn false_positive_rate(&self) -> f64 {
        of_either!(self, reader => reader.false_positive_rate())
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Block(reader) => reader.num_entries() == 0,
            Self::Frame(reader) => reader.kind().is_none(),
        }
    }

    /// A frame without entries names no kind.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Block(reader) => reader.kind().name(),
            Self::Frame(reader) => reader.kind().map_or("none", FilterKind::name),
        }
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failure = |error: io::Error| Failure::io(path, "cannot read", &error, NEXT);
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(failure)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failure(io::Error::other(format!("more than {MAX_BYTES} bytes"))));
    }
    Ok(bytes)
}

/// Opens a file's only frame with what it does not store.
pub(crate) fn open<'a>(
    path: &Path,
    bytes: &'a [u8],
    (hasher, transform): (KeyHasher, KeyTransform),
) -> Result<CompactFrameReader<'a>, Failure> {
    // A block's last bytes might be taken for those of a frame.
    if bytes.starts_with(&MAGIC) {
        let message = format!(
            "{}: begins as a block does, and was not queried. Leave out --compact, and what is given with it.",
            path.display()
        );
        return Err(Failure::new(Code::Usage, message));
    }
    CompactFrameReader::open(bytes, hasher, transform).map_err(|error| Failure::damaged(describe(path, bytes, &error)))
}

fn describe(path: &Path, bytes: &[u8], error: &DecodeError) -> String {
    format!(
        "{}: compact frame at offset 0 ({} bytes): {error}. Filter ignored: lookups stay correct but slower. {}",
        path.display(),
        bytes.len(),
        block::BUILD_AGAIN
    )
}

/// The figures of a frame under their names in JSON.
pub(crate) fn figures(reader: &CompactFrameReader<'_>) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("kind", json!(reader.kind().map(FilterKind::name)));
    for (name, value) in [
        ("num_probes", reader.num_probes()),
        ("num_columns", reader.num_columns()),
        ("thinned_from", reader.thinned_from()),
    ] {
        if let Some(value) = value {
            put(name, json!(value));
        }
    }
    put("predicted_fpr", json!(reader.false_positive_rate()));
    put("frame_len_bytes", json!(reader.frame_len()));
    block::hash_figures(reader.hasher()).into_iter().for_each(|(name, value)| put(name, value));
    put("transform", json!(reader.transform().to_string()));
    put("fill", json!(reader.fill()));
    fields
}
