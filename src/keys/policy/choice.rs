//! The plan of a policy for a number of entries, without keys and without a block: the cost of each kind, the kind that
//! an automatic policy takes, and the rate and the length that are expected of it.

use super::sized_kind::{SizedKind, closer, remapped_bytes};
use super::{FilterPolicy, Workload};
use crate::error::BuildError;
use crate::frame::{EMPTY_COMPACT_LEN, HEADER_LEN, MAX_TRAILER_LEN};
use crate::keys::kinds::Settings;
use crate::keys::kinds::size::{FilterSize, bits_of};
use crate::kind::FilterKind;
use core::cmp::Ordering;
use std::vec::Vec;

/// The bytes that cost nothing beside a size in bits or bytes: the header, and the rounding to whole lines.
const GRANTED_OVERHEAD_BYTES: u64 = HEADER_LEN as u64 + 64;

/// The cost of a filter of one kind over the life of its table, in nanoseconds of one core.
///
/// Times are constants of the kind, measured on one machine, so that the choice is the same on every machine; sizes and
/// rates are those of the block that the builder plans.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct KindCost {
    /// The kind.
    pub kind: FilterKind,
    /// The expected length of the block, header included.
    pub block_len: u64,
    /// The expected false-positive rate.
    pub false_positive_rate: f64,
    /// The time of one query of an absent key, which is longer if the block exceeds the caches.
    pub query_ns: f64,
    /// The time of building the block.
    pub build_ns: f64,
    /// The time of all queries of absent keys.
    pub queries_ns: f64,
    /// The cost of wasted reads: the false positives among these queries.
    pub reads_ns: f64,
    /// The cost of holding the block's bytes. Under a size in bits or bytes, which is granted, only the bytes beyond
    /// it, the header and a line of 64 bytes count.
    pub bytes_ns: f64,
}

impl KindCost {
    fn new(of_kind: &SizedKind, workload: Workload, num_entries: u64) -> Result<Self, BuildError> {
        let (block_len, rate) = (of_kind.expected_block_len(num_entries)?, of_kind.expected_fpr(num_entries)?);
        let (speed, queries) = (of_kind.settings.speed(), workload.num_queries(num_entries) as f64);
        let query_ns = speed.query_ns(block_len);
        let counted_bytes = block_len.saturating_sub(granted_bytes(of_kind.size, num_entries));
        Ok(Self {
            kind: of_kind.kind(),
            block_len,
            false_positive_rate: rate,
            query_ns,
            build_ns: speed.build_ns * num_entries as f64,
            queries_ns: queries * query_ns,
            reads_ns: queries * rate * f64::from(workload.read_ns()),
            bytes_ns: counted_bytes as f64 * f64::from(workload.byte_ns()),
        })
    }

    /// Returns the sum that is compared: building, queries, wasted reads and bytes.
    pub fn total_ns(&self) -> f64 {
        self.build_ns + self.queries_ns + self.reads_ns + self.bytes_ns
    }

    /// Orders the cheaper kind first; if two cost the same, the one with the faster query.
    fn order(&self, other: &Self) -> Ordering {
        self.total_ns().total_cmp(&other.total_ns()).then(self.query_ns.total_cmp(&other.query_ns))
    }
}

/// Returns the number of bytes of a block that cost nothing.
fn granted_bytes(size: FilterSize, num_entries: u64) -> u64 {
    let size_bytes = match size {
        FilterSize::FalsePositiveRate(_) => return 0,
        FilterSize::MillibitsPerKey(millibits) => bits_of(num_entries, millibits).div_ceil(8),
        FilterSize::MaxBytes(max_bytes) | FilterSize::FixedShape { block_len: max_bytes, .. } => max_bytes,
    };
    size_bytes.saturating_add(GRANTED_OVERHEAD_BYTES)
}

/// The kind chosen for a number of entries, with the costs of the alternatives.
///
/// ```
/// use filterblock::{FilterPolicy, FilterSize, Workload};
///
/// # fn main() -> Result<(), filterblock::BuildError> {
/// let policy = FilterPolicy::auto(FilterSize::MillibitsPerKey(10_000), Workload::default().with_num_queries(2_000_000))?;
/// let choice = policy.choice(1_000_000)?;
/// assert_eq!(choice.policy().kind(), Some(choice.cost().kind));
/// for cost in choice.costs() {
///     println!("{}: {:.0} ns, {} bytes", cost.kind, cost.total_ns(), cost.block_len);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    policy: FilterPolicy,
    num_entries: u64,
    workload: Workload,
    best: (KindCost, SizedKind),
    /// The costs of the alternatives, from the next best on.
    others: Vec<(KindCost, SizedKind)>,
}

