//! The checks that format-spec.md requires of a reader, in the order of its tables: section 11 for blocks, 16 for range
//! filters, 15.4 for the indexes of partitioned filters, 10 for compact frames. Each row of a table is a check by itself, which does not
//! rely on those before it, and which names the error. Shares only XXH3 with the library.

mod compact;
mod params;
mod ranges;

pub use compact::compact_fault;
pub use ranges::OF_RANGES;

use self::params::Params;
use crate::assembled::masked_crc;
use crate::oracle::{int, mix};
use filterblock::{DecodeError, FilterKind, KeyHasher, TransformId};

pub const HEADER_LEN: usize = 64;
const PARAMS_AT: usize = 40;
pub const DIGEST_AT: usize = 52;
pub const CRC_AT: usize = 60;

/// What a caller states about a block or an index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller {
    pub context: u64,
    pub trusted: bool,
    /// The id of the hash function, and a seed or a key's id.
    pub hash: Option<(u8, u64)>,
    pub transform: Option<TransformId>,
}

/// A block or an index. The bytes that a cut header lacks count as zeros.
pub struct Frame<'a> {
    len: usize,
    header: [u8; HEADER_LEN],
    payload: &'a [u8],
    caller: Caller,
}

type Checked = Result<(), DecodeError>;

/// A row's name and its check.
pub type Row = (&'static str, fn(&Frame<'_>) -> Checked);

pub const OF_BLOCKS: [Row; 19] = [
    ("length", length),
    ("magic", |frame| magic(frame, b"\xf1FBLK\r\n\x1a")),
    ("crc", crc),
    ("version", version),
    ("kind", kind),
    ("hash_id", hash_id),
    ("features", |frame| features(frame, 0xfe00)),
    ("transform", transform),
    ("payload_len", payload_len),
    ("digest", digest),
    ("expected", expected),
    ("key", key),
    ("estimate", estimate),
    ("remapped", remapped),
    ("empty-len", |frame| if frame.has_entries() { Ok(()) } else { length_is(0, frame.payload) }),
    ("empty-params", |frame| if frame.has_entries() { Ok(()) } else { zero(frame, PARAMS_AT..DIGEST_AT) }),
    ("reserved", reserved),
    ("range", |frame| if frame.has_entries() { range(frame) } else { Ok(()) }),
    ("unused", |frame| if frame.has_entries() { Params::of(frame).unused(frame.own(), 64) } else { Ok(()) }),
];

pub const OF_INDEXES: [Row; 17] = [
    ("length", length),
    ("magic", |frame| magic(frame, b"\xf2FBLI\r\n\x1a")),
    ("crc", crc),
    ("version", version),
    ("kind", |frame| kind_of_index(frame, 0, 6)),
    ("hash_id", hash_id),
    ("features", |frame| features(frame, 0xff00)),
    ("transform", transform),
    ("reserved", |frame| zero(frame, 44..52)),
    ("payload_len", payload_len),
    ("digest", digest),
    ("expected", expected),
    ("key", key),
    ("records", |frame| in_range("num_partitions", frame.num_partitions(), 0, frame.payload.len() as u64 / 16)),
    ("entries", |frame| {
        let (num_entries, least) = (int(&frame.header[24..32]), frame.num_partitions());
        in_range("num_entries", num_entries, least, if least == 0 { 0 } else { u64::MAX })
    }),
    ("record", record),
    ("order", order),
];

/// Of an index of range filters, section 15.5: its kind is another.
pub const OF_RANGE_INDEXES: [Row; 17] = {
    let mut rows = OF_INDEXES;
    rows[4].1 = |frame| kind_of_index(frame, 6, 0);
    rows
};

/// The first row that fails, and its error.
pub fn first_fault(rows: &[Row], frame: &Frame<'_>) -> Result<(), (&'static str, DecodeError)> {
    rows.iter().try_for_each(|(name, check)| check(frame).map_err(|error| (*name, error)))
}

/// The required result of opening `block`.
pub fn verdict(block: &[u8], caller: Caller) -> Checked {
    first_fault(&OF_BLOCKS, &Frame::new(block, caller)).map_err(|(_, error)| error)
}

/// The class of an error, by the columns of the tables.
pub fn class_of(error: &DecodeError) -> &'static str {
    use DecodeError as E;
    match error {
        E::NewerVersion { .. } | E::UnknownKind { .. } | E::UnknownHash { .. } | E::Reserved { .. } => "newer",
        E::UnknownFeatures { .. } | E::UnknownTransform { .. } => "newer",
        E::WrongContext { .. } | E::WrongHash { .. } | E::WrongSeed { .. } | E::WrongKey { .. } => "mismatch",
        E::WrongTransform { .. } | E::KeyNeeded { .. } | E::WrongFamily { .. } => "mismatch",
        _ => "damaged",
    }
}

/// The inverse of `mix`, section 4.2.
pub fn unmix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0x9cb4_b2f8_1293_37db);
    z = (z ^ (z >> 33)).wrapping_mul(0x4f74_430c_22a5_4005);
    z ^ (z >> 33)
}

