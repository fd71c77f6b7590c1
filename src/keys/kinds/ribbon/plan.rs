//! The plan: from a size to columns.

use super::build::build;
use super::sizing::{self, Expected, MAX_COLUMNS, MAX_MILLISLOTS, MIN_MILLISLOTS};
use super::{NUM_BLOCKS_LEN, Params, WORD_LEN};
use crate::build::Output;
use crate::error::BuildError;
use crate::keys::kinds::seam::{Built, Hashes, KindPlan, KindSettings, Mode, Planned, TooLong, Unbuilt};
use crate::keys::kinds::size::{MILLISLOTS, Target};
use crate::keys::kinds::speed::Speed;
use crate::math::float::pow2;

/// The greatest number of layers that filters of up to some millions of entries have.
const LIKELY_LAYERS: u64 = 4;

/// All that is known before a build, which alone determines the layers' numbers of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    columns: u8,
    wide_share: u32,
    pub(super) millislots: u32,
}

impl Plan {
    /// Returns the parameters, of which a build sets those of the layers.
    pub(super) fn params(&self) -> Params {
        let Self { columns, wide_share, .. } = *self;
        Params { columns, num_layers: 1, last_seed: 0, thinned_from: 0, wide_share }
    }
}

/// The settings: the slots of the first layer, in thousandths of a slot an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    millislots: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { millislots: sizing::DEFAULT_MILLISLOTS }
    }
}

impl KindSettings for Settings {
    type Plan = Plan;

    const SPEED: Speed = Speed { build_ns: 40.2, cached_query_ns: 9.3, uncached_query_ns: 61.5 };

    const LEN_DEPENDS_ON_KEYS: bool = true;

    fn get(&self, name: &str) -> Option<u64> {
        (name == MILLISLOTS).then_some(self.millislots.into())
    }

    fn set(self, name: &'static str, value: u64) -> Result<Self, BuildError> {
        match (name, u32::try_from(value)) {
            (MILLISLOTS, Ok(millislots @ MIN_MILLISLOTS..=MAX_MILLISLOTS)) => Ok(Self { millislots }),
            (MILLISLOTS, _) => {
                let (min, max) = (MIN_MILLISLOTS.into(), MAX_MILLISLOTS.into());
                Err(BuildError::Setting { name, asked: value, min, max })
            }
            _ => Ok(self),
        }
    }

    fn rate_limits(&self) -> (f64, f64) {
        (sizing::false_positive_rate(MAX_COLUMNS, 0), sizing::false_positive_rate(1, 0))
    }

    /// The number of bumped entries is known only when they are inserted.
    fn min_payload_len(_num_entries: u64) -> u64 {
        0
    }

    /// A filter of few entries may exceed its share by one column of two blocks, and the number of blocks. In filters
    /// of several layers, each layer adds a word in the block after the wide ones, a word where their share is rounded up, and the
    /// number of blocks. The number of bumped entries spreads by less than √n / 4, and each of them takes a slot of at
    /// most 32 bits: six times that spread is allowed. (A filter of few entries that none of sixteen seeds solves has
    /// more blocks; that happens to fewer than one in ten thousand.)
    fn max_overhead(num_entries: u64, num_blocks: u64) -> u64 {
        let of_layer = (2 * WORD_LEN + NUM_BLOCKS_LEN) as u64;
        let num_layered = (num_entries / sizing::MAX_ENTRIES_OF_LAST).min(num_blocks);
        let luck = num_entries.saturating_mul(num_layered).isqrt().saturating_mul(6);
        let of_layers = num_layered.saturating_mul(LIKELY_LAYERS * of_layer);
        num_blocks.saturating_mul(of_layer).saturating_add(of_layers).saturating_add(luck)
    }

    fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
        let Expected { num_slots, other_bytes } = sizing::expected(num_entries, self.millislots);
        let (columns, wide_share) = match target {
            Target::Rate(rate) => sizing::columns_for_false_positive_rate(rate),
            Target::Bits(bits) => {
                let num_blocks = sizing::num_blocks_of_first(num_entries, self.millislots);
                columns_for(bits.total.saturating_sub(other_bytes.saturating_mul(8)), num_slots, num_blocks)
            }
        };
        let plan = Plan { columns: columns as u8, wide_share, millislots: self.millislots };
        let num_wide = (u128::from(num_slots) * u128::from(wide_share)) >> 32;
        let solution = (u128::from(num_slots) * u128::from(columns) + num_wide).div_ceil(8);
        let payload_bytes = u64::try_from(solution).unwrap_or(u64::MAX).saturating_add(other_bytes);
        // A layer's number of blocks is stored in 32 bits.
        let (num_blocks, max_blocks) = (sizing::num_blocks(num_entries, self.millislots), u64::from(u32::MAX));
        if num_blocks > max_blocks {
            let max_bytes = u128::from(payload_bytes) * u128::from(max_blocks) / u128::from(num_blocks);
            return Err(TooLong { payload_bytes, max_bytes: max_bytes as u64 });
        }
        Ok(Planned { plan, payload_bytes })
    }
}

/// The most columns, at least 1, for which `num_bits` bits are enough in `num_slots` slots, and the share of one more,
/// which the first layer's `num_blocks` blocks store in whole blocks: one of them holds no start.
fn columns_for(num_bits: u64, num_slots: u64, num_blocks: u64) -> (u32, u32) {
    match num_bits / num_slots {
        0 => (1, 0),
        columns if columns >= u64::from(MAX_COLUMNS) => (MAX_COLUMNS, 0),
        columns => {
            // The rest is below the divisor, so at least one of the blocks in which rows start stays narrow.
            let rest = u128::from(num_bits % num_slots) * u128::from(num_blocks) / u128::from(num_slots);
            let wide = rest.saturating_sub(1);
            (columns as u32, ((wide << 32) / u128::from(num_blocks - 1)) as u32)
        }
    }
}

impl KindPlan for Plan {
    type Params = Params;

    fn build(&self, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<Built<Params>, Unbuilt> {
        build(self, hashes, out, mode)
    }

    /// Each bit of an absent hash's fingerprint agrees by chance, and in each layer the same share of blocks has one
    /// column more, except for rounding.
    fn expected_fpr(&self, num_entries: u64) -> f64 {
        let num_blocks = sizing::num_blocks_of_first(num_entries, self.millislots);
        let wide = self.params().num_wide(num_blocks) as f64 / (num_blocks - 1) as f64;
        pow2(-i32::from(self.columns)) * (1.0 - wide / 2.0)
    }
}
