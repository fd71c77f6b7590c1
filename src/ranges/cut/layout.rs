//! The parameters of a payload, and the places of its parts.
//!
//! The payload has the table's common prefix, the table of the byte code if there is one, and a stream of bits: the
//! first leaf's, and the groups of all levels, from the root, which is one group, to the leaves. A group of a level has
//! 64 groups of the next below it, one for each of its entries; an entry is the first leaf below it.

#[cfg(feature = "std")]
use super::bits::Bits;
use super::bits::{MAX_DEPTH, Stored};
#[cfg(feature = "std")]
use super::code::Side;
use super::code::{ByteCode, MAX_LEN, TABLE_LEN};
use crate::bits;
use crate::bytes;
use crate::error::DecodeError;
use crate::frame::{PARAMS_AT, PARAMS_LEN};

/// The number of entries of a group; the last group of a level may have fewer.
pub(crate) const GROUP_LEN: u64 = 64;
/// The levels of 2³² leaves.
pub(crate) const MAX_LEVELS: usize = 6;

/// The width of the first leaf's length in bits, which precedes its bits.
pub(crate) const FIRST_LEN_BITS: u32 = 16;

/// The width of the least number of kept bits; the rest of its two bytes is the number of longer entries.
const LEAST_BITS: u32 = 10;

/// The bits of byte 1 that a later version may use.
const RESERVED: u8 = 0b1100;

/// The parameters that the header stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    /// The number of bits that are kept after the bits that distinguish a leaf from its neighbours.
    pub(crate) extra: u8,
    /// Whether there is a table of the byte code.
    pub(crate) has_table: bool,
    /// Whether some leaves have several keys, so that there is a bit for each.
    pub(crate) has_joined: bool,
    /// The number of bits of the end of a key in a byte code with a table; 0 if it has none.
    pub(crate) end_len: u8,
    /// The least number of bits that are kept of a leaf, at most [`MAX_DEPTH`].
    pub(crate) least: u16,
    /// The first `longer` entries of each group keep at least `least + 1` bits; below [`GROUP_LEN`].
    pub(crate) longer: u16,
    /// The greatest number of bits that are kept of a leaf.
    pub(crate) depth: u16,
    /// The number of bytes that all keys begin with.
    pub(crate) prefix_len: u16,
    /// At least 1.
    pub(crate) num_leaves: u32,
}

impl Params {
    #[cfg(feature = "std")]
    pub(crate) fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        out[0] = self.extra;
        out[1] = u8::from(self.has_table) | u8::from(self.has_joined) << 1 | self.end_len << 4;
        bytes::put_u16(&mut out, 2, self.least | self.longer << LEAST_BITS);
        bytes::put_u16(&mut out, 4, self.depth);
        bytes::put_u16(&mut out, 6, self.prefix_len);
        bytes::put_u32(&mut out, 8, self.num_leaves);
        out
    }

    /// Returns the parameters except the length of the prefix and the number of leaves, with their names.
    pub(crate) fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("extra", self.extra.into()),
            ("has_table", self.has_table.into()),
            ("has_joined", self.has_joined.into()),
            ("end_len", self.end_len.into()),
            ("least", self.least.into()),
            ("longer", self.longer.into()),
            ("depth", self.depth.into()),
        ]
    }

    /// Reads the parameters of a filter of `num_entries` keys, at least 1.
    pub(crate) fn decode(stored: &[u8; PARAMS_LEN], num_entries: u64) -> Result<Self, DecodeError> {
        let params = Self {
            extra: stored[0],
            has_table: stored[1] & 1 != 0,
            has_joined: stored[1] & 2 != 0,
            end_len: stored[1] >> 4,
            least: bytes::u16_at(stored, 2) & MAX_DEPTH as u16,
            longer: bytes::u16_at(stored, 2) >> LEAST_BITS,
            depth: bytes::u16_at(stored, 4),
            prefix_len: bytes::u16_at(stored, 6),
            num_leaves: bytes::u32_at(stored, 8),
        };
        if stored[1] & RESERVED != 0 {
            return Err(DecodeError::Reserved { offset_bytes: PARAMS_AT as u64 + 1, found: stored[1] });
        }
        let check = |name, value: u64, min: u64, max: u64| match (min..=max).contains(&value) {
            true => Ok(()),
            false => Err(DecodeError::Parameter { name, value, min, max }),
        };
        let end_max = if params.has_table { MAX_LEN } else { 0 };
        check("end_len", params.end_len.into(), 0, end_max.into())?;
        check("depth", params.depth.into(), 0, MAX_DEPTH.into())?;
        check("least", params.least.into(), 0, params.depth.into())?;
        check("extra", params.extra.into(), 0, params.depth.into())?;
        check("num_leaves", params.num_leaves.into(), 1, num_entries)?;
        Ok(params)
    }

    /// Fills in at least the first `depth` bits of `key` after the prefix, which it has. (Bits by value would take a
    /// sixth of a build's time.)
    #[cfg(feature = "std")]
    pub(crate) fn encode_key(&self, code: &ByteCode, key: &[u8], bits: &mut Bits) {
        code.encode(&key[usize::from(self.prefix_len)..], self.depth.into(), Side::Lower, bits);
    }
}

