//! The bitset: blocks of eight words of 32 bits, in the byte order of the file.

use crate::error::Error;
use crate::sizing::{self, BLOCK_LEN, MAX_LEN};
use crate::value::Value;

/// The bits of a word.
const WORD_BITS: f64 = 32.0;
/// The bytes of a word.
const WORD_LEN: usize = 4;

/// A value sets one bit in each word of its block: the five highest bits of its hash's lower half times the word's
/// salt.
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// A split-block Bloom filter over a bitset of its own or of the caller's, as `&[u8]` of a file in memory.
///
/// Its bytes are always those of the file: nothing is converted when it is opened or exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitBlockFilter<B = Vec<u8>> {
    /// One block or more, and no part of one, as [`from_bitset`](SplitBlockFilter::from_bitset) has checked.
    bitset: B,
}

impl SplitBlockFilter {
    /// An empty filter of the smallest power of two of bytes that lets absent values pass at `rate` at most, once it
    /// has `num_values` distinct values.
    ///
    /// The format permits other lengths, and [`sizing::len_for_rate`] has the least of them, down to half as long. But
    /// Arrow C++ and what derives from it accept powers of two only, and up to 128 MiB: they reject the filter, or the
    /// query.
    pub fn with_rate(num_values: u64, rate: f64) -> Result<Self, Error> {
        Self::with_len(sizing::len_for_rate(num_values, rate)?.next_power_of_two())
    }

    /// An empty filter of `num_bytes`, which is a multiple of 32, at most 128 MiB. Some readers require a power of two.
    pub fn with_len(num_bytes: usize) -> Result<Self, Error> {
        if num_bytes > MAX_LEN || !is_bitset_len(num_bytes) {
            return Err(Error::Length { len: i64::try_from(num_bytes).unwrap_or(i64::MAX) });
        }
        Ok(Self { bitset: vec![0; num_bytes] })
    }

    /// Adds a value, and with a zero also the zero of the other sign.
    pub fn insert(&mut self, value: Value<'_>) {
        self.insert_hash(value.hash());
        if let Some(equal) = value.equal() {
            self.insert_hash(equal.hash());
        }
    }

    /// Adds the value of this [hash](crate::hash).
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) {
        let start = block_start(hash, self.bitset.len());
        for (bytes, bit) in self.bitset[start..start + BLOCK_LEN].chunks_exact_mut(WORD_LEN).zip(mask(hash)) {
            for (byte, bits) in bytes.iter_mut().zip(bit.to_le_bytes()) {
                *byte |= bits;
            }
        }
    }

    /// Halves the bitset as often as absent values pass at `rate` at most, by the bits that are
    /// [set](Self::false_positive_rate), and its number of blocks is even. So a filter can be made before the number of
    /// distinct values is known, as long as `num_bytes` suffice for all that there may be.
    ///
    /// ```
    /// use filterblock_parquet::{SplitBlockFilter, Value};
    ///
    /// # fn main() -> Result<(), filterblock_parquet::Error> {
    /// let mut filter = SplitBlockFilter::with_len(1 << 20)?;
    /// (0..1000).for_each(|number| filter.insert(Value::Int64(number)));
    /// filter.fold_to_rate(0.01)?;
    /// assert_eq!(filter, {
    ///     let mut short = SplitBlockFilter::with_len(2048)?;
    ///     (0..1000).for_each(|number| short.insert(Value::Int64(number)));
    ///     short
    /// });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Each step joins blocks 2i and 2i + 1: the block of a value is ⌊h · z / 2³²⌋ of z, half of which, rounded down, is
    /// its block of z / 2. So the bits are those of a filter that had the short length from the start.
    pub fn fold_to_rate(&mut self, rate: f64) -> Result<(), Error> {
        sizing::check_rate(rate)?;
        while (self.bitset.len() / BLOCK_LEN).is_multiple_of(2) {
            let join = |pair: &[u8]| {
                let (first, second) = pair.split_at(BLOCK_LEN);
                first.iter().zip(second).map(|(first, second)| first | second).collect::<Vec<_>>()
            };
            let folded = Self { bitset: self.bitset.chunks_exact(2 * BLOCK_LEN).flat_map(join).collect() };
            if folded.false_positive_rate() > rate {
                break;
            }
            *self = folded;
        }
        Ok(())
    }
}

