//! The search for a hash: which layer holds it, and where.

use super::layer::Layer;
use super::row::{Row, WIDTH, rehashed};
use super::{BUCKET, LIMITS, Layout, Params, WORD_LEN, portable};
#[cfg(feature = "std")]
use crate::build::Tally;
use crate::cpu::{Portable, prefetch};
use crate::hash::KeyHash;
use crate::keys::kinds::seam::{BATCH, MAX_CACHED_LEN};

/// The words of two neighbouring blocks that a query adds up. All offsets are within the payload.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// The offset, in bytes, of the words of the block in which the row starts.
    pub(super) first: usize,
    /// The offset of the words of the next block.
    pub(super) second: usize,
    /// The number of words of each block that are compared.
    pub(super) columns: u32,
    /// The slots of the first and of the second block that are added up.
    pub(super) masks: [u64; 2],
    /// The sums that an entry would have; bits beyond the columns do not count.
    pub(super) fingerprint: u32,
}

impl Window {
    #[inline(always)]
    fn new(params: &Params, layer: &Layer, row: Row) -> Self {
        let (block, slot) = (row.start / WIDTH, row.start % WIDTH);
        let (word, stored, columns) = if layer.is_even() {
            (block * u64::from(params.columns), params.columns.into(), layer.columns)
        } else {
            (layer.word_of(params, block), layer.columns_of(params, block), layer.columns_from(block))
        };
        let first = layer.first_word.wrapping_add(word) as usize * WORD_LEN;
        Self {
            first,
            second: first + stored * WORD_LEN,
            columns,
            masks: [row.coefficients << slot, row.coefficients >> 1 >> (WIDTH - 1 - slot)],
            fingerprint: row.fingerprint,
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, payload: &[u8]) {
        (self.first..self.end()).step_by(64).for_each(|at| prefetch(payload, at));
        prefetch(payload, self.end() - 1);
    }

    /// Returns the window without its first `columns` columns, which are not all.
    #[inline(always)]
    pub(super) fn after(self, columns: u32) -> Self {
        let len = columns as usize * WORD_LEN;
        Self {
            first: self.first + len,
            second: self.second + len,
            columns: self.columns - columns,
            fingerprint: self.fingerprint >> columns,
            ..self
        }
    }

    /// Returns the end of the bytes that are read.
    #[inline(always)]
    pub(super) fn end(&self) -> usize {
        self.second + self.columns as usize * WORD_LEN
    }
}

/// Rows in `start`'s bucket are bumped from this distance to the bucket's last slot on.
#[inline(always)]
pub(super) fn limit(payload: &[u8], layer: &Layer, start: u64) -> u64 {
    let bucket = start / BUCKET;
    let byte = payload[layer.thresholds_at.wrapping_add(bucket / 4) as usize];
    LIMITS[usize::from(byte >> (bucket % 4 * 2) & 3)]
}

/// Returns the window of `hash` in the first layer, unless it is bumped there, as one hash in a hundred is.
#[inline(always)]
pub(super) fn window_of(layout: &Layout, payload: &[u8], hash: KeyHash) -> Result<Window, Bumped> {
    let layer = &layout.first;
    let hash = rehashed(hash.get(), layout.first_steps);
    let row = Row::new(hash, layer.num_starts);
    if layout.params.num_layers() > 1 && is_bumped(payload, layer, row.start) {
        return Err(Bumped(hash));
    }
    Ok(Window::new(&layout.params, layer, row))
}

/// A hash that the first layer bumps, as it enters the next one.
#[derive(Clone, Copy)]
pub(super) struct Bumped(u64);

impl Bumped {
    /// Returns the answer of the layers below the first. The last of them bumps nothing, so one of them answers.
    #[inline(never)]
    pub(super) fn may_contain(self, layout: &Layout, payload: &[u8]) -> bool {
        let (params, mut layer, mut hash) = (&layout.params, layout.first, self.0);
        for index in 1..params.num_layers() {
            layer = layout.next(&layer, index);
            hash = rehashed(hash, params.steps(index));
            let row = Row::new(hash, layer.num_starts);
            if index + 1 == params.num_layers() || !is_bumped(payload, &layer, row.start) {
                return portable::agrees(payload, &Window::new(params, &layer, row));
            }
        }
        false
    }
}

/// An engine's sums.
pub(super) trait Sums: Copy {
    /// The number of columns that are added up together.
    const GROUP: u32;

