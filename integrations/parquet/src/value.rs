//! Values and their hashes.

use xxhash_rust::xxh64::xxh64;

/// The hash of a value's plain encoding: XXH64 with seed 0. A byte array is hashed without its length.
pub fn hash(plain: &[u8]) -> u64 {
    xxh64(plain, 0)
}

/// A value of a column, by its physical type: what the column stores, not what it means. A `TINYINT` or a date is an
/// `Int32`, a timestamp an `Int64`, a UUID a `FixedLenByteArray`, a decimal any of four. The same number in another type has
/// another hash, and a filter does not know its column's type: probed by it, stored values are denied.
///
/// `BOOLEAN` is missing: its plain encoding has one bit a value, and its two values need no filter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// `INT32`.
    Int32(i32),
    /// `INT64`.
    Int64(i64),
    /// `INT96`, the least significant word first.
    Int96([u32; 3]),
    /// `FLOAT`.
    Float(f32),
    /// `DOUBLE`.
    Double(f64),
    /// A `FIXED_LEN_BYTE_ARRAY` of the logical type `FLOAT16`: the bits of a half-precision number.
    Float16(u16),
    /// `BYTE_ARRAY`, without its length.
    ByteArray(&'a [u8]),
    /// `FIXED_LEN_BYTE_ARRAY`.
    FixedLenByteArray(&'a [u8]),
}

impl Value<'_> {
    /// The hash of exactly this value's bits. [`SplitBlockFilter::insert`](crate::SplitBlockFilter::insert) and
    /// [`may_contain`](crate::SplitBlockFilter::may_contain) also know which values are equal to it.
    pub fn hash(self) -> u64 {
        match self {
            Self::Int32(value) => hash(&value.to_le_bytes()),
            Self::Int64(value) => hash(&value.to_le_bytes()),
            Self::Int96(words) => {
                let mut plain = [0; 12];
                for (bytes, word) in plain.chunks_exact_mut(4).zip(words) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
                hash(&plain)
            }
            Self::Float(value) => hash(&value.to_le_bytes()),
            Self::Double(value) => hash(&value.to_le_bytes()),
            Self::Float16(bits) => hash(&bits.to_le_bytes()),
            Self::ByteArray(bytes) | Self::FixedLenByteArray(bytes) => hash(bytes),
        }
    }

    /// Returns the other value that is equal to this one but has other bits: zero with the other sign.
    pub(crate) fn equal(self) -> Option<Self> {
        match self {
            Self::Float(value) if value == 0.0 => Some(Self::Float(-value)),
            Self::Double(value) if value == 0.0 => Some(Self::Double(-value)),
            Self::Float16(bits @ (0 | 0x8000)) => Some(Self::Float16(bits ^ 0x8000)),
            _ => None,
        }
    }

    /// Returns whether values that are equal to this one may have any of many bits.
    pub(crate) fn is_nan(self) -> bool {
        match self {
            Self::Float(value) => value.is_nan(),
            Self::Double(value) => value.is_nan(),
            Self::Float16(bits) => bits & 0x7fff > 0x7c00,
            _ => false,
        }
    }
}
