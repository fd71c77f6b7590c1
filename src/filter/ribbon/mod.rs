//! Bumped ribbon retrieval: a filter a few thousandths above the least possible size
//! (Dillinger, Hübschle-Schneider, Sanders, Walzer, "Fast Succinct Retrieval and Approximate Membership using Ribbon",
//! 2022).
//!
//! A hash stands for a linear equation over bits: the sum of the rows of a table, over 64 neighbouring slots chosen by
//! its coefficients, is its fingerprint. The builder solves the equations of all entries; a query computes the sum and
//! compares. An absent hash passes if its fingerprint, of *r* bits, agrees by chance: 2⁻ʳ, whatever the entries are.
//!
//! The table stands in *blocks* of 64 slots, each of *r* words, one for each *column*: bit *i* of a word belongs to
//! slot *i* of its block. So a query reads the words of two neighbouring blocks, and sums up a column as the parity of
//! a word.
//!
//! Not all equations can be solved with so few slots. Where a *bucket* of 128 slots has too many, those of its first
//! slots are *bumped*: a threshold of two bits for each bucket says from where on. They are stored in the next *layer*,
//! a table of its own and a hundredth to a twentieth as large, and so on. The last layer bumps none.
//!
//! ```text
//!   | solution: layer 0, layer 1, ... | thresholds: layer 0, ... (none of the last) | blocks of each layer, 4 bytes each |
//! ```
//!
//! A rate between two powers of two: the first blocks of each layer have one column more.
//!
//! Each column is a filter of one bit of its own. So the first words of each block are a filter of fewer columns: a
//! copy of them is a *thinned* filter, and a reader may leave the others unread.

#[cfg(simd_x86_64)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod avx2;
#[cfg(simd_avx512)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
#[expect(clippy::incompatible_msrv, reason = "compiled only where build.rs found a newer compiler")]
mod avx512;
#[cfg(feature = "std")]
mod band;
#[cfg(feature = "std")]
mod build;
mod engine;
#[cfg(feature = "std")]
mod groups;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod guard_pages;
mod layer;
#[cfg(simd_neon)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod neon;
#[cfg(feature = "std")]
mod plan;
mod portable;
mod row;
mod search;
pub mod sizing;
#[cfg(feature = "std")]
mod stretch;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(feature = "std")]
mod thin;
#[cfg(feature = "std")]
mod turns;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::seam::{Columns, KindParams, KindView, PARAMS_LEN, StoredParams};
use super::trailer::Trailer;
use crate::bytes;
use crate::error::DecodeError;
use crate::hash::KeyHash;
use crate::{bits, math::float::pow2};
use engine::Engine;
use layer::Layer;
use row::WIDTH;
use sizing::MAX_COLUMNS;

/// Slots that share a threshold.
const BUCKET: u64 = 128;
/// By a bucket's threshold: from which distance to the bucket's last slot on rows that start there are bumped.
const LIMITS: [u64; 4] = [BUCKET, 116, 96, 0];
const MAX_LAYERS: usize = 8;
/// Bytes of a layer's number of blocks.
const NUM_BLOCKS_LEN: usize = 4;
const WORD_LEN: usize = 8;
/// In a compact frame in place of the length of `wide_share`: `thinned_from` follows, and the share is 0.
const THINNED: u8 = 0xf;

/// Dimensions: stored as `columns: u8` at 0, `num_layers: u8` at 1, `last_seed: u8` at 2, `thinned_from: u8` at 3,
/// `wide_share: u32` at 4, zeros at 8..12. How many blocks a layer has is stored at the payload's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    columns: u8,
    num_layers: u8,
    /// Seeds that failed in the last layer.
    last_seed: u8,
    /// In a thinned filter, the columns of the widest blocks that it was thinned from, which are more than its own; 0
    /// in others.
    thinned_from: u8,
    /// The share of the blocks in which rows with one column more start, in units of 2⁻³².
    wide_share: u32,
}

/// In a compact frame: `wide_share` without its leading zero bytes, `last_seed`, `columns`, and a byte of `num_layers`
/// in the upper four bits and the length of `wide_share` in the lower four. In a thinned filter, `thinned_from` is in
/// place of `wide_share`, and [`THINNED`] in place of its length.
impl KindParams for Params {
    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        stored.check_reserved(8..PARAMS_LEN)?;
        let [columns, num_layers, last_seed, thinned_from] = [0, 1, 2, 3].map(|i| stored.bytes[i]);
        Self::new([columns, num_layers, last_seed], bytes::u32_at(stored.bytes, 4).into(), thinned_from.into())
    }

    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        let lens = trailer.pop()?;
        let (columns, last_seed) = (trailer.pop()?, trailer.pop()?);
        let (wide_share, thinned_from) = match lens & 0xf {
            0 => (0, 0),
            THINNED => (0, trailer.pop_short(1)?),
            len => (trailer.pop_short(len)?, 0),
        };
        Self::new([columns, lens >> 4, last_seed], wide_share, thinned_from)
    }

    #[cfg(feature = "std")]
    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1], out[2], out[3]) = (self.columns, self.num_layers, self.last_seed, self.thinned_from);
        bytes::put_u32(&mut out, 4, self.wide_share);
        out
    }

    #[cfg(feature = "std")]
    fn encode_trailer(&self, out: &mut std::vec::Vec<u8>) {
        let len = match self.thinned_from {
            0 => bytes::push_short(out, self.wide_share.into()),
            from => {
                out.push(from);
                THINNED
            }
        };
        out.extend([self.last_seed, self.columns, self.num_layers << 4 | len]);
    }
}