impl<'a> Frame<'a> {
    pub fn new(bytes: &'a [u8], caller: Caller) -> Self {
        let mut header = [0; HEADER_LEN];
        let start = bytes.len().min(HEADER_LEN);
        header[..start].copy_from_slice(&bytes[..start]);
        Self { len: bytes.len(), header, payload: &bytes[start..], caller }
    }

    fn has_entries(&self) -> bool {
        self.header[24..32] != [0; 8]
    }

    pub fn hash_id(&self) -> u8 {
        self.header[10]
    }

    pub fn seed(&self) -> u64 {
        int(&self.header[16..24])
    }

    pub fn transform(&self) -> TransformId {
        TransformId { id: self.header[11], param: int(&self.header[14..16]) as u16 }
    }

    fn is_remapped(&self) -> bool {
        self.header[13] & 1 == 1
    }

    /// The payload without the seed of a remapped set.
    fn own(&self) -> &'a [u8] {
        without_seed(self.payload, self.is_remapped()).unwrap_or_default()
    }

    fn num_partitions(&self) -> u64 {
        int(&self.header[40..44])
    }

    /// The records of an index: offset, length, end of the separator.
    fn records(&self) -> Vec<[u64; 3]> {
        let record = |bytes: &[u8]| [int(&bytes[..8]), int(&bytes[8..12]), int(&bytes[12..])];
        self.payload.chunks_exact(16).take(self.num_partitions() as usize).map(record).collect()
    }
}

fn length(frame: &Frame<'_>) -> Checked {
    let actual_bytes = frame.len as u64;
    if frame.len < HEADER_LEN { Err(DecodeError::TooShort { actual_bytes, min_bytes: 64 }) } else { Ok(()) }
}

fn magic(frame: &Frame<'_>, magic: &[u8; 8]) -> Checked {
    let found = int(&frame.header[..8]);
    if frame.header[..8] != *magic { Err(DecodeError::Magic { found }) } else { Ok(()) }
}

fn crc(frame: &Frame<'_>) -> Checked {
    let (m, stored) = (mix(frame.caller.context) as u32, int(&frame.header[CRC_AT..]) as u32);
    let unbound = masked_crc(&frame.header[..CRC_AT]);
    if stored == unbound ^ m {
        return Ok(());
    }
    let other = int(&frame.header[DIGEST_AT..CRC_AT]) ^ KeyHasher::new(0).hash(frame.payload).get();
    if other as u32 == stored ^ unbound {
        return Err(DecodeError::WrongContext { expected: frame.caller.context, found: unmix(other) });
    }
    Err(DecodeError::HeaderChecksum { stored, computed: unbound ^ m })
}

fn version(frame: &Frame<'_>) -> Checked {
    match frame.header[8] {
        0 => in_range("version", 0, 1, 1),
        1 => Ok(()),
        found => Err(DecodeError::NewerVersion { found, supported: 1 }),
    }
}

fn kind(frame: &Frame<'_>) -> Checked {
    let found = frame.header[9];
    match found {
        1..=5 => Ok(()),
        6 => Err(DecodeError::WrongFamily { found }),
        found => Err(DecodeError::UnknownKind { found }),
    }
}

/// `own` are filters of this family, and `other` those of the other.
fn kind_of_index(frame: &Frame<'_>, own: u8, other: u8) -> Checked {
    match frame.header[9] {
        found if found == own => Ok(()),
        found if found == other => Err(DecodeError::WrongFamily { found }),
        found => Err(DecodeError::UnknownKind { found }),
    }
}

fn hash_id(frame: &Frame<'_>) -> Checked {
    let found = frame.hash_id();
    if [1, 2].contains(&found) { Ok(()) } else { Err(DecodeError::UnknownHash { found }) }
}

/// `refused` are the bits that must be understood and are not known.
fn features(frame: &Frame<'_>, refused: u16) -> Checked {
    let bits = int(&frame.header[12..14]) as u16 & refused;
    if bits == 0 { Ok(()) } else { Err(DecodeError::UnknownFeatures { bits }) }
}

fn transform(frame: &Frame<'_>) -> Checked {
    match frame.header[11] {
        0..=2 => zero(frame, 14..16),
        found @ 6..=127 => Err(DecodeError::UnknownTransform { found }),
        _ => Ok(()),
    }
}

fn payload_len(frame: &Frame<'_>) -> Checked {
    length_is(int(&frame.header[32..40]), frame.payload)
}

fn digest(frame: &Frame<'_>) -> Checked {
    let stored = int(&frame.header[DIGEST_AT..CRC_AT]);
    let computed = KeyHasher::new(0).hash(frame.payload).get() ^ mix(frame.caller.context);
    let is_right = frame.caller.trusted || stored == computed;
    if is_right { Ok(()) } else { Err(DecodeError::PayloadDigest { stored, computed }) }
}

