//! The places of a layer's parts in a payload.

use super::row::WIDTH;
use super::{BUCKET, Params};

/// A layer: blocks of slots, with one word in a block for each column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    /// The number of blocks, at least 2: a row's window reaches into the block after the one in which it starts.
    pub(super) num_blocks: u64,
    /// The number of slots in which rows start.
    pub(super) num_starts: u64,
    /// The number of columns that queries compare, unless the row starts in a wide block.
    pub(super) columns: u32,
    /// The number of wide blocks: one column more is compared for the rows that start in them.
    num_wide: u32,
    /// The number of blocks that store one column more: the wide ones, and the one after them, into which their last rows
    /// reach.
    num_stored: u64,
    /// The place of the solution's first word in the payload, in words.
    pub(super) first_word: u64,
    /// The place of the thresholds' first byte in the payload.
    pub(super) thresholds_at: u64,
}

impl Layer {
    /// The first layer of a payload whose thresholds begin at `thresholds_at`.
    pub(super) const fn first(params: &Params, num_blocks: u64, thresholds_at: u64) -> Self {
        let num_wide = params.num_wide(num_blocks);
        let num_stored = num_wide + (num_wide > 0) as u64;
        let num_starts = (num_blocks - 1) * WIDTH;
        let columns = params.columns as u32;
        // This is less than the number of blocks, which is stored in 32 bits.
        let num_wide = num_wide as u32;
        Self { num_blocks, num_starts, columns, num_wide, num_stored, first_word: 0, thresholds_at }
    }

    /// Returns this layer with at most the first `columns` columns compared.
    pub(super) const fn comparing(self, columns: u32) -> Self {
        if columns > self.columns {
            return self;
        }
        Self { columns, num_wide: 0, ..self }
    }

    /// Returns this layer with places that are counted from the block that begins at `first_slot`, and from its
    /// thresholds: sums of a place and an offset wrap.
    pub(super) const fn seen_from(&self, params: &Params, first_slot: u64) -> Self {
        let first_word = self.word_of(params, first_slot / WIDTH).wrapping_neg();
        let thresholds_at = (first_slot / BUCKET / 4).wrapping_neg();
        Self { first_word, thresholds_at, ..*self }
    }

    /// Returns the layer that follows this one.
    pub(super) const fn next(&self, params: &Params, num_blocks: u64) -> Self {
        let first_word = self.first_word + self.num_words(params);
        let thresholds_at = self.thresholds_at + self.thresholds_len();
        Self { first_word, ..Self::first(params, num_blocks, thresholds_at) }
    }

    /// Returns whether all blocks store the same number of columns: the usual case, which wide blocks must not slow
    /// down.
    #[inline(always)]
    pub(super) const fn is_even(&self) -> bool {
        self.num_stored == 0
    }

    /// Returns the place of the first word of `block`, counted from the layer's first word.
    #[inline(always)]
    pub(super) const fn word_of(&self, params: &Params, block: u64) -> u64 {
        let num_before = if block < self.num_stored { block } else { self.num_stored };
        block * params.columns as u64 + num_before
    }

    /// Returns the number of columns that `block` stores.
    #[inline(always)]
    pub(super) const fn columns_of(&self, params: &Params, block: u64) -> usize {
        params.columns as usize + (block < self.num_stored) as usize
    }

    /// Returns the number of columns that are compared for rows that start in `block`.
    #[inline(always)]
    pub(super) const fn columns_from(&self, block: u64) -> u32 {
        self.columns + (block < self.num_wide as u64) as u32
    }

    pub(super) const fn num_words(&self, params: &Params) -> u64 {
        self.word_of(params, self.num_blocks)
    }

    pub(super) const fn num_buckets(&self) -> u64 {
        self.num_starts.div_ceil(BUCKET)
    }

    /// Returns the length of the thresholds, if the layer has any, in bytes.
    pub(super) const fn thresholds_len(&self) -> u64 {
        self.num_buckets().div_ceil(4)
    }
}
