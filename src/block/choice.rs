//! The choice among kinds: what each costs for a number of entries, and which an automatic policy takes.

use super::HEADER_LEN;
use super::expected::{expected_fpr, expected_len};
use crate::error::BuildError;
use crate::filter::size::{FilterSize, bits_of};
use crate::kind::FilterKind;
use crate::policy::{FilterPolicy, SizedKind, Workload, closer};
use core::cmp::Ordering;
use core::fmt;
use std::vec::Vec;

/// A reason leaves out what is paid if it is less than this part of what is saved.
const LEAST_TOLD_PART: f64 = 50.0;

/// Bytes that cost nothing beside a size in bits or bytes: the header, and what rounding to whole lines adds.
const GRANTED_OVERHEAD_BYTES: u64 = HEADER_LEN as u64 + 64;

/// What a filter of one kind costs over the life of its table, in nanoseconds of one core.
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
    /// One query of an absent key: longer for a block that exceeds the caches.
    pub query_ns: f64,
    /// Building the block.
    pub build_ns: f64,
    /// All queries of absent keys.
    pub queries_ns: f64,
    /// The reads in vain: false positives among these queries.
    pub reads_ns: f64,
    /// Holding the block's bytes; under a size in bits or bytes, which is granted, only those beyond it, the header and
    /// a line of 64 bytes.
    pub bytes_ns: f64,
}

impl KindCost {
    fn new(of_kind: &SizedKind, workload: Workload, num_entries: u64) -> Result<Self, BuildError> {
        let (block_len, rate) = (expected_len(of_kind, num_entries)?, expected_fpr(of_kind, num_entries)?);
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

    /// What is compared: building, queries, reads in vain and bytes together.
    pub fn total_ns(&self) -> f64 {
        self.build_ns + self.queries_ns + self.reads_ns + self.bytes_ns
    }

    /// The cheaper first; of two that cost the same, the one with the faster query.
    fn order(&self, other: &Self) -> Ordering {
        self.total_ns().total_cmp(&other.total_ns()).then(self.query_ns.total_cmp(&other.query_ns))
    }

    /// The parts of the total, each with its name.
    fn parts(&self) -> [(&'static str, f64); 4] {
        [
            ("building", self.build_ns),
            ("queries", self.queries_ns),
            ("reads in vain", self.reads_ns),
            ("bytes held", self.bytes_ns),
        ]
    }
}

/// Bytes of a block that cost nothing.
fn granted_bytes(size: FilterSize, num_entries: u64) -> u64 {
    let size_bytes = match size {
        FilterSize::FalsePositiveRate(_) => return 0,
        FilterSize::MillibitsPerKey(millibits) => bits_of(num_entries, millibits).div_ceil(8),
        FilterSize::MaxBytes(max_bytes) => max_bytes,
    };
    size_bytes.saturating_add(GRANTED_OVERHEAD_BYTES)
}

/// What a policy takes for a number of entries, and by comparison with what. Its [text](fmt::Display) is the reason.
///
/// ```
/// use filterblock::{FilterPolicy, FilterSize, Workload};
///
/// # fn main() -> Result<(), filterblock::BuildError> {
/// let policy = FilterPolicy::auto(FilterSize::MillibitsPerKey(10_000), Workload::default().with_queries(2_000_000))?;
/// let choice = policy.choice(1_000_000)?;
/// assert_eq!(choice.policy().kind(), Some(choice.kind()));
/// println!("{choice}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    policy: FilterPolicy,
    num_entries: u64,
    workload: Workload,
    /// Whether the policy chooses.
    is_automatic: bool,
    best: (KindCost, SizedKind),
    /// From the next on.
    others: Vec<(KindCost, SizedKind)>,
    refused: Vec<(FilterKind, BuildError)>,
}

impl Choice {
    /// The kind.
    pub fn kind(&self) -> FilterKind {
        self.cost().kind
    }

    /// The policy with the kind named: a builder with it makes the same block of as many entries.
    pub fn policy(&self) -> FilterPolicy {
        self.policy.with_kind(self.best.1)
    }

    /// What the chosen kind costs.
    pub fn cost(&self) -> &KindCost {
        &self.best.0
    }

    /// What each kind costs that can have the size, from the cheapest on.
    pub fn costs(&self) -> impl Iterator<Item = &KindCost> {
        std::iter::once(&self.best).chain(&self.others).map(|(cost, _)| cost)
    }

    /// The kinds that cannot have the size with as many entries, and why.
    pub fn refused(&self) -> impl Iterator<Item = &(FilterKind, BuildError)> {
        self.refused.iter()
    }

    /// The number of distinct entries that was asked for.
    pub fn num_entries(&self) -> u64 {
        self.num_entries
    }

