//! Keys and bounds in the order of bytes, from what engines have.
//!
//! A range filter compares keys as byte strings. Where the engine's own order is another, keys and bounds must be made
//! of bytes that have it, in the same way when keys are added and when ranges are queried: otherwise stored keys are
//! denied. These functions do so for usual orders.
//!
//! ```
//! use filterblock::OpenOptions;
//! use filterblock::range::{RangeFilterBuilder, RangePolicy, order};
//! use std::ops::Bound::Included;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = |degrees: i32| order::signed(degrees.to_be_bytes());
//! let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(20.0)?);
//! (-1000..1000).for_each(|i| builder.add_key(&key(i * 1_000_000)));
//! let filter = OpenOptions::new().open_ranges(builder.finish()?)?;
//! assert!(filter.may_contain_range(Included(&key(-1_000)), Included(&key(1_000))));
//! assert!(!filter.may_contain_range(Included(&key(-700_000)), Included(&key(-400_000))));
//! # Ok(())
//! # }
//! ```

use core::ops::Bound;
#[cfg(feature = "std")]
use std::vec::Vec;

/// The length of the trailer of an internal key: sequence number and type.
const TRAILER_LEN: usize = 8;

/// Returns whether the bounds are in order, as are those of every scan that can find a key: one of them is unbounded,
/// or the lower one is below the upper one, or both include the same key. Filters answer *maybe* for all other bounds,
/// which are a mistake of the caller, such as the swapped bounds of a descending scan.
///
/// ```
/// use filterblock::range::are_ordered;
/// use std::ops::Bound::{Excluded, Included, Unbounded};
///
/// assert!(are_ordered(Included(b"a"), Excluded(b"b")) && are_ordered(Included(b"a"), Included(b"a")));
/// assert!(are_ordered(Excluded(b"b"), Unbounded));
/// assert!(!are_ordered(Included(b"b"), Included(b"a")) && !are_ordered(Included(b"a"), Excluded(b"a")));
/// ```
#[must_use]
#[inline]
pub fn are_ordered(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(lower), Bound::Included(upper)) => lower <= upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower < upper
        }
    }
}

/// Returns bytes whose order is that of signed integers: those of negative integers are below all others. `bytes` are
/// the integer's own, the most significant first.
///
/// ```
/// use filterblock::range::order::signed;
///
/// assert!(signed((-1i64).to_be_bytes()) < signed(0i64.to_be_bytes()));
/// assert!(signed(i16::MIN.to_be_bytes()) < signed((-2i16).to_be_bytes()));
/// ```
#[must_use]
pub const fn signed<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    if N > 0 {
        bytes[0] ^= 0x80;
    }
    bytes
}

/// Returns the bytes of an integer with the most significant first. `bytes` are those that a little-endian machine
/// stores. For a signed integer, pass the result to [`signed`].
///
/// ```
/// use filterblock::range::order::{little_endian, signed};
///
/// assert!(little_endian(255u32.to_le_bytes()) < little_endian(256u32.to_le_bytes()));
/// assert!(signed(little_endian((-5i32).to_le_bytes())) < signed(little_endian(3i32.to_le_bytes())));
/// ```
#[must_use]
pub const fn little_endian<const N: usize>(bytes: [u8; N]) -> [u8; N] {
    let (mut reversed, mut at) = ([0; N], 0);
    while at < N {
        reversed[at] = bytes[N - 1 - at];
        at += 1;
    }
    reversed
}

/// Returns the upper bound of all keys that begin with `prefix`, for engines that have no query of prefixes: the least
/// byte string above all of them, excluded, or none if there is no such string, as for `ff ff` and for the empty prefix.
///
/// ```
/// use filterblock::range::order::end_of_prefix;
/// use std::ops::Bound::{Excluded, Unbounded};
///
/// assert_eq!(end_of_prefix(b"user/"), Excluded(b"user0".to_vec()));
/// assert_eq!(end_of_prefix(b"a\xff\xff"), Excluded(b"b".to_vec()));
/// assert_eq!((end_of_prefix(b"\xff"), end_of_prefix(b"")), (Unbounded, Unbounded));
/// ```
#[cfg(feature = "std")]
#[must_use]
pub fn end_of_prefix(prefix: &[u8]) -> Bound<Vec<u8>> {
    match prefix.iter().rposition(|&byte| byte != 0xff) {
        Some(last) => {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            Bound::Excluded(end)
        }
        None => Bound::Unbounded,
    }
}

/// Returns the user key of an internal key, which has a trailer of 8 bytes as in LevelDB and RocksDB, or `None` if it
/// is too short. The trailer orders versions from new to old, and is not part of what is added to a filter.
///
/// ```
/// use filterblock::range::order::user_key;
///
/// assert_eq!(user_key(b"key\x01\x07\0\0\0\0\0\0"), Some(&b"key"[..]));
/// assert_eq!(user_key(b"key"), None);
/// ```
#[must_use]
pub const fn user_key(internal: &[u8]) -> Option<&[u8]> {
    match internal.split_last_chunk::<TRAILER_LEN>() {
        Some((key, _)) => Some(key),
        None => None,
    }
}

/// Returns the bound for user's keys of a bound of internal keys. It includes the key, whose other versions may lie on
/// the scan's side of an excluded one; a key that is too short gives no bound.
///
/// ```
/// use filterblock::range::order::user_bound;
/// use std::ops::Bound::{Excluded, Included, Unbounded};
///
/// assert_eq!(user_bound(Excluded(b"key\x01\x07\0\0\0\0\0\0")), Included(&b"key"[..]));
/// assert_eq!((user_bound(Unbounded), user_bound(Included(b"key"))), (Unbounded, Unbounded));
/// ```
#[must_use]
pub fn user_bound(internal: Bound<&[u8]>) -> Bound<&[u8]> {
    match internal {
        Bound::Included(key) | Bound::Excluded(key) => user_key(key).map_or(Bound::Unbounded, Bound::Included),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// Returns the lower and the upper bound of a descending scan, which begins at `start`, its greatest key, and ends at
/// `end`.
///
/// ```
/// use filterblock::range::{are_ordered, order};
/// use std::ops::Bound::{Excluded, Included};
///
/// let (lower, upper) = order::of_descending(Included(b"m"), Excluded(b"c"));
/// assert_eq!((lower, upper), (Excluded(&b"c"[..]), Included(&b"m"[..])));
/// assert!(are_ordered(lower, upper));
/// ```
#[must_use]
pub const fn of_descending<'a>(start: Bound<&'a [u8]>, end: Bound<&'a [u8]>) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    (end, start)
}
