//! Bumped ribbon retrieval: a filter 0.4 to 1.1 % above the least possible size, or 8 % where it is built fastest.
//!
//! The least possible size of a filter with false-positive rate *p* is log₂(1/p) bits an entry. A Bloom filter takes
//! 1.44 times as much. This kind stores no bits of entries. It stores a *function* of hashes that returns the right *r*
//! bits for each entry, and any *r* bits for other hashes: a retrieval data structure. This essay explains how the
//! function is stored, why a query is right, why it is small and fast, how the builder works, and what was measured.
//! `format/ribbon.md` states the bytes.
//!
//! # What is stored: the solution of a system of equations
//!
//! Every hash defines a *fingerprint* of *r* bits, and one linear equation over bits: the sum modulo 2 of certain
//! *slots* of a table is the fingerprint. A slot holds *r* bits, one in each *column*, so the equation holds for each
//! column by itself. The equation concerns only slots in a window of 64 neighbours: it has a *start*, which is uniform
//! over the table, and 64 *coefficients*, of which the first is always 1 (`row.rs`).
//!
//! The builder chooses the table such that the equations of all entries hold. A query computes the sum of the slots
//! that its hash selects and compares it with its fingerprint. Sorted by start, the coefficients form the band that
//! gives ribbon its name; here with windows of 4 slots, one column, and the result on the right:
//!
//! ```text
//!   slot   0 1 2 3 4 5 6 7                    after elimination       solution, from the last slot to the first
//!   a      1 1 0 1 . . . .  = 1        slot 0   1 1 0 1 . . . .  = 1    s3 = 1                 (free slots are 0)
//!   b      . 1 0 1 1 . . .  = 0        slot 1   . 1 0 1 1 . . .  = 0    s2 = 1 + s4      = 1
//!   c      . 1 1 1 0 . . .  = 1        slot 2   . . 1 0 1 . . .  = 1    s1 = 0 + s3 + s4 = 1
//!   d      . . . 1 0 1 1 .  = 1        slot 3   . . . 1 0 1 1 .  = 1    s0 = 1 + s1 + s3 = 1
//! ```
//!
//! *Banding* (`band.rs`) turns the left side into the middle, one equation after the other. An equation becomes the row
//! of its first slot if that slot has none: a, b and d do. Otherwise the row of that slot is added to it, which cancels
//! the first coefficient, and what remains starts later: slot 1, where c starts, has the row b, and b + c starts one
//! slot later. The sum still fits the window, because both rows began at the same slot. So elimination is an XOR of two
//! 64-bit words and a shift, moves to the right only, and changes no row that is in place.
//!
//! If nothing remains of the coefficients, there are two cases. A second copy of c would reduce to 0 = 0: it follows
//! from the others and takes no slot. With c's coefficients and the result 0 it would reduce to 0 = 1: no table
//! satisfies all five, and the equation is *refused*.
//!
//! *Back-substitution* then goes from the last slot to the first. A slot with a row has the one value that makes its
//! row true, given the later slots; a slot without a row is *free* and set to 0. This is done for all columns, which
//! differ in their results only.
//!
//! # Bumping: equations that do not fit move to the next layer
//!
//! With *n* equations over *n* slots some are refused: in some places more equations start than there are slots. A
//! standard ribbon filter needs enough spare slots that no equation at all is refused, and the number of spare slots an
//! entry grows with the number of entries. *Bumped* ribbon gives up on those that do not fit. They form a second, much
//! smaller system, a *layer* with slots of its own; what that layer refuses goes to a third one, and so on. So the
//! first layer may have even fewer slots than entries (0.95 to 1.2 an entry, 0.995 by default), and hardly a slot stays
//! free.
//!
//! A query must know which layer holds its equation. To mark each refused equation would cost too much. Instead, a
//! layer is cut into *buckets* of 128 slots, each with a *threshold* of two bits. The threshold selects one of four
//! limits, 128, 116, 96 and 0, and equations whose start is at least that far from the last slot of the bucket are
//! bumped: none, those that start in the first 12 slots, those in the first 32, or all of the bucket. A query reads the
//! threshold of its start and either computes the sum in this layer or rehashes and enters the next one (`search.rs`).
//!
//! The first slots of a bucket are the ones to bump, because elimination moves rows to the right. The surplus of one
//! bucket lands on the first slots of the next, and the equations that start there find them taken.
//!
//! # The last layer bumps nothing
//!
//! Bumping must end. Up to 4096 entries, one layer without thresholds is smaller than two layers: with so few equations
//! 1.024 slots an entry suffice for one seed in two. So the last layer has that many slots (or as many as the first, if
//! that is more), keeps all its equations, and is built under the first of 32 *seeds* that refuses none. After 16
//! failures it grows with each seed, up to three times the blocks, so that a build fails only if the hash function
//! does. The seed and the number of blocks of each layer are stored. A filter of few entries has this layer alone. A
//! layer that happens to bump nothing is last as well, and the eighth layer is last in any case.
//!
//! Whoever knows the seeds can choose keys that contradict each other under all of them, and in a first layer without
//! a seed, keys that are all bumped. So hashes are first taken as they are with few seeds, and if none suits, or a layer
//! bumps more than an eighth of its entries, the set is *remapped* ([`SetSeed`](crate::hash::SetSeed)) and built from
//! other hashes, which nobody can foresee. Of random sets of 500 to 4096 entries 6 to 10 in a hundred are remapped, of
//! larger ones next to none.
//!
//! All other layers need no seed: whatever does not fit is bumped. Each layer but the first sees a hash mixed anew
//! (`rehashed`), as otherwise the equations that were crowded together in one layer would be crowded in the next.
//!
//! # Why a query is right
//!
//! Which layer answers for a hash depends on thresholds and starts alone, not on whether the hash is stored. The
//! builder follows the same path as the query: it moves on exactly the equations that the threshold of their bucket
//! bumps. So each entry's equation is kept in the one layer that the query for it ends in. All equations kept in a
//! layer hold in its solution, as none was refused. Hence the sum is the fingerprint, in every column, and no entry is
//! ever denied.
//!
//! An absent hash has a fingerprint that no slot depends on. It agrees with the sum in *r* columns with probability
//! 2⁻ʳ, in whichever layer the query ends, whatever the entries are and however full the table is. (A hash equal to an
//! entry's passes, too: all kinds share that limit.)
//!
//! # Why it is small
//!
//! With *s* slots an entry in all layers together, the size is *r* · *s* bits an entry, plus 2 bits for 128 slots and 4
//! bytes for each layer. The limit is *r* bits, so the overhead has two parts: free slots and thresholds. The slots of
//! the first layer decide the first part. With 0.995 slots an entry 1.3 % of the entries are bumped, all layers
//! together have 1.0085 slots an entry, and 0.85 % of the slots are free. With 0.965 slots 3.6 % are bumped and 0.2 %
//! are free; with 1.075 next to none is bumped, and 7 % are free. (No formula is known for the bumped share:
//! `sizing::bumped_share` is a table of measurements.) Thresholds take 1/64 bit an entry: 0.2 % with 8 columns. In all,
//! a million keys at 2⁻⁸ take 8.033, 8.084 and 8.626 bits each with 0.965, 0.995 and 1.075 slots.
//!
//! # Rates between two powers of two
//!
//! A rate between 2⁻ʳ and 2⁻⁽ʳ⁺¹⁾ needs a fraction of a column. The first blocks of each layer are *wide*: equations
//! that start there have one column more. If these are a share *a* of the starts, the rate is 2⁻ʳ · (1 − a/2) for
//! *r* + *a* bits an entry. That is at most 0.086 bits above the limit, where whole columns alone would cost up to one
//! bit. They come first, so that the offset of a block is a product, plus the lesser of its number and that of the
//! blocks that store one column more: the wide ones and the one after them (`layer.rs`). An equation is always solved for all columns, and narrow blocks do not store the
//! last. So thresholds do not depend on where the wide blocks end.
//!
//! # Why a query is fast
//!
//! Slots are stored by *blocks* of 64, and in a block by columns: bit *i* of its word *k* is slot *i* in column *k*. A
//! window of 64 slots overlaps two neighbouring blocks. Shifted to the start, the coefficients are a mask for each of
//! them, the same for all columns, and the sum of a column is the parity of
//!
//! ```text
//!   (word k of the first block & mask of the first)  ^  (word k of the second block & mask of the second)
//! ```
//!
//! So 64 slots are added up by a few instructions a column, all columns lie in 16 · *r* consecutive bytes (two or three
//! cache lines at 8 columns), and vectors take 8 columns at once. Were the table stored by slots, up to 64 of them
//! would be read one by one. The sum ends at the first 8 columns that differ, as absent hashes' columns do except for
//! one in 256. The threshold is one more byte, of an array so small that it is mostly cached, and the branch on it is
//! nearly always taken the same way. Layers below the first answer for 1.3 % of the queries by default and are left to
//! portable code out of line.
//!
//! # How the builder works
//!
//! For each layer (`build.rs`):
//!
//! 1. *Group* (`groups.rs`). Hashes are partitioned by bucket, those of large layers in two passes, the second in a
//!    cache. The hashes of a bucket are put in the order of insertion: by *class*, first those that only the greatest
//!    threshold bumps, and last those that each one does.
//! 2. *Insert* (`stretch.rs`, `lanes.rs`). The equations of a bucket are inserted in that order. When one is refused,
//!    its distance from the bucket's last slot selects the least threshold that bumps it. Equations of the bucket that
//!    are in place and lie beyond that limit are taken back. They were inserted after all that remain, by the order,
//!    and no row that remains contains them: so taking back is clearing their slots. The rest of the bucket is bumped
//!    unseen.
//! 3. *Solve* (`build.rs`, `portable.rs`). Back-substitution keeps, for each column, the 64 slots that follow the
//!    current one in one word. Each slot shifts the word by one and adds the parity of coefficients & word. After 64
//!    slots that word is the block's word of the column, ready to be stored.
//!
//! The order of two hashes of the same class decides nothing: both are kept or both bumped, and whether a set of
//! equations is consistent does not depend on their order. So the bytes follow from the *set* of hashes, as the format
//! demands.
//!
//! A layer is solved in *stretches* of 2¹⁷ slots. An equation whose window would cross the end of a stretch is bumped,
//! with its bucket, and so stretches are independent: each one's rows stay in a cache, and any number of cores builds
//! the same bytes. The cuts are part of the format, as they decide what is bumped; they cost 0.05 % of the size. Each
//! step of an insertion waits for the one before it (load, add, count zeros), so that four equations of a bucket are
//! inserted together, a step of each in turn: as long as none is refused, their order decides nothing. An equation that
//! has no coefficients left beside a later one is inserted again without it, and so are those before a threshold that
//! may depend on equations that it bumps.
//!
//! A repeated hash shows as an equation that reduces to 0 = 0. Few others do, so only these suspects are looked up
//! among the hashes of their bucket. If one occurs twice, the builder removes duplicates and starts again.
//!
//! # Thinning
//!
//! Columns are independent filters of one bit: any number of them, at least one, answers without false negatives. The
//! first words of each block, copied with thresholds and directory, are a *thinned* filter with fewer columns and a
//! higher rate; its size is that of a filter built so, within 0.5 %. No key is needed, and a reader may as well leave
//! columns in place and unread. `thinned_from` states how many columns were solved for. Otherwise a thinned filter
//! could be taken for the one that its table was written with, and nobody could rebuild its bytes from the entries:
//! whether an equation is refused depends on all columns of its fingerprint, stored or not.
//!
//! # What was tried and measured
//!
//! Times are ratios to the code before, paired in one process on one core with AVX2, unless stated otherwise.
//! `docs/performance.md` has the times of today, beside RocksDB's Ribbon filter and others.
//!
//! - *Limits other than 116 and 96.* Of 78 pairs, in steps of 4, the best saved 0.02 % of the size with 1.0 slots an
//!   entry (300 000 entries), and nothing with 0.965.
//! - *One layer up to 4096 entries*, instead of a small second layer. At 2⁻⁸ a thousand keys take 8.22 bits each
//!   instead of 8.74, 10 000 take 8.06 instead of 8.11, 100 000 take 8.044 instead of 8.050.
//! - *Four equations of a bucket together*, in variables of their own, and coefficients in an array of their own: builds
//!   of ten thousand entries .88 of those with two in turns (with AVX-512, as all of these); with three .93. In an array,
//!   which is not kept in registers, 1.12. Without branches that depend on the numbers of steps, 1.2: 16 steps an entry,
//!   with .995 slots each, take more instructions then than the predictions that fail. The first steps of 16 equations
//!   without branches, before the others, 1.07.
//! - *Solving eight columns in a register, with AVX-512*: .94.
//! - *Order by class instead of by start*: .90. A counting sort by start spends its time waiting for counts in memory,
//!   whatever their number.
//! - *Grouping by parts instead of sorting all hashes, and solving columns in vectors*: a build of a million entries
//!   .73, of 30 000 entries .85. The sort alone had taken 31 to 38 % of the time.
//! - *Finding and summing windows in one function for each engine*, with 8 columns: absent keys .69 to .75 among
//!   10 000, .77 to .80 among a million, batches .73 to .81. Before, a window was passed through memory.
//! - *Ending a query at the first columns that differ*, among 10 000 keys: with 10 columns .78, with 18 columns .70;
//!   present keys .96 to 1.03.
//!
//! # Papers
//!
//! - P. C. Dillinger, L. Hübschle-Schneider, P. Sanders, S. Walzer, *Fast Succinct Retrieval and Approximate Membership
//!   Using Ribbon*, SEA 2022 (arXiv 2109.01892): bumping, buckets and their thresholds, layers, and an analysis. This
//!   kind is its variant with windows of 64 slots, buckets of 128 and thresholds of two bits.
//! - P. C. Dillinger, S. Walzer, *Ribbon filter: practically smaller than Bloom and Xor*, 2021 (arXiv 2103.02515): the
//!   standard ribbon filter, banding as insertion into a table, and the storage of the solution by columns in blocks.
//!   The comments of RocksDB's `util/ribbon_alg.h` explain both at length.
//! - M. Dietzfelbinger, S. Walzer, *Efficient Gauss Elimination for Near-Quadratic Matrices with One Short Random Block
//!   per Row, with Applications*, ESA 2019: equations in a short window, and why eliminating them in the order of their
//!   starts is fast.

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
#[cfg(feature = "std")]
mod lanes;
mod layer;
#[cfg(simd_neon)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod neon;
mod params;
#[cfg(feature = "std")]
mod plan;
mod portable;
mod row;
mod search;
pub(crate) mod sizing;
#[cfg(feature = "std")]
mod stretch;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(feature = "std")]
mod thin;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::seam::{Columns, KindView};
use crate::bytes;
use crate::error::DecodeError;
use crate::hash::KeyHash;
use crate::{bits, math::float::pow2};
use engine::Engine;
use layer::Layer;
pub(crate) use params::Params;
use row::WIDTH;

