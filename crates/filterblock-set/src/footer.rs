//! The footer of a set, and what is checked of every number that it or the index states.

use crate::bytes;
use crate::format::{self, FOOTER_LEN, SET_MAGIC, SET_VERSION};
use filterblock::{DecodeError, KeyHasher};

/// The footer's fields, after its checksum and its length were checked.
pub(crate) struct Footer {
    pub(crate) bytes: [u8; FOOTER_LEN],
    pub(crate) index_len: u64,
    /// As the writer knew it.
    pub(crate) data_len: u64,
    /// The bytes of the set beyond those that its writer knew.
    pub(crate) foreign_len: u64,
}

/// Returns the error of a field that is outside its range.
pub(crate) fn range_error(name: &'static str, value: u64, min: u64, max: u64) -> DecodeError {
    DecodeError::Parameter { name, value, min, max }
}

/// Returns `value` if it is in its range.
pub(crate) fn check_range(name: &'static str, value: u64, min: u64, max: u64) -> Result<u64, DecodeError> {
    if (min..=max).contains(&value) { Ok(value) } else { Err(range_error(name, value, min, max)) }
}

/// Checks that the bytes `at` of `frame`, which are reserved, are 0.
pub(crate) fn check_reserved(frame: &[u8], at: impl IntoIterator<Item = usize>) -> Result<(), DecodeError> {
    let changed = at.into_iter().find(|&at| frame[at] != 0);
    changed.map_or(Ok(()), |at| Err(DecodeError::Reserved { offset_bytes: at as u64, found: frame[at] }))
}

impl Footer {
    /// Returns a number that no other set has, nor an earlier state of this one: the hash of all that the footer states.
    pub(crate) fn id(&self) -> u64 {
        KeyHasher::new(0).hash(&self.bytes).get()
    }

    /// Reads the footer at the end of `tail`, the last bytes of a set of `set_len` bytes.
    pub(crate) fn read(tail: &[u8], set_len: u64) -> Result<Self, DecodeError> {
        let Some(&bytes) = tail.last_chunk::<FOOTER_LEN>().filter(|_| set_len >= FOOTER_LEN as u64) else {
            let actual_bytes = set_len.min(tail.len() as u64);
            return Err(DecodeError::TooShort { actual_bytes, min_bytes: FOOTER_LEN as u64 });
        };
        if bytes[..format::VERSION_AT] != SET_MAGIC {
            return Err(DecodeError::Magic { found: bytes::u64_at(&bytes, 0) });
        }
        let (stored, computed) = (bytes::u32_at(&bytes, format::CRC_AT), format::masked_crc(&bytes));
        if stored != computed {
            return Err(DecodeError::HeaderChecksum { stored, computed });
        }
        match bytes[format::VERSION_AT] {
            0 => return Err(range_error("version", 0, 1, SET_VERSION.into())),
            SET_VERSION => {}
            found => return Err(DecodeError::NewerVersion { found, supported: SET_VERSION }),
        }
        if ![1, 2].contains(&bytes[format::HASH_AT]) {
            return Err(DecodeError::UnknownHash { found: bytes[format::HASH_AT] });
        }
        let bits = bytes::u16_at(&bytes, format::FEATURES_AT) & 0xff00;
        if bits != 0 {
            return Err(DecodeError::UnknownFeatures { bits });
        }
        check_reserved(&bytes, format::RESERVED)?;
        let index_len = bytes::u64_at(&bytes, format::INDEX_LEN_AT);
        let data_len = bytes::u64_at(&bytes, format::DATA_LEN_AT);
        let actual_bytes = set_len - FOOTER_LEN as u64;
        let declared_bytes = index_len.saturating_add(data_len);
        match actual_bytes.checked_sub(declared_bytes) {
            Some(foreign_len) => Ok(Self { bytes, index_len, data_len, foreign_len }),
            None => Err(DecodeError::PayloadLength { declared_bytes, actual_bytes }),
        }
    }

    /// Checks the index's digest, and that `expected`, if given, is the hasher of the entries. Returns the hasher.
    pub(crate) fn check(&self, index: &[u8], expected: Option<&KeyHasher>) -> Result<KeyHasher, DecodeError> {
        let (stored, computed) = (bytes::u64_at(&self.bytes, format::DIGEST_AT), format::xxh3(index));
        if stored != computed {
            return Err(DecodeError::PayloadDigest { stored, computed });
        }
        let (id, found) = (self.bytes[format::HASH_AT], bytes::u64_at(&self.bytes, format::SEED_AT));
        match expected {
            Some(hasher) => check_hasher(hasher, id, found).map(|()| hasher.clone()),
            None if id == 1 => Ok(KeyHasher::new(found)),
            None => Err(DecodeError::KeyNeeded { key_id: found }),
        }
    }
}

/// Checks that `expected` has the hash function `id` and the seed `found`, or that this is the id of its secret key.
pub(crate) fn check_hasher(expected: &KeyHasher, id: u8, found: u64) -> Result<(), DecodeError> {
    let (hash_id, expected) = (expected.hash_id(), expected.seed());
    match id {
        _ if hash_id != id => Err(DecodeError::WrongHash { expected: hash_id, found: id }),
        _ if expected == found => Ok(()),
        1 => Err(DecodeError::WrongSeed { expected, found }),
        _ => Err(DecodeError::WrongKey { expected, found }),
    }
}
