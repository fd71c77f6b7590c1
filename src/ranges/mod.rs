//! Range filters: whether a table may have a key between two bounds, or with a prefix.
//!
//! A scan of a narrow range reads every table whose first and last key enclose it. A range filter shows which of them
//! have nothing there. It is stored alongside the table's key filter. It also answers point lookups, less precisely.
//!
//! ```
//! use filterblock::OpenOptions;
//! use filterblock::range::{RangeFilterBuilder, RangePolicy};
//! use std::ops::Bound::{Excluded, Included};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(16.0)?);
//! for user in 0..1000 {
//!     builder.add_key(format!("user{user:03}/settings").as_bytes());
//! }
//! let block = builder.finish()?;
//!
//! let filter = OpenOptions::new().open_ranges(&block[..])?;
//! assert!(filter.may_contain_prefix(b"user007/"));
//! assert!(filter.may_contain_range(Included(b"user5"), Excluded(b"user6")));
//! assert!(!filter.may_contain_prefix(b"visitor"));
//! # Ok(())
//! # }
//! ```
//!
//! There are two maps from keys to what is stored. This page explains the first, *cut keys*, which takes any keys and
//! ranges of any length. The second, for integers and short ranges, has a rate that holds for all of them; its page is
//! `integers/mod.rs`. Large tables have both in [partitions](crate::partition::PartitionedRangeFilterBuilder). The
//! bytes are specified in `format/ranges.md`.
//!
//! # What is stored: a trie, and where it is cut
//!
//! Sorted keys, written as strings of bits, are a binary trie: neighbours share their first bits, up to the first bit
//! in which they differ, where the lower key has a zero and the higher one a one. This is their *distinguishing bit*. A
//! key is distinguished from all others by its bits up to the later one of its two distinguishing bits, with the key
//! before and with the key after. These are kept, and a few more; the rest is cut off. The kept bits are the key's
//! *leaf*. It stands for all strings that begin with them, which are an interval.
//!
//! ```text
//!   key       in common     leaf      its interval        stored
//!             with next
//!   001011    1             00        000000 .. 001111    00     the first leaf is stored whole
//!   010110    5             010110    010110              011    its second bit is a one, its last a zero
//!   010111    0             010111    010111                     its last bit is a one
//!   110001                  1         100000 .. 111111           its first bit is a one
//! ```
//!
//! The number of bits that each leaf has in common with the next is stored. From it follow the bits that a leaf shares
//! with the leaf before it, the one after them, and the zero where the next leaf branches off, if that comes later.
//! Only the other bits are stored. So a set of random integers takes about 6 bits a key, however long its keys are, and
//! text 11 to 24.
//!
//! # Why *no* is certain
//!
//! 1. Keys in order have strings of bits in order, or equal ones, so a range of keys is a range of strings.
//! 2. A key lies in the interval of its leaf, whatever its cut bits are.
//! 3. Leaves differ in their kept bits, so their intervals do not overlap, and have the order of the keys. (Keys that
//!    agree in the first 1023 bits are one leaf.)
//! 4. A range is denied only if it overlaps no interval: it lies between two neighbouring ones, before the first or
//!    after the last. Then no key is in it.
//!
//! A bound need not have a string of its own. It is compared with the common prefix of all keys first. A byte that no
//! key has becomes the next one on the keys' side, as no key lies between. An excluded bound is taken as an included
//! one wherever a key beside it could have the same kept bits. None of this takes a place from the range where a key
//! could be. Bounds that are not [in order](are_ordered) are *maybe*. The builder reads the finished filter from its
//! root to its leaves and compares it with the keys (`cut/write/check.rs`).
//!
//! A range that passes, though it has no key, overlaps the interval of a leaf: it lies just beside a stored key, and
//! differs from it only in bits that were cut off. Hence there is no rate that holds for all ranges: windows in which a
//! series has no point are denied nearly always, ranges that begin just after a stored key hardly ever.
//!
//! # Where the bits go
//!
//! A policy sets the bits a key. Those beyond what distinguishes the keys make intervals smaller (`cut/write/plan.rs`):
//!
//! | parameter | what a leaf keeps | what it buys |
//! |---|---|---|
//! | `extra` | the distinguishing bits and `extra` more | a bit halves the intervals where keys lie close together: gaps in a series, absent rows of a group |
//! | `least` | no fewer than `least` bits | a bit halves the intervals where keys are sparse, and with them the share of random ranges that pass |
//! | `longer` | `least` + 1, the first `longer` leaves of each group | the rest of the budget, of which a whole bit for every leaf would be too much |
//! | joined leaves | the distinguishing bits of a node with several keys | bits for other leaves, where budgets are too small to distinguish every key; a bit for each leaf states whether it is joined |
//!
//! Neither `extra` nor `least` will do alone. `least` is one depth for the whole table: in a table of series it
//! separates the series, and never their points. `extra` follows the keys, but a lone key far from its neighbours is
//! distinguished by few bits, and its interval remains large. Joined leaves pay for both.
//!
//! Plans are judged by *leaving one out*: how many branches of the trie, each a key or all keys with a prefix, would
//! pass if they were absent. The common lengths give that for all plans in one pass, and the bits that each takes
//! (`cut/write/trie.rs`). A plan is not chosen for each budget by itself. The plans form a chain from few bits to many,
//! in which each keeps all that the one before it keeps. So more bits pass no more ranges, of whatever kind, but for a
//! few that depend on how leaves fall into groups. Of all chains it is the one of whose plans the fewest branches pass.
//! Four `extra` bits go with joined leaves: at 14 bits a key 43 % of absent e-mail addresses pass, where without them
//! 64 % did, and 42 % of absent words where 50 % did. Nothing is kept behind the end of the longest key, if bytes have
//! their own bits. So ids that are nearly dense take 5 bits a key, and are exact.
//!
//! A policy does not name what is scanned. Leaving out keys alone, all branches alike, or branches by their number of
//! keys chose the same plans for the demo's six tables, of whose 30 000 scans of absent directories 17 581 pass; of all
//! plans of one `most`, `extra` and `least` for one of its sparse tables none passed fewer than this one, 80 %. What
//! remains lies in the host, which all its rows share and the bits of a lone row do not reach: filters of prefixes up to
//! a delimiter answer such scans.
//!
//! # The code of bytes
//!
//! Text has few of the 256 bytes, so with eight bits a byte much of a leaf is known in advance. Where it saves enough,
//! a filter has a code of its own, in which the bytes that distinguish its keys most often have the fewest bits
//! (`cut/code.rs`). It keeps their order (an *alphabetic* code: Gilbert and Moore) by bisecting the weights of the
//! sorted bytes, within two bits of their entropy. If one key can be a prefix of another, the end of a key is a symbol,
//! too.
//!
//! # Groups of 64, and a tree of them
//!
//! The numbers of common bits of 64 leaves are one column, of the least width for this group, less their least number.
//! With equal widths the place of each is known, vectors unpack 64 at a time, and the portable code is a short loop.
//! More leaves in a group would widen its columns and lengthen its search; fewer would make heads and the tree weigh
//! more. 64 flags also fit a word, so that a step of a search is a comparison of all entries and a count of zeros. The
//! first leaf of each group is an entry of a group a level up, at most six levels for 2³² leaves, and a query unpacks
//! one group a level (`cut/search` has the search, `cut/group.rs` and `cut/search/inner.rs` the layout, which may
//! change before it is released).
//!
//! # Alternatives
//!
//! `docs/decisions.md` has the rates of these at the same size, which `cargo bench --bench ranges` prints.
//!
//! | structure | what it keeps | what it lacks |
//! |---|---|---|
//! | leading bits, the same number for every key | a fixed resolution | gaps between series are 2⁴⁰ times the gaps within one |
//! | Diva: samples, and infixes between them | a fixed resolution between two samples | the same, where keys that lie between two samples share a long prefix and differ late |
//! | SuRF: a succinct trie, with bits of suffixes | whole distinguishing bytes, at 10 bits a node | a budget below the trie's own size; bits in place of bytes |
//! | SNARF: a model of the distribution | codes of the model's numbers | keys that are not numbers, or follow no smooth distribution |
//! | Grafite: hashed blocks of integers | a rate for any keys and ranges up to a length | keys of several lengths, and longer ranges. It is the idea of the second map |
//! | Bloom filter of prefixes | a hash of each prefix of one length | ranges that are not one prefix; the length depends on the load |
//!
//! # Papers
//!
//! - E. N. Gilbert, E. F. Moore, *Variable-Length Binary Encodings*, Bell System Technical Journal 38, 1959.
//! - H. Zhang et al., *SuRF: Practical Range Query Filtering with Fast Succinct Tries*, SIGMOD 2018.
//! - K. Vaidya et al., *SNARF: A Learning-Enhanced Range Filter*, PVLDB 15, 2022.
//! - M. Costa, P. Ferragina, G. Vinciguerra, *Grafite: Taming Adversarial Queries with Optimal Range Filters*, SIGMOD
//!   2024.
//! - N. Eslami, I. Bercea, N. Dayan, *Diva: Dynamic Range Filter for Var-Length Keys and Queries*, PVLDB 18, 2025.

#[cfg(feature = "std")]
mod builder;
mod cut;
mod form;
mod header;
mod integers;
#[cfg(feature = "std")]
mod keys;
pub mod order;
#[cfg(feature = "std")]
mod policy;
mod query;
mod reader;
mod tables;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(all(test, feature = "std"))]
mod work;

#[cfg(feature = "std")]
pub use builder::RangeFilterBuilder;
pub use form::RangeForm;
pub use order::are_ordered;
#[cfg(feature = "std")]
pub use policy::RangePolicy;
pub use reader::RangeFilter;
pub use tables::probe_tables;