impl Params {
    fn new([columns, num_layers, last_seed]: [u8; 3], wide_share: u64, thinned_from: u64) -> Result<Self, DecodeError> {
        let is_thinned = thinned_from > 0;
        let max_columns = u64::from(MAX_COLUMNS - u32::from(wide_share > 0 || is_thinned));
        // A thinned filter has whole columns.
        let max_share = if is_thinned { 0 } else { u32::MAX };
        let min_from = if is_thinned { u64::from(columns) + 1 } else { 0 };
        for (name, value, min, max) in [
            ("columns", u64::from(columns), 1, max_columns),
            ("num_layers", u64::from(num_layers), 1, MAX_LAYERS as u64),
            ("last_seed", u64::from(last_seed), 0, u64::from(sizing::MAX_SEEDS - 1)),
            ("wide_share", wide_share, 0, u64::from(max_share)),
            ("thinned_from", thinned_from, min_from, u64::from(MAX_COLUMNS)),
        ] {
            if !(min..=max).contains(&value) {
                return Err(DecodeError::Parameter { name, value, min, max });
            }
        }
        Ok(Self { columns, num_layers, last_seed, thinned_from: thinned_from as u8, wide_share: wide_share as u32 })
    }

    const fn num_layers(&self) -> usize {
        self.num_layers as usize
    }

    /// Blocks of a layer of `num_blocks` in which rows with one column more start: its share of those that rows start
    /// in, rounded up.
    const fn num_wide(&self, num_blocks: u64) -> u64 {
        ((num_blocks - 1) * self.wide_share as u64).div_ceil(1 << 32)
    }

    /// Columns of the widest blocks.
    const fn most_columns(&self) -> u32 {
        self.columns as u32 + (self.wide_share > 0) as u32
    }

    /// The bits of a fingerprint that are stored at all.
    #[cfg(feature = "std")]
    const fn fingerprint_mask(&self) -> u32 {
        u32::MAX >> (u32::BITS - self.most_columns())
    }

    /// Changes of the hash on entering layer `index`.
    #[inline(always)]
    const fn steps(&self, index: usize) -> u8 {
        let seed = if index + 1 == self.num_layers() { self.last_seed } else { 0 };
        (index > 0) as u8 + seed
    }

    /// Length of the numbers of blocks at the payload's end.
    const fn directory_len(&self) -> usize {
        self.num_layers() * NUM_BLOCKS_LEN
    }
}

/// Blocks of each layer, in their order; zeros beyond the last.
type NumBlocks = [u32; MAX_LAYERS];

/// The blocks of each layer, from the payload's end.
fn num_blocks(params: &Params, payload: &[u8]) -> Result<NumBlocks, DecodeError> {
    let actual_bytes = payload.len() as u64;
    let declared_bytes = params.directory_len() as u64;
    let Some((_, directory)) =
        payload.len().checked_sub(params.directory_len()).and_then(|at| payload.split_at_checked(at))
    else {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    };
    let mut num_blocks = [0; MAX_LAYERS];
    for (index, num) in num_blocks.iter_mut().enumerate().take(params.num_layers()) {
        *num = bytes::u32_at(directory, index * NUM_BLOCKS_LEN);
        if *num < 2 {
            let (name, value) = ("num_blocks", u64::from(*num));
            return Err(DecodeError::Parameter { name, value, min: 2, max: u64::from(u32::MAX) });
        }
    }
    Ok(num_blocks)
}

/// Where the parts of a payload are: what is known of a filter without it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    engine: Engine,
    /// Changes of the hash on entering the first layer.
    first_steps: u8,
    first: Layer,
    num_blocks: NumBlocks,
    /// The most columns that queries compare.
    compared: u8,
    payload_len: u64,
}

impl Layout {
    /// All layers, in their order.
    fn layers(&self) -> impl Iterator<Item = Layer> + '_ {
        let mut layer = self.first;
        (0..self.params.num_layers()).map(move |index| {
            if index > 0 {
                layer = self.next(&layer, index);
            }
            layer
        })
    }

    /// Layer `index`, which follows `layer`.
    fn next(&self, layer: &Layer, index: usize) -> Layer {
        layer.next(&self.params, self.num_blocks[index].into()).comparing(self.compared.into())
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    layout: &'a Layout,
    payload: &'a [u8],
}

