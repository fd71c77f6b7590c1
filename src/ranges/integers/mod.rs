//! The map of integers: keys of one length, which are hashed in blocks, for ranges of limited length.
//!
//! # What is stored
//!
//! After the common prefix of all keys, a key is a number of up to 16 bytes, the first of them the most significant.
//! Numbers form blocks of 2^b. A block has a random place among U, the hash of its number; a key's code is that place
//! and the key's lower b bits more, modulo U. The codes are stored in order, as one of the kinds of filter stores its
//! hashes ([`crate::codes`]).
//!
//! # Why a query is right
//!
//! A range that lies in a block has consecutive codes, as its keys would have. If no stored code is among them, no stored
//! key is in the range. A longer range is one piece for each block that it touches.
//!
//! # How often it errs
//!
//! Keys of the range's own blocks cannot be mistaken: within a block codes are as far apart as keys. The place of another
//! block is uniform, so a key of it has one of l codes with probability l / U. Of n keys one does with n · l / U at most,
//! *whatever the keys and the range are*, as long as they do not depend on the hash. For ranges of up to L integers and a
//! rate of ε, U is n · L / ε.
//!
//! This is Grafite's idea (M. Costa, P. Ferragina, G. Vinciguerra, *Grafite: Taming Adversarial Queries with Optimal
//! Range Filters*, SIGMOD 2024), whose blocks are U long each. Shorter ones let the codes of a crowd of keys, such as
//! consecutive ones, spread over all buckets: the writer takes the longest blocks that have no more than
//! [`build::MAX_KEYS_PER_BLOCK`] keys, or of which a range of the planned length touches [`query::MAX_BLOCKS`].
//!
//! # Long ranges
//!
//! First and last key are stored, so that ranges beside all keys are denied, and those that have one of both pass at once.
//! Other long ranges pass: a query of more than [`query::MAX_BLOCKS`] blocks is *maybe*. A coarse list of gaps beside the
//! codes would take 2.1 to 3.0 bits a key to deny absent series, and leave 42 % of the long ranges between random keys;
//! with as many bits more, codes pass an eighth of the short ones.
//!
//! Dense integers need no codes. Where all gaps take no more bits than the rate gives (2.2 for ids of which a tenth is
//! missing), the filter is one of cut keys of which nothing is cut off, and its rate is 0.

#[cfg(feature = "std")]
mod build;
mod codes;
mod params;
mod query;
#[cfg(all(test, feature = "std"))]
mod tests;

#[cfg(feature = "std")]
pub(super) use build::build;
pub(super) use params::Params;
pub(super) use query::{Integers, Search};