/// The number of entries of each level, from the leaves on, and the number of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Levels {
    lens: [u64; MAX_LEVELS],
    pub(crate) num: usize,
}

impl Levels {
    /// Returns the levels above `num_leaves` leaves, and their own.
    pub(crate) fn of(num_leaves: u64) -> Self {
        let mut levels = Self { lens: [num_leaves; MAX_LEVELS], num: 1 };
        while levels.lens[levels.num - 1] > GROUP_LEN && levels.num < MAX_LEVELS {
            levels.lens[levels.num] = levels.lens[levels.num - 1].div_ceil(GROUP_LEN);
            levels.num += 1;
        }
        levels
    }

    /// Returns the number of entries of `level`.
    #[cfg(feature = "std")]
    pub(crate) fn len(&self, level: usize) -> u64 {
        self.lens[level]
    }

    /// Returns the number of entries of a group of `level`; 0 if there is no such group.
    #[inline]
    pub(crate) fn len_of_group(&self, level: usize, group: u64) -> u32 {
        self.lens[level].saturating_sub(group.saturating_mul(GROUP_LEN)).min(GROUP_LEN) as u32
    }
}

/// All that is known of a payload without reading a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) params: Params,
    pub(crate) levels: Levels,
    pub(crate) code: ByteCode,
    /// The offset of the first leaf's bits, and their number.
    first: u64,
    first_len: u32,
    /// The place of the root, in bytes.
    pub(crate) root: u64,
}

impl Layout {
    /// Reads what precedes the groups. They are not checked: a search of any bytes ends, and takes those past the end
    /// of `payload` as zeros.
    pub(crate) fn check(params: Params, payload: &[u8]) -> Result<Self, DecodeError> {
        let prefix_len = usize::from(params.prefix_len);
        let table_len = if params.has_table { TABLE_LEN } else { 0 };
        let stream = prefix_len + table_len;
        let first_len_at = stream as u64 * 8;
        let first = first_len_at + u64::from(FIRST_LEN_BITS);
        let first_len = bits::read(payload, first_len_at, FIRST_LEN_BITS) as u32;
        let (root, actual_bytes) = ((first + u64::from(first_len)).div_ceil(8), payload.len() as u64);
        if actual_bytes < root {
            return Err(DecodeError::PayloadLength { declared_bytes: root, actual_bytes });
        }
        let max = u64::from(params.depth);
        if u64::from(first_len) > max {
            return Err(DecodeError::Parameter { name: "first_len", value: first_len.into(), min: 0, max });
        }
        let code = match params.has_table {
            true => ByteCode::decode(&payload[prefix_len..stream], params.end_len)?,
            false => ByteCode::plain(),
        };
        Ok(Self { params, levels: Levels::of(params.num_leaves.into()), code, first, first_len, root })
    }

    /// Returns the bits of the first leaf, which are stored whole.
    #[inline(always)]
    pub(crate) fn first_leaf(&self) -> Stored {
        Stored { offset: self.first, from: 0, end: self.first_len, zero: None }
    }

    /// Returns the prefix that all keys have.
    #[inline]
    pub(crate) fn prefix<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        &payload[..usize::from(self.params.prefix_len)]
    }
}
