//! The choice among kinds: the cost of each kind for a number of entries, and the kind that an automatic policy takes.

use super::sized_kind::{SizedKind, closer};
use super::{FilterPolicy, Workload};
use crate::error::BuildError;
use crate::filter::size::{FilterSize, bits_of};
use crate::frame::HEADER_LEN;
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
        FilterSize::MaxBytes(max_bytes) => max_bytes,
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
/// assert_eq!(choice.policy().kind(), Some(choice.kind()));
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
    /// The kind.
    pub fn kind(&self) -> FilterKind {
        self.cost().kind
    }

    /// Returns the policy with the kind named: a builder with it makes the same block for this number of entries.
    pub fn policy(&self) -> FilterPolicy {
        self.policy.clone().with_kind(self.best.1)
    }

    /// Returns the cost of the chosen kind.
    pub fn cost(&self) -> &KindCost {
        &self.best.0
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
}
