//! The search for a hash: which layer holds it, and where.

use super::layer::Layer;
use super::row::{Row, WIDTH, rehashed};
use super::{BUCKET, LIMITS, View, WORD_LEN, portable};
use crate::hash::KeyHash;

/// What a query sums up: the words of two neighbouring blocks. All offsets are within the payload.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// Where the words of the block that the row starts in begin, in bytes.
    pub(super) first: usize,
    /// Where those of the next block begin.
    pub(super) second: usize,
    /// Words of each block that are compared.
    pub(super) columns: u32,
    /// Which slots of the first block are summed, and which of the second.
    pub(super) masks: [u64; 2],
    /// The sums that an entry has; bits beyond the columns do not count.
    pub(super) fingerprint: u32,
}

impl Window {
    #[inline(always)]
    fn new(view: &View<'_>, layer: &Layer, row: Row) -> Self {
        let params = &view.layout.params;
        let (block, slot) = (row.start / WIDTH, row.start % WIDTH);
        let first = (layer.first_word + layer.word_of(params, block)) as usize * WORD_LEN;
        Self {
            first,
            second: first + layer.columns_of(params, block) * WORD_LEN,
            columns: layer.columns_from(block),
            masks: [row.coefficients << slot, row.coefficients >> 1 >> (WIDTH - 1 - slot)],
            fingerprint: row.fingerprint,
        }
    }

    /// The end of what is read, in bytes.
    #[inline(always)]
    pub(super) fn end(&self) -> usize {
        self.second + self.columns as usize * WORD_LEN
    }
}

/// From which distance to its bucket's last slot on rows are bumped that start in the bucket of `start`.
#[inline(always)]
pub(super) fn limit(payload: &[u8], layer: &Layer, start: u64) -> u64 {
    let bucket = start / BUCKET;
    let byte = payload[(layer.thresholds_at + bucket / 4) as usize];
    LIMITS[usize::from(byte >> (bucket % 4 * 2) & 3)]
}

/// What to sum up for `hash` in the first layer, unless it is bumped there: by one in a hundred, or less.
#[inline(always)]
pub(super) fn window_of(view: &View<'_>, hash: KeyHash) -> Result<Window, Bumped> {
    let (params, layer) = (&view.layout.params, &view.layout.first);
    let hash = rehashed(hash.get(), view.layout.first_steps);
    let row = Row::new(hash, layer.num_starts);
    if params.num_layers() > 1 && is_bumped(view.payload, layer, row.start) {
        return Err(Bumped(hash));
    }
    Ok(Window::new(view, layer, row))
}

/// A hash that the first layer bumps, as it enters the next one.
pub(super) struct Bumped(u64);

impl Bumped {
    /// The answer of the layers below the first; `false` if each of them bumps the hash: then no entry has it.
    #[inline(never)]
    pub(super) fn may_contain(self, view: &View<'_>) -> bool {
        let layout = view.layout;
        let (params, mut layer, mut hash) = (&layout.params, layout.first, self.0);
        for index in 1..params.num_layers() {
            layer = layout.next(&layer, index);
            hash = rehashed(hash, params.steps(index));
            let row = Row::new(hash, layer.num_starts);
            if index + 1 == params.num_layers() || !is_bumped(view.payload, &layer, row.start) {
                return portable::agrees(view.payload, Window::new(view, &layer, row));
            }
        }
        false
    }
}

#[inline(always)]
fn is_bumped(payload: &[u8], layer: &Layer, start: u64) -> bool {
    !start % BUCKET >= limit(payload, layer, start)
}
