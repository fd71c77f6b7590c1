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
//! Only the other bits are stored. These are *steps*. Text takes 9 to 14 bits a key to distinguish all keys.
//!
//! Where 64 bits of a key distinguish nearly all, there is a shorter way to store leaves of one depth: they are numbers in
//! order, and their *gaps* are stored, as a list in Elias and Fano's code (`cut/gaps.rs`). A leaf then takes two bits more
//! than the logarithm of the mean gap, whatever the depth, and nothing of it has to be decoded before it is searched.
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
//! first group to its last and compares it with the keys (`cut/write/check.rs`).
//!
//! A range that passes, though it has no key, overlaps the interval of a leaf: it lies just beside a stored key, and
//! differs from it only in bits that were cut off. Hence there is no rate that holds for all ranges: windows in which a
//! series has no point are denied nearly always, ranges that begin just after a stored key hardly ever.
//!
//! # Groups that state how fine they are
//!
//! Keys lie dense here and far apart there, and no one depth is right for a table. So each group has its own. All groups
//! have the same number of bytes, 128 of steps or 256 of gaps, and are filled to the last bit: a group takes as many keys
//! as the budget gives it, and the bits that are left make its leaves longer. Groups need no offsets, and no tree stands
//! above them: in front of them lie *marks*, three to eight bytes each, the first bits that tell where a group begins, as
//! separators of a B-tree do (Bayer and Unterauer). A query finds its group by binary search, and reads it, or the first
//! leaf of the next one (`cut/marks.rs`).
//!
//! # Where the bits go
//!
//! A policy sets the bits a key. Of steps, those beyond what distinguishes the keys make intervals smaller
//! (`cut/write/plan.rs`):
//!
//! | parameter | what a leaf keeps | what it buys |
//! |---|---|---|
//! | `extra`, of a group | the distinguishing bits and `extra` more | a bit halves the intervals |
//! | `longer` | one more, the first eighths of a group's leaves | what is left of the group |
//! | `least`, of the table | no fewer bits | what is far from all keys is denied; it is as great as takes a fiftieth of a bit a leaf |
//! | joined leaves | the distinguishing bits of a node with several keys | bits for other leaves; no flag states which are joined, as all their keys agree in the bits that are kept |
//!
//! All groups of a table have about the same `extra`, and not the same number of leaves: with equal numbers 15.0 % of absent
//! words with four more letters pass at 14 bits, with equal precision 11.8 %.
//!
//! Plans, and the two ways to store leaves, are judged by *leaving one out*: how many keys would pass if they were absent.
//! Where a key lies between two others, these may be one leaf as soon as it is absent; this counts, too, as joined leaves
//! otherwise seem better than they are. On text the estimate is within a tenth of what passes, for single leaves and for
//! joined ones, so that fewer pass as bits are added.
//!
//! A group of gaps takes the depth with which it has nearly as many keys as the budget gives it. Gaps of more than eight
//! times the mean, between series or at outages, are *jumps*, which are stored apart. Where keys fit without a cut, the
//! filter is exact, and takes what they need: ids of which a tenth is missing 2.2 bits.
//!
//! # The code of bytes
//!
//! Text has few of the 256 bytes, so with eight bits a byte much of a leaf is known in advance. Where it saves enough,
//! a filter has a code of its own, in which the bytes that distinguish its keys most often have the fewest bits
//! (`cut/code.rs`). It keeps their order (an *alphabetic* code: Gilbert and Moore; the best one by Knuth's algorithm), and
//! depends on the byte before, which has one of up to 16 classes: web addresses then take 13.6 bits to be distinguished,
//! where they took 17.7. If one key can be a prefix of another, the end of a key is a symbol, too.
//!
//! # Where a query's nanoseconds go
//!
//! Of steps, 200 000 keys at 14 bits each, from samples on a Zen 5 processor (words, and what begins with them and four
//! more letters; absent directories of web addresses):
//!
//! | part | words, 258 ns | web, 323 ns |
//! |---|---|---|
//! | the bits of bounds | 36 | 103 |
//! | the group among the marks | 27 | 28 |
//! | the group: lengths in turn, and the bits of the few leaves that these do not settle | 157 | 153 |
//! | order of bounds, prefix, separators, the call | 38 | 39 |
//!
//! Bounds of a narrow range begin with the same bytes. Where the lower one ends before the next leaf within these, so does
//! the upper one, and its own bits are never needed. Of marks three are compared at once. Of most leaves nothing but the
//! length is read. Gaps need no strings, and take 100 ns.
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
//! - P. Elias, *Efficient Storage and Retrieval by Content and Address of Static Files*, Journal of the ACM 21, 1974.
//! - R. Bayer, K. Unterauer, *Prefix B-Trees*, ACM Transactions on Database Systems 2, 1977.
//! - D. E. Knuth, *Optimum Binary Search Trees*, Acta Informatica 1, 1971.
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
mod work_tests;

#[cfg(feature = "std")]
pub use builder::RangeFilterBuilder;
pub use form::RangeForm;
pub use order::are_ordered;
#[cfg(feature = "std")]
pub use policy::RangePolicy;
pub use reader::RangeFilter;
pub use tables::probe_tables;