impl<'a> KindView<'a> for View<'a> {
    type Params = Params;
    type Layout = Layout;

    fn check(params: Params, payload: &[u8], base: u64) -> Result<Layout, DecodeError> {
        let num_blocks = num_blocks(&params, payload)?;
        // At most 8 · 2³² · 33 words of 8 bytes: no overflow.
        let blocks = || num_blocks.iter().take(params.num_layers()).map(|&num| u64::from(num));
        let num_words: u64 = blocks().map(|num| Layer::first(&params, num, 0).num_words(&params)).sum();
        let first = Layer::first(&params, u64::from(num_blocks[0]), num_words * WORD_LEN as u64);
        let (engine, first_steps) = (Engine::best(&params), params.steps(0));
        let (compared, payload_len) = (params.most_columns() as u8, payload.len() as u64);
        let layout = Layout { params, engine, first_steps, first, num_blocks, compared, payload_len };
        let thresholds_end = layout.layers().last().map_or(0, |last| last.thresholds_at);
        let (declared_bytes, actual_bytes) = (thresholds_end + params.directory_len() as u64, layout.payload_len);
        if declared_bytes != actual_bytes {
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
        }
        for layer in layout.layers().take(params.num_layers() - 1) {
            let end = layer.thresholds_at + layer.thresholds_len();
            // Within the payload, by the comparison above.
            let thresholds = &payload[layer.thresholds_at as usize..end as usize];
            if let Some(found) = bits::padding(thresholds, layer.num_buckets() * 2) {
                return Err(DecodeError::Padding { offset_bytes: base + end - 1, found });
            }
        }
        Ok(layout)
    }

    #[inline(always)]
    fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 == layout.payload_len, "the bytes of a filter changed their length");
        Self { layout, payload }
    }

    fn params(&self) -> &Params {
        &self.layout.params
    }

    #[inline(always)]
    fn may_contain(&self, hash: KeyHash) -> bool {
        self.layout.engine.may_contain(self.layout, self.payload, hash)
    }

    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.layout.engine.may_contain_all(self.layout, self.payload, hashes, answers);
    }

    /// Prefetches the window in the first layer. Thresholds are a few thousandths of the whole, and mostly cached.
    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        if let Ok(window) = search::window_of(self.layout, self.payload, hash) {
            window.prefetch(self.payload);
        }
    }

    /// An absent hash agrees with a fingerprint of *c* bits by 2⁻ᶜ; its start is uniform, and so it is in the next
    /// layer if the start is bumped.
    fn predicted_fpr(&self) -> f64 {
        let (mut rate, mut entered) = (0.0, 1.0);
        for (index, layer) in self.layout.layers().enumerate() {
            let is_last = index + 1 == self.layout.params.num_layers();
            let (mut passing, mut held_of_layer) = (0.0, 0);
            for block in 0..layer.num_blocks - 1 {
                let held = if is_last { WIDTH } else { self.held_of(&layer, block) };
                passing += held as f64 * pow2(-(layer.columns_from(block) as i32));
                held_of_layer += held;
            }
            let num_starts = layer.num_starts;
            rate += entered * passing / num_starts as f64;
            entered *= (num_starts - held_of_layer) as f64 / num_starts as f64;
        }
        rate
    }

    fn columns(layout: &Layout) -> Option<Columns> {
        let Layout { params, compared, .. } = layout;
        let from = params.thinned_from;
        let thinned_from = (from > 0).then_some(from.into());
        let num_blocks: u64 = layout.layers().map(|layer| layer.num_blocks).sum();
        Some(Columns {
            stored: params.most_columns(),
            compared: (*compared).into(),
            thinned_from,
            column_bytes: num_blocks * WORD_LEN as u64,
            other_bytes: layout.payload_len - layout.first.thresholds_at,
        })
    }

    fn limit_columns(layout: &mut Layout, columns: u32) {
        let (num_blocks, thresholds_at) = (layout.num_blocks[0].into(), layout.first.thresholds_at);
        layout.first = Layer::first(&layout.params, num_blocks, thresholds_at).comparing(columns);
        layout.compared = columns as u8;
    }

    #[cfg(feature = "std")]
    fn thin(&self, columns: u32, out: &mut std::vec::Vec<u8>) -> Option<Params> {
        Some(thin::thin(self, columns, out))
    }

    /// The share of the solution's bits that are set.
    fn fill(&self) -> f64 {
        let solution = &self.payload[..self.layout.first.thresholds_at as usize];
        let num_set: u64 = solution.iter().map(|byte| u64::from(byte.count_ones())).sum();
        num_set as f64 / (solution.len() as f64 * 8.0)
    }
}

impl View<'_> {
    /// Starts in `block` of a layer with thresholds that are not bumped.
    fn held_of(&self, layer: &Layer, block: u64) -> u64 {
        let limit = search::limit(self.payload, layer, block * WIDTH);
        // A bucket is two blocks, and the last slots are bumped last.
        match block % 2 {
            0 => limit.saturating_sub(WIDTH),
            _ => limit.min(WIDTH),
        }
    }
}