impl Choice {
    /// Returns the policy with the kind named: a builder with it makes the same block for this number of entries.
    pub fn policy(&self) -> FilterPolicy {
        self.policy.clone().with_kind(self.best.1)
    }

    /// Returns the cost of the chosen kind.
    pub fn cost(&self) -> &KindCost {
        &self.best.0
    }

    /// Returns whether the chosen filter costs less than no filter does, all of its bytes counted: building, queries,
    /// wasted reads and bytes against a wasted read for each query. A table for which it does not pay, such as one that
    /// is hardly queried, is written without a filter by the engine: then every key is *maybe*.
    ///
    /// ```
    /// use filterblock::{FilterPolicy, FilterSize, Workload};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let deep = Workload::default().with_level(6);
    /// let pays = |queries| {
    ///     let workload = deep.with_num_queries(queries);
    ///     let policy = FilterPolicy::auto(FilterSize::FalsePositiveRate(0.01), workload)?;
    ///     Ok::<_, filterblock::BuildError>(policy.choice(1_000_000)?.pays())
    /// };
    /// assert!(pays(1_000_000_000)? && !pays(1_000)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pays(&self) -> bool {
        let cost = self.cost();
        let bytes_ns = cost.block_len as f64 * f64::from(self.workload.byte_ns());
        let without_ns = self.workload.num_queries(self.num_entries) as f64 * f64::from(self.workload.read_ns());
        cost.build_ns + cost.queries_ns + cost.reads_ns + bytes_ns < without_ns
    }

    /// Returns the cost of each kind that can have the size, from the cheapest on.
    pub fn costs(&self) -> impl Iterator<Item = &KindCost> {
        std::iter::once(&self.best).chain(&self.others).map(|(cost, _)| cost)
    }

    /// Returns the requested number of distinct entries.
    pub fn num_entries(&self) -> u64 {
        self.num_entries
    }

    /// Returns the workload of the costs: [`Workload::default`] for a policy that names its kind.
    pub fn workload(&self) -> Workload {
        self.workload
    }
}

impl FilterPolicy {
    /// Returns the choice for a block of `num_entries` distinct entries. An [automatic](FilterPolicy::auto) policy
    /// chooses the kind for which this sum is least; others name theirs:
    ///
    /// ```text
    /// entries × build_ns + queries × (query_ns + false_positive_rate × read_ns) + bytes × byte_ns
    /// ```
    /// If the policy gives a rate, all bytes of the block count. Bits per key, or bytes, are granted: then only the
    /// bytes beyond them, the header and a line of 64 bytes count, so that the kinds differ by rates and times and not
    /// by rounding.
    ///
    /// Queries, `read_ns` and `byte_ns` are the [`Workload`]'s; `build_ns` and `query_ns` are constants of each kind;
    /// rate and length are those that the builder plans. So kinds whose blocks have a fixed overhead lose for few
    /// entries if bytes count. If two kinds cost the same, the one with the faster query is taken.
    ///
    /// A builder compares the kinds for each block, which takes longer than building a small one: build many small
    /// blocks with [`Choice::policy`]. If the hashes leave the chosen kind no block under a byte cap, the builder takes
    /// the next in order.
    ///
    /// # Errors
    /// The errors of [`FilterPolicy::expected_block_len`], if no kind can have the size.
    pub fn choice(&self, num_entries: u64) -> Result<Choice, BuildError> {
        let (mut ranked, mut refused) = (Vec::new(), None);
        let workload = self.workload().unwrap_or_default();
        for of_kind in self.sized_kinds() {
            let cost = of_kind.and_then(|of_kind| Ok((KindCost::new(&of_kind, workload, num_entries)?, of_kind)));
            match cost {
                Ok(cost) => ranked.push(cost),
                Err(error) => refused = Some(refused.map_or(error, |other| closer(other, error))),
            }
        }
        ranked.sort_by(|(a, _), (b, _)| b.order(a));
        let Some(best) = ranked.pop() else {
            // The list of kinds is not empty.
            return Err(refused.unwrap_or(BuildError::Setting { name: "kinds", asked: 0, min: 1, max: u64::MAX }));
        };
        ranked.reverse();
        Ok(Choice { policy: self.clone(), num_entries, workload, best, others: ranked })
    }

    /// Returns the kind for a block of `num_entries` entries, and the kinds that a builder tries after it.
    pub(crate) fn kinds_for(&self, num_entries: u64) -> Result<(SizedKind, Vec<SizedKind>), BuildError> {
        if let Some(of_kind) = self.named_kind() {
            return Ok((of_kind, Vec::new()));
        }
        let choice = self.choice(num_entries)?;
        Ok((choice.best.1, choice.others.into_iter().map(|(_, of_kind)| of_kind).collect()))
    }