impl<B: AsRef<[u8]>> SplitBlockFilter<B> {
    /// The filter of a bitset that was read, with the length that its header declares (`numBytes`), and that of header and
    /// bitset in the metadata of the column chunk (`bloom_filter_length`). Takes all lengths that the format permits, also
    /// those that no power of two is.
    ///
    /// A header that declares a part of the bitset is found by the metadata alone: a header has 1 to 31 bytes, and
    /// bitsets differ by 32. `None` is for files whose metadata state no length, as they need not; then stored values are
    /// denied if the header is wrong.
    pub fn from_bitset(declared_len: i32, bloom_filter_length: Option<i32>, bitset: B) -> Result<Self, Error> {
        let found = bitset.as_ref().len();
        if !usize::try_from(declared_len).is_ok_and(is_bitset_len) {
            return Err(Error::Length { len: declared_len.into() });
        }
        if i32::try_from(found) != Ok(declared_len) {
            return Err(Error::DeclaredLength { declared: declared_len, found });
        }
        let is_wrong = |&len: &i32| !(1..BLOCK_LEN as i64).contains(&(i64::from(len) - i64::from(declared_len)));
        if let Some(bloom_filter_length) = bloom_filter_length.filter(is_wrong) {
            return Err(Error::MetadataLength { declared: declared_len, bloom_filter_length });
        }
        Ok(Self { bitset })
    }

    /// Returns whether the column chunk may have a value that is equal to `value`; *no* is certain, if `value` is of the
    /// physical type that the column stores: of another one, stored values are denied. Always *maybe* for NaN.
    pub fn may_contain(&self, value: Value<'_>) -> bool {
        value.is_nan()
            || self.may_contain_hash(value.hash())
            || value.equal().is_some_and(|equal| self.may_contain_hash(equal.hash()))
    }

    /// Returns whether a value of this [hash](crate::hash) may have been inserted.
    #[inline]
    pub fn may_contain_hash(&self, hash: u64) -> bool {
        let bitset = self.bitset.as_ref();
        let start = block_start(hash, bitset.len());
        // There is no early exit: eight words are one load and one comparison of vectors.
        let block = bitset.get(start..start + BLOCK_LEN);
        let missing = |block| words(block).zip(mask(hash)).fold(0, |missing, (word, bit)| missing | (bit & !word));
        block.is_none_or(|block| missing(block) == 0)
    }

    /// The bitset, as it follows the header in a file.
    pub fn bitset(&self) -> &[u8] {
        self.bitset.as_ref()
    }

    /// The bitset, as it follows the header in a file.
    pub fn into_bitset(self) -> B {
        self.bitset
    }

    /// The share of absent values that pass, by the bits that are set: the mean over the blocks of the product of their
    /// words' shares of set bits. Needs no number of values, and reads the whole bitset.
    pub fn false_positive_rate(&self) -> f64 {
        let blocks = self.bitset.as_ref().chunks_exact(BLOCK_LEN);
        let num_blocks = blocks.len() as f64;
        let of_block = |block| words(block).map(|word| f64::from(word.count_ones()) / WORD_BITS).product::<f64>();
        blocks.map(of_block).sum::<f64>() / num_blocks
    }
}

/// Returns whether a bitset can have this length.
fn is_bitset_len(len: usize) -> bool {
    len > 0 && len.is_multiple_of(BLOCK_LEN) && i32::try_from(len).is_ok()
}

/// Returns the start of the block of `hash` in a bitset of `len` bytes: below `len`, as the upper half of the hash is
/// below 2^32.
#[inline]
fn block_start(hash: u64, len: usize) -> usize {
    // There are at most 2^31 bytes, so the product does not overflow, and the block's number is below the number of
    // blocks.
    let num_blocks = (len / BLOCK_LEN) as u64;
    (((hash >> 32) * num_blocks) >> 32) as usize * BLOCK_LEN
}

/// The bit that a value sets in each word.
#[inline]
fn mask(hash: u64) -> [u32; 8] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

/// The words of a block.
#[inline]
fn words(block: &[u8]) -> impl Iterator<Item = u32> {
    block.chunks_exact(WORD_LEN).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