    /// Returns whether the sum of each of the window's first columns, a group or all, is its bit of the fingerprint.
    /// Returns `None` if the engine would read beyond the payload.
    fn first_agree(self, payload: &[u8], window: &Window) -> Option<bool>;

    /// Compares all columns, group by group. Most absent hashes differ in the first group.
    #[inline(always)]
    fn agrees(self, payload: &[u8], window: &Window) -> Option<bool> {
        let mut window = *window;
        loop {
            match self.first_agree(payload, &window)? {
                true if window.columns > Self::GROUP => window = window.after(Self::GROUP),
                answer => return Some(answer),
            }
        }
    }

    /// Compares all columns for a single query, outside a batch.
    #[inline(always)]
    fn agrees_alone(self, payload: &[u8], window: &Window) -> Option<bool> {
        self.agrees(payload, window)
    }
}

/// Answers for one hash. If the engine has no answer, the portable engine computes the window again: a window that is
/// passed on would be written to memory for each query.
#[inline(always)]
pub(super) fn may_contain(sums: impl Sums, layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
    match window_of(layout, payload, hash) {
        Ok(window) => sums
            .agrees_alone(payload, &window)
            .unwrap_or_else(|| portable::may_contain(Portable, layout, payload, hash)),
        Err(bumped) => bumped.may_contain(layout, payload),
    }
}

/// Answers batch by batch: all windows are computed and prefetched, and then compared.
#[inline(always)]
pub(super) fn may_contain_all(
    sums: impl Sums,
    layout: &Layout,
    payload: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    if payload.len() <= MAX_CACHED_LEN {
        answers.iter_mut().zip(hashes).for_each(|(answer, &hash)| *answer = may_contain(sums, layout, payload, hash));
        return;
    }
    let mut windows = [Err(Bumped(0)); BATCH];
    for (hashes, answers) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        for (window, &hash) in windows.iter_mut().zip(hashes) {
            *window = window_of(layout, payload, hash);
            if let Ok(window) = window {
                window.prefetch(payload);
            }
        }
        for ((answer, window), &hash) in answers.iter_mut().zip(&windows).zip(hashes) {
            *answer = match window {
                Ok(window) => sums
                    .agrees(payload, window)
                    .unwrap_or_else(|| portable::may_contain(Portable, layout, payload, hash)),
                Err(bumped) => bumped.may_contain(layout, payload),
            };
        }
    }
}

#[inline(always)]
fn is_bumped(payload: &[u8], layer: &Layer, start: u64) -> bool {
    !start % BUCKET >= limit(payload, layer, start)
}

/// Neighbouring blocks of a layer that have been solved.
#[cfg(feature = "std")]
pub(super) struct Part<'a> {
    pub(super) params: &'a Params,
    /// See [`Layer::seen_from`].
    pub(super) layer: Layer,
    pub(super) solution: &'a [u8],
    /// `None` if the layer bumps nothing.
    pub(super) thresholds: Option<&'a [u8]>,
}

/// Returns the tally of those of `hashes` that the part neither bumps nor denies.
#[cfg(feature = "std")]
#[inline(always)]
pub(super) fn tally_found(sums: impl Sums, part: &Part<'_>, hashes: &[u64]) -> Tally {
    Tally::of(hashes.iter().copied().filter(|&hash| {
        let row = Row::new(hash, part.layer.num_starts);
        if part.thresholds.is_some_and(|thresholds| is_bumped(thresholds, &part.layer, row.start)) {
            return false;
        }
        let mut window = Window::new(part.params, &part.layer, row);
        // A row that ends with the part has no slot in the next block, which is not in the part.
        window.second = if window.masks[1] == 0 { window.first } else { window.second };
        sums.agrees(part.solution, &window).unwrap_or_else(|| portable::agrees(part.solution, &window))
    }))
}