fn expected(frame: &Frame<'_>) -> Checked {
    let (hash_id, found) = (frame.hash_id(), frame.seed());
    if let Some((expected_id, expected)) = frame.caller.hash {
        match (expected_id, hash_id) {
            (expected, found) if expected != found => return Err(DecodeError::WrongHash { expected, found }),
            (1, _) if expected != found => return Err(DecodeError::WrongSeed { expected, found }),
            _ if expected != found => return Err(DecodeError::WrongKey { expected, found }),
            _ => {}
        }
    }
    match frame.caller.transform {
        Some(expected) if expected != frame.transform() => {
            Err(DecodeError::WrongTransform { expected, found: frame.transform() })
        }
        _ => Ok(()),
    }
}

fn key(frame: &Frame<'_>) -> Checked {
    let is_needed = frame.hash_id() == 2 && frame.caller.hash.is_none();
    if is_needed { Err(DecodeError::KeyNeeded { key_id: frame.seed() }) } else { Ok(()) }
}

fn estimate(frame: &Frame<'_>) -> Checked {
    let num_entries = int(&frame.header[24..32]);
    if frame.header[12] & 1 == 0 || frame.header[9] == 1 && num_entries > 0 {
        return Ok(());
    }
    let kind = FilterKind::ALL.get(usize::from(frame.header[9]).wrapping_sub(1)).copied();
    Err(DecodeError::MisplacedEstimate { kind: kind.unwrap_or(FilterKind::Fuse), num_entries })
}

fn remapped(frame: &Frame<'_>) -> Checked {
    let num_entries = int(&frame.header[24..32]);
    if !frame.is_remapped() || frame.header[9] >= 3 && num_entries > 0 {
        return Ok(());
    }
    let kind = FilterKind::ALL.get(usize::from(frame.header[9]).wrapping_sub(1)).copied();
    Err(DecodeError::MisplacedSeed { kind: kind.unwrap_or(FilterKind::Fuse), num_entries })
}

fn reserved(frame: &Frame<'_>) -> Checked {
    if !frame.has_entries() {
        return Ok(());
    }
    match frame.header[9] {
        1 => zero(frame, 41..44),
        2 => zero(frame, 42..52),
        3 => zero(frame, 43..44),
        4 => zero(frame, 48..52),
        _ => zero(frame, 43..44).and_then(|()| zero(frame, 48..52)),
    }
}

fn record(frame: &Frame<'_>) -> Checked {
    let records = frame.records();
    let separators_len = (frame.payload.len() - 16 * records.len()) as u64;
    let (mut next, mut separator) = (0, 0);
    for [offset, len, separator_end] in records {
        in_range("offset", offset, next, u64::MAX - len)?;
        in_range("len", len, 64, u32::MAX.into())?;
        in_range("separator_end", separator_end, separator, separators_len)?;
        (next, separator) = (offset + len, separator_end);
    }
    in_range("separator_end", separator, separators_len, separators_len)
}

fn order(frame: &Frame<'_>) -> Checked {
    let records = frame.records();
    let separators = &frame.payload[16 * records.len()..];
    let ends: Vec<usize> = std::iter::once(0).chain(records.iter().map(|record| record[2] as usize)).collect();
    let separator = |i: usize| separators.get(ends[i]..ends[i + 1]).unwrap_or_default();
    match (1..records.len()).find(|&i| separator(i - 1) >= separator(i)) {
        Some(partition) => Err(DecodeError::SeparatorOrder { partition: partition as u32 }),
        None => Ok(()),
    }
}

/// Reserved bytes of a header.
fn zero(frame: &Frame<'_>, mut at: std::ops::Range<usize>) -> Checked {
    match at.find(|&i| frame.header[i] != 0) {
        Some(i) => Err(DecodeError::Reserved { offset_bytes: i as u64, found: frame.header[i] }),
        None => Ok(()),
    }
}

fn in_range(name: &'static str, value: u64, min: u64, max: u64) -> Checked {
    if min <= value && value <= max { Ok(()) } else { Err(DecodeError::Parameter { name, value, min, max }) }
}

fn range(frame: &Frame<'_>) -> Checked {
    Params::of(frame).range(without_seed(frame.payload, frame.is_remapped()))
}

/// What comes before the eight bytes of a seed.
fn without_seed(payload: &[u8], is_remapped: bool) -> Result<&[u8], DecodeError> {
    if !is_remapped {
        return Ok(payload);
    }
    let Some(len) = payload.len().checked_sub(8) else {
        return length_is(8, payload).map(|()| payload);
    };
    in_range("set_seed", int(&payload[len..]), 1, u64::MAX)?;
    Ok(&payload[..len])
}

fn length_is(declared_bytes: u64, payload: &[u8]) -> Checked {
    let actual_bytes = payload.len() as u64;
    match declared_bytes == actual_bytes {
        true => Ok(()),
        false => Err(DecodeError::PayloadLength { declared_bytes, actual_bytes }),
    }
}