/// The number of slots that share a threshold.
const BUCKET: u64 = 128;
/// The limits that thresholds select: a row is bumped if it starts at least this far from its bucket's last slot.
const LIMITS: [u64; 4] = [BUCKET, 116, 96, 0];
const MAX_LAYERS: usize = 8;
/// The bytes of a layer's number of blocks.
const NUM_BLOCKS_LEN: usize = 4;
const WORD_LEN: usize = 8;

/// The number of blocks of each layer, in order, followed by zeros.
type NumBlocks = [u32; MAX_LAYERS];

/// Reads the numbers of blocks from the payload's end.
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
        DecodeError::check_params(&[("num_blocks", (*num).into(), 2, u32::MAX.into())])?;
    }
    Ok(num_blocks)
}

/// The places of a payload's parts: all that is known about a filter without its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    engine: Engine,
    /// The steps of the first layer, see [`Params::steps`].
    first_steps: u8,
    first: Layer,
    num_blocks: NumBlocks,
    /// The greatest number of columns that queries compare.
    compared: u8,
    payload_len: u64,
}

impl Layout {
    /// Returns all layers in order.
    fn layers(&self) -> impl Iterator<Item = Layer> + '_ {
        let mut layer = self.first;
        (0..self.params.num_layers()).map(move |index| {
            if index > 0 {
                layer = self.next(&layer, index);
            }
            layer
        })
    }

    /// Returns layer `index`, which follows `layer`.
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
        // The sum cannot overflow: there are at most 8 · 2³² · 33 words of 8 bytes.
        let blocks = || num_blocks.iter().take(params.num_layers()).map(|&num| u64::from(num));
        let num_words: u64 = blocks().map(|num| Layer::first(&params, num, 0).num_words(&params)).sum();
        let first = Layer::first(&params, u64::from(num_blocks[0]), num_words * WORD_LEN as u64);
        let (engine, first_steps) = (Engine::best(&params), params.steps(0));
        let (compared, payload_len) = (params.most_columns() as u8, payload.len() as u64);
        let layout = Layout { params, engine, first_steps, first, num_blocks, compared, payload_len };
        let thresholds_end = layout.layers().last().map_or(0, |last| last.thresholds_at);
        DecodeError::check_len(thresholds_end + params.directory_len() as u64, layout.payload_len)?;
        for layer in layout.layers().take(params.num_layers() - 1) {
            let end = layer.thresholds_at + layer.thresholds_len();
            // The comparison above has shown that this range is within the payload.
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

    #[cfg(all(test, feature = "std"))]
    fn with_each_engine(layout: &Layout) -> std::vec::Vec<Layout> {
        Engine::all(&layout.params).map(|engine| Layout { engine, ..*layout }).collect()
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

    /// An absent hash agrees with a fingerprint of *c* bits with probability 2⁻ᶜ. Its start is uniform, also in the
    /// next layer if it is bumped.
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
    /// Returns the number of starts in `block` that are not bumped, in a layer with thresholds.
    fn held_of(&self, layer: &Layer, block: u64) -> u64 {
        let limit = search::limit(self.payload, layer, block * WIDTH);
        // A bucket is two blocks, and the last slots are bumped last.
        match block % 2 {
            0 => limit.saturating_sub(WIDTH),
            _ => limit.min(WIDTH),
        }
    }
}