    /// By what the costs are computed: [`Workload::default`] for a policy that names its kind.
    pub fn workload(&self) -> Workload {
        self.workload
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let best = self.cost();
        if !self.is_automatic {
            return write!(f, "{}: named by the policy", best.kind);
        }
        let least = self.costs().map(|cost| cost.block_len).min().unwrap_or(best.block_len);
        let queries = self.workload.num_queries(self.num_entries);
        write!(f, "{}: {:.2} times the least size", best.kind, best.block_len as f64 / least as f64)?;
        write!(f, "; costs {} if queried {queries} times for absent keys", Nanoseconds(best.total_ns()))?;
        let Some(next) = self.costs().nth(1) else {
            return f.write_str(". No other kind can have this size");
        };
        write!(f, ". Next is {}, {}", next.kind, Nanoseconds(next.total_ns()))?;
        let mut parts: Vec<_> = best.parts().into_iter().zip(next.parts()).collect();
        // What saves the most first; what costs the most in return last.
        let saving = |&((_, best), (_, next)): &((&str, f64), (&str, f64))| next - best;
        parts.sort_by(|a, b| saving(b).total_cmp(&saving(a)));
        let [Some(saved), Some(paid)] = [parts.first(), parts.last()] else { return Ok(()) };
        let least_told = saving(saved) / LEAST_TOLD_PART;
        for (verb, part, is_told) in
            [("saves", saved, saving(saved) > 0.0), ("pays", paid, -saving(paid) > least_told.max(0.0))]
        {
            if is_told {
                let ((name, best), (_, next)) = *part;
                write!(f, "; {verb} most in {name}, {} instead of {}", Nanoseconds(best), Nanoseconds(next))?;
            }
        }
        Ok(())
    }
}

/// In a unit that leaves one to three digits before the point.
struct Nanoseconds(f64);

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            ns if ns < 1e3 => (ns, "ns"),
            ns if ns < 1e6 => (ns / 1e3, "µs"),
            ns if ns < 1e9 => (ns / 1e6, "ms"),
            ns => (ns / 1e9, "s"),
        };
        let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        write!(f, "{value:.digits$} {unit}")
    }
}

impl FilterPolicy {
    /// What the policy takes for a block of `num_entries` distinct entries: of an [automatic](FilterPolicy::auto)
    /// policy the kind for which this sum is least, otherwise the kind that it names:
    ///
    /// ```text
    /// entries × build_ns + queries × (query_ns + false_positive_rate × read_ns) + bytes × byte_ns
    /// ```
    ///
    /// Bytes are the block's where the policy gives a rate. Bits per key, or bytes, are granted: there only what a
    /// block takes beyond them, its header and a line of 64 bytes counts, so that the kinds differ by rates and times
    /// and not by how they round.
    ///
    /// Queries, `read_ns` and `byte_ns` are the [`Workload`]'s; `build_ns` and `query_ns` are constants of each kind;
    /// rate and length are those that the builder plans. So for few entries the kinds whose blocks have a fixed
    /// overhead lose where bytes count. Of two kinds that cost the same, the one with the faster query is taken.
    ///
    /// A builder compares the kinds for each block, which takes longer than building a small one: for many small
    /// blocks, build them with [`Choice::policy`]. Where the hashes leave the chosen kind no block under a byte cap, it
    /// takes the next in order.
    ///
    /// # Errors
    /// Where no kind can have the size, as [`FilterPolicy::expected_block_len`].
    pub fn choice(&self, num_entries: u64) -> Result<Choice, BuildError> {
        let (mut ranked, mut refused) = (Vec::new(), Vec::new());
        let workload = self.workload().unwrap_or_default();
        for (kind, of_kind) in self.sized_kinds() {
            let cost = of_kind.and_then(|of_kind| Ok((KindCost::new(&of_kind, workload, num_entries)?, of_kind)));
            match cost {
                Ok(cost) => ranked.push(cost),
                Err(error) => refused.push((kind, error)),
            }
        }
        ranked.sort_by(|(a, _), (b, _)| b.order(a));
        let Some(best) = ranked.pop() else {
            let error = refused.into_iter().map(|(_, error)| error).reduce(closer);
            // The list of kinds is not empty.
            return Err(error.unwrap_or(BuildError::Setting { name: "kinds", asked: 0, min: 1, max: u64::MAX }));
        };
        ranked.reverse();
        let is_automatic = self.workload().is_some();
        Ok(Choice { policy: *self, num_entries, workload, is_automatic, best, others: ranked, refused })
    }

    /// The kind for a block of `num_entries` entries, and those that a builder tries after it.
    pub(super) fn kinds_for(&self, num_entries: u64) -> Result<(SizedKind, Vec<SizedKind>), BuildError> {
        if let Some(of_kind) = self.named_kind() {
            return Ok((of_kind, Vec::new()));
        }
        let choice = self.choice(num_entries)?;
        Ok((choice.best.1, choice.others.into_iter().map(|(_, of_kind)| of_kind).collect()))
    }

    /// The kind for a block of `num_entries` entries.
    pub(super) fn kind_for(&self, num_entries: u64) -> Result<SizedKind, BuildError> {
        Ok(self.kinds_for(num_entries)?.0)
    }
}
