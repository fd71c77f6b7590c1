//! The dimensions of a filter, and how they are stored.

use super::sizing::{self, MAX_COLUMNS};
use super::{MAX_LAYERS, NUM_BLOCKS_LEN};
use crate::bytes;
use crate::error::DecodeError;
use crate::keys::kinds::seam::{KindParams, PARAMS_LEN, StoredParams};
use crate::keys::kinds::trailer::Trailer;

/// A mark in a compact frame, in place of the length of `wide_share`: `thinned_from` follows, and the share is 0.
const THINNED: u8 = 0xf;

/// Dimensions: stored as `columns: u8` at 0, `num_layers: u8` at 1, `last_seed: u8` at 2, `thinned_from: u8` at 3,
/// `wide_share: u32` at 4, zeros at 8..12. The layers' numbers of blocks are stored at the payload's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    pub(super) columns: u8,
    pub(super) num_layers: u8,
    /// The number of seeds that failed in the last layer.
    pub(super) last_seed: u8,
    /// The number of columns of the widest blocks that a thinned filter was thinned from, which is more than its own; 0
    /// in other filters.
    pub(super) thinned_from: u8,
    /// The share of the blocks in which rows with one column more start, in units of 2⁻³².
    pub(super) wide_share: u32,
}

/// A compact frame stores `wide_share` without its leading zero bytes, `last_seed`, `columns`, and a byte with
/// `num_layers` in the upper four bits and the length of `wide_share` in the lower four. In a thinned filter,
/// `thinned_from` is in place of `wide_share`, and [`THINNED`] in place of its length.
impl KindParams for Params {
    const REMAPS: bool = true;

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

    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1], out[2], out[3]) = (self.columns, self.num_layers, self.last_seed, self.thinned_from);
        bytes::put_u32(&mut out, 4, self.wide_share);
        out
    }

    fn encode_trailer(&self, out: &mut impl Extend<u8>) {
        let len = match self.thinned_from {
            0 => bytes::push_short(out, self.wide_share.into()),
            from => {
                out.extend([from]);
                THINNED
            }
        };
        out.extend([self.last_seed, self.columns, self.num_layers << 4 | len]);
    }
}

impl Params {
    pub(super) fn new(
        [columns, num_layers, last_seed]: [u8; 3],
        wide_share: u64,
        thinned_from: u64,
    ) -> Result<Self, DecodeError> {
        let is_thinned = thinned_from > 0;
        let max_columns = u64::from(MAX_COLUMNS - u32::from(wide_share > 0 || is_thinned));
        // A thinned filter has whole columns.
        let max_share = if is_thinned { 0 } else { u32::MAX };
        let min_from = if is_thinned { u64::from(columns) + 1 } else { 0 };
        DecodeError::check_params(&[
            ("columns", u64::from(columns), 1, max_columns),
            ("num_layers", u64::from(num_layers), 1, MAX_LAYERS as u64),
            ("last_seed", u64::from(last_seed), 0, u64::from(sizing::MAX_SEEDS - 1)),
            ("wide_share", wide_share, 0, u64::from(max_share)),
            ("thinned_from", thinned_from, min_from, u64::from(MAX_COLUMNS)),
        ])?;
        Ok(Self { columns, num_layers, last_seed, thinned_from: thinned_from as u8, wide_share: wide_share as u32 })
    }

    pub(super) const fn num_layers(&self) -> usize {
        self.num_layers as usize
    }

    /// The number of wide blocks, in which rows with one column more start, in a layer of `num_blocks`: the wide share of
    /// all blocks in which rows start, rounded up.
    pub(super) const fn num_wide(&self, num_blocks: u64) -> u64 {
        ((num_blocks - 1) * self.wide_share as u64).div_ceil(1 << 32)
    }

    /// The most columns that a block stores.
    pub(super) const fn most_columns(&self) -> u32 {
        self.columns as u32 + (self.wide_share > 0) as u32
    }

    /// The bits of a fingerprint that some block stores.
    pub(super) const fn fingerprint_mask(&self) -> u32 {
        u32::MAX >> (u32::BITS - self.most_columns())
    }

    /// The number from which [`rehashed`](super::row::rehashed) makes the hash that enters layer `index`.
    #[inline(always)]
    pub(super) const fn steps(&self, index: usize) -> u8 {
        let seed = if index + 1 == self.num_layers() { self.last_seed } else { 0 };
        (index > 0) as u8 + seed
    }

    /// The length of the numbers of blocks at the payload's end.
    pub(super) const fn directory_len(&self) -> usize {
        self.num_layers() * NUM_BLOCKS_LEN
    }
}