    /// Returns the kind for a block of `num_entries` entries.
    pub(crate) fn kind_for(&self, num_entries: u64) -> Result<SizedKind, BuildError> {
        Ok(self.kinds_for(num_entries)?.0)
    }

    /// Returns the expected false-positive rate of a block of `num_entries` distinct entries, from the dimensions with
    /// which it would be built; 0 without entries, which are all absent.
    ///
    /// A block's own [rate](crate::FilterBlockReader::false_positive_rate) differs from it by the luck of its keys.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let rate = policy.expected_false_positive_rate(1_000_000)?;
    /// assert!((0.006..0.0063).contains(&rate));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::TooLarge`] if no block could be built.
    pub fn expected_false_positive_rate(&self, num_entries: u64) -> Result<f64, BuildError> {
        self.kind_for(num_entries)?.expected_fpr(num_entries)
    }

    /// Returns the length in bytes of a block of `num_entries` distinct entries, header included: for memory to which
    /// the block is [written](crate::FilterBlockBuilder::finish_into_slice), and for cutting tables by the length of
    /// their filters.
    ///
    /// The length is exact for the kinds whose length does not [depend on the keys](FilterPolicy::len_depends_on_keys),
    /// except that a few filters of the kind fuse, whose hashes had to be remapped, are 8 bytes longer: under a byte cap
    /// they have smaller fingerprints, or, where the cap leaves less than 8 bytes above the least block, cannot be built
    /// ([`BuildError::ByteCap`]).
    /// For the others it is the budget if the policy gives bits per key or a byte cap, or the least length if that is
    /// more, and the average if it gives a rate. A block exceeds it by at most 1 % and
    /// [`FilterPolicy::max_overhead_bytes`] of one block; one with a byte cap does not exceed the cap.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// assert_eq!(policy.expected_block_len(10_000)?, 12_480);
    /// assert_eq!(policy.expected_block_len(0)?, 64);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::TooLarge`] and [`BuildError::ByteCap`] where no block could be built. For the kinds whose length
    /// depends on the keys, the bytes that a cap needs at least are an estimate.
    pub fn expected_block_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        self.kind_for(num_entries)?.expected_block_len(num_entries)
    }

    /// Returns a number of bytes that suffices to [write](crate::FilterBlockBuilder::finish_into_slice) a block of any
    /// `num_entries` distinct entries: [`FilterPolicy::expected_block_len`], with its margin for the kinds whose length
    /// depends on the keys. For an [automatic](FilterPolicy::auto) policy it suffices for the longest kind that may be
    /// chosen.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// assert_eq!(policy.max_block_len(10_000)?, policy.expected_block_len(10_000)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`FilterPolicy::expected_block_len`].
    pub fn max_block_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        let header_len = HEADER_LEN as u64;
        Ok(self.max_payload_len(num_entries, HEADER_LEN)?.map_or(header_len, |len| header_len.saturating_add(len)))
    }

    /// Returns the number of bytes that suffices, like [`FilterPolicy::max_block_len`], for a [compact
    /// frame](crate::FilterBlockBuilder::finish_compact_into).
    ///
    /// # Errors
    /// The errors of [`FilterPolicy::expected_block_len`].
    pub fn max_compact_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        let empty_len = EMPTY_COMPACT_LEN as u64;
        Ok(self.max_payload_len(num_entries, 0)?.map_or(empty_len, |len| len.saturating_add(MAX_TRAILER_LEN)))
    }

    /// Returns the greatest length among the kinds that the policy may choose; `None` without entries.
    fn max_payload_len(&self, num_entries: u64, header_len: usize) -> Result<Option<u64>, BuildError> {
        let (mut most, mut refusal) = (None, None);
        for of_kind in self.sized_kinds().filter(|_| num_entries > 0) {
            match of_kind.and_then(|of_kind| of_kind.max_payload_len(num_entries, header_len)) {
                Ok(len) => most = most.max(Some(len)),
                Err(error) => refusal = Some(refusal.map_or(error, |other| closer(other, error))),
            }
        }
        match (most, refusal) {
            (None, Some(error)) => Err(error),
            _ => Ok(most),
        }
    }

    /// Returns the greatest number of entries whose block is expected to have at most `block_len` bytes, header
    /// included: the inverse of [`FilterPolicy::expected_block_len`]. 0 if not even one entry fits. Under a policy of
    /// [`FilterPolicy::with_max_bytes`] every number fits for which a block within the cap can be built.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let num_entries = policy.expected_num_entries(4096);
    /// assert!(policy.expected_block_len(num_entries)? <= 4096);
    /// assert!(policy.expected_block_len(num_entries + 1)? > 4096);
    /// # Ok(())
    /// # }
    /// ```
    /// Under an [automatic](FilterPolicy::auto) policy it is the greatest number of the kind that is chosen for that
    /// number; if no kind is chosen for its own, it is the number that fits for all kinds.
    pub fn expected_num_entries(&self, block_len: u64) -> u64 {
        if let Some(of_kind) = self.named_kind() {
            return of_kind.expected_num_entries(block_len);
        }
        let of_kinds = self.sized_kinds().filter_map(Result::ok);
        let mut most: Vec<_> = of_kinds.map(|of_kind| (of_kind.expected_num_entries(block_len), of_kind)).collect();
        most.sort_by_key(|&(num_entries, _)| core::cmp::Reverse(num_entries));
        // All have one size and their kinds' defaults, so the kind alone decides which one is chosen.
        let is_chosen = |num_entries, kind| self.kind_for(num_entries).is_ok_and(|chosen| chosen.kind() == kind);
        let own = most.iter().find(|(num_entries, of_kind)| is_chosen(*num_entries, of_kind.kind()));
        own.or(most.last()).map_or(0, |&(num_entries, _)| num_entries)
    }

    /// Returns whether the length of a block of `kind` depends on its keys, and not on their number alone.
    pub fn len_depends_on_keys(kind: FilterKind) -> bool {
        Settings::new(kind).len_depends_on_keys()
    }

    /// Returns whether the rate of blocks of `kind` falls by steps as they get more bits. Sizes in bits then leave a
    /// part of them unused, and the rate of a size depends on the number of entries.
    pub fn rate_has_steps(kind: FilterKind) -> bool {
        Settings::new(kind).rate_has_steps()
    }

    /// Returns the greatest number of bytes that `num_blocks` blocks of `kind`, with `num_entries` distinct entries in
    /// all, take together beyond their bits per key: headers, rounding, and the luck of the keys where a kind's length
    /// depends on them.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    /// assert_eq!(FilterPolicy::max_overhead_bytes(FilterKind::Bloom, 1_000, 10), 10 * (64 + 1));
    /// ```
    pub fn max_overhead_bytes(kind: FilterKind, num_entries: u64, num_blocks: u64) -> u64 {
        let headers = num_blocks.saturating_mul(HEADER_LEN as u64);
        let seeds = num_blocks.saturating_mul(remapped_bytes(kind));
        headers.saturating_add(seeds).saturating_add(Settings::new(kind).max_overhead(num_entries, num_blocks))
    }
}

