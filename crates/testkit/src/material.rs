//! Shared by several tests: deterministic keys, blocks built from them, hexadecimal, transforms by their ids.

use crate::random::Random;
#[cfg(feature = "std")]
use filterblock::{BuildError, FilterBlockBuilder, FilterKind, FilterPolicy};
use filterblock::{CustomTransform, KeyHash, KeyTransform};

/// A deterministic sequence of well-spread 64-bit numbers.
pub fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || random.next())
}

/// Keys of eight bytes, the same on every machine.
pub fn keys(seed: u64, count: usize) -> Vec<[u8; 8]> {
    numbers(seed).take(count).map(|number| std::array::from_fn(|i| (number >> (8 * i)) as u8)).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal")).collect()
}

/// The transform that a frame or a list states; the library's own conversion is not public.
pub fn transform(id: u64, param: u64) -> KeyTransform {
    let (id, len) = (u8::try_from(id).expect("a byte"), u16::try_from(param).expect("two bytes"));
    match id {
        0 => KeyTransform::WholeKey,
        1 => KeyTransform::Row,
        2 => KeyTransform::RowColumn,
        3 => KeyTransform::FixedPrefix { len },
        4 => KeyTransform::WholeKeyAndPrefix { len },
        5 => KeyTransform::DelimitedPrefix { delimiter: param as u8, levels: (param >> 8) as u8 },
        _ => KeyTransform::Custom(CustomTransform::new(id, len).expect("128 to 255")),
    }
}

/// The entry of transform 5, as section 4.3 has it: the key up to the last of its first `param >> 8` delimiters.
pub fn upto(key: &[u8], param: u16) -> Option<&[u8]> {
    let parts =
        key.split_inclusive(|&byte| u16::from(byte) == param & 255).filter(|part| part.last() == Some(&(param as u8)));
    let len: usize = parts.take((param >> 8).into()).map(<[u8]>::len).sum();
    (len > 0).then(|| &key[..len])
}

/// Policies of legal sizes: bits per key, a rate, a cap.
#[cfg(feature = "std")]
pub fn sized(kind: FilterKind, bits_per_key: f64) -> FilterPolicy {
    FilterPolicy::with_bits_per_key(kind, bits_per_key).expect("legal")
}

#[cfg(feature = "std")]
pub fn rated(kind: FilterKind, rate: f64) -> FilterPolicy {
    FilterPolicy::with_false_positive_rate(kind, rate).expect("legal")
}

#[cfg(feature = "std")]
pub fn capped(kind: FilterKind, max_bytes: u64) -> FilterPolicy {
    FilterPolicy::with_max_bytes(kind, max_bytes).expect("legal")
}

/// The numbers from 0 as keys, in decimal.
#[cfg(feature = "std")]
pub fn decimals(count: u32) -> impl Iterator<Item = String> {
    (0..count).map(|i| i.to_string())
}

/// A builder of `keys`, added in this order.
#[cfg(feature = "std")]
pub fn builder_of(policy: &FilterPolicy, keys: impl IntoIterator<Item = impl AsRef<[u8]>>) -> FilterBlockBuilder {
    let mut builder = FilterBlockBuilder::new(policy);
    keys.into_iter().for_each(|key| builder.add_key(key.as_ref()));
    builder
}

/// A builder of hashes, added in this order.
#[cfg(feature = "std")]
pub fn builder_of_hashes(policy: &FilterPolicy, hashes: impl IntoIterator<Item = u64>) -> FilterBlockBuilder {
    let mut builder = FilterBlockBuilder::new(policy);
    hashes.into_iter().for_each(|hash| builder.add_hash(KeyHash::from_raw(hash)));
    builder
}

/// The block of `hashes`, unchecked.
#[cfg(feature = "std")]
pub fn block_of(policy: FilterPolicy, hashes: &[u64]) -> Vec<u8> {
    let mut builder = builder_of_hashes(&policy.with_self_check(false), hashes.iter().copied());
    builder.allow_empty().finish().expect("a block")
}

/// The compact frame of a builder, which may be empty.
#[cfg(feature = "std")]
pub fn frame_of(builder: &mut FilterBlockBuilder) -> Vec<u8> {
    let mut frame = Vec::new();
    builder.allow_empty().finish_compact_into(&mut frame).expect("a frame");
    frame
}

/// The numbers as hashes.
pub fn hashes(numbers: impl IntoIterator<Item = u64>) -> Vec<KeyHash> {
    numbers.into_iter().map(KeyHash::from_raw).collect()
}

/// The least and the greatest false-positive rate of a kind, which the refusal of any other names.
#[cfg(feature = "std")]
pub fn rate_limits(kind: FilterKind) -> (f64, f64) {
    match FilterPolicy::with_false_positive_rate(kind, 0.0) {
        Err(BuildError::FalsePositiveRate { min, max, .. }) => (min, max),
        other => panic!("{kind}: a rate of 0: {other:?}"),
    }
}
