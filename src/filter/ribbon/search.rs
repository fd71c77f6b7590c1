//! The search for a hash, but for the sum of its rows: which layer holds it, and where.

use super::layer::Layer;
use super::row::{Row, WIDTH, rehashed};
use super::{BUCKET, LIMITS, View, WORD_LEN};
use crate::hash::KeyHash;

/// What a query sums up: the words of two neighbouring blocks. All offsets are within the payload.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// Where the words of the block that the row starts in begin, in bytes.
    pub(super) first: usize,
    /// Where those of the next block begin.
    pub(super) second: usize,
    /// Words of each block that count.
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
        let at = |block| ((layer.first_word + layer.word_of(params, block)) * WORD_LEN) as usize;
        Self {
            first: at(block),
            second: at(block + 1),
            columns: layer.columns_from(params, block),
            masks: [row.coefficients << slot, row.coefficients >> 1 >> (WIDTH - 1 - slot)],
            fingerprint: row.fingerprint,
        }
    }

    /// The end of what is read, in bytes.
    #[inline(always)]
    pub(super) fn end(&self) -> usize {
        self.second + self.columns as usize * WORD_LEN as usize
    }
}

/// The window of `hash` in the first layer.
#[inline(always)]
pub(super) fn first_window(view: &View<'_>, hash: KeyHash) -> Window {
    let (layout, layer) = (view.layout, &view.layout.first);
    let hash = rehashed(hash.get(), layout.params.steps(0));
    Window::new(view, layer, Row::new(hash, layer.num_starts()))
}

/// From which distance to its bucket's last slot on rows are bumped that start in the bucket of `start`.
#[inline(always)]
pub(super) fn limit(payload: &[u8], layer: &Layer, start: u64) -> u64 {
    let bucket = start / BUCKET;
    let byte = payload[(layer.thresholds_at + bucket / 4) as usize];
    LIMITS[usize::from(byte >> (bucket % 4 * 2) & 3)]
}

/// The answer for `hash`, where `agrees` tells whether a window's sums are its fingerprint.
#[inline(always)]
pub(super) fn search(view: &View<'_>, hash: KeyHash, agrees: impl Fn(&[u8], Window) -> bool) -> bool {
    let layout = view.layout;
    let params = &layout.params;
    let (mut hash, mut layer) = (hash.get(), layout.first);
    let mut index = 0;
    loop {
        hash = rehashed(hash, params.steps(index));
        let row = Row::new(hash, layer.num_starts());
        let is_last = index + 1 == params.num_layers();
        if is_last || !row.start % BUCKET < limit(view.payload, &layer, row.start) {
            return agrees(view.payload, Window::new(view, &layer, row));
        }
        index += 1;
        layer = layer.next(params, layout.num_blocks[index].into());
    }
}