#[cfg(test)]
mod tests {
    use crate::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyHash, OpenOptions};

    fn splitmix(number: u64) -> u64 {
        let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns the average rate that built blocks report of themselves.
    fn built(policy: &FilterPolicy, num_entries: u64) -> f64 {
        let num_blocks = (20_000 / num_entries).max(1);
        let rates = (0..num_blocks).map(|block| {
            let mut builder = FilterBlockBuilder::new(&policy.clone().with_self_check(false));
            let numbers = block * num_entries + 1..=(block + 1) * num_entries;
            numbers.for_each(|number| builder.add_hash(KeyHash::from_raw(splitmix(number))));
            let block = builder.finish().unwrap();
            OpenOptions::new().open(&block).unwrap().false_positive_rate()
        });
        rates.sum::<f64>() / num_blocks as f64
    }

    #[test]
    fn the_expected_rate_is_that_of_built_blocks() {
        let mut worst = 0.0f64;
        for &kind in FilterKind::ALL {
            // The blocked kind's formula holds for filters of many lines.
            let sizes: &[u64] = if kind == FilterKind::Blocked { &[20_000, 60_000] } else { &[100, 1_000, 20_000] };
            for &num_entries in sizes {
                for bits in [2.0, 3.0, 5.0, 8.0, 10.0, 14.0] {
                    let policy = FilterPolicy::with_bits_per_key(kind, bits).unwrap();
                    let expected = policy.expected_false_positive_rate(num_entries).unwrap();
                    let built = built(&policy, num_entries);
                    let off = (built / expected - 1.0).abs();
                    assert!(off < 0.05, "{kind}, {num_entries} entries of {bits} bits: {expected}, built {built}");
                    worst = worst.max(off);
                }
            }
        }
        println!("expected and built rates differ by at most {:.1} %", worst * 100.0);
    }

    #[test]
    fn without_entries_nothing_passes_and_too_many_are_refused() {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 64.0).unwrap();
        assert_eq!(policy.expected_false_positive_rate(0), Ok(0.0));
        assert!(policy.expected_false_positive_rate(1 << 40).is_err());
    }
}
