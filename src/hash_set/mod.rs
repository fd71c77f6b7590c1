//! Lists of hashes: grouping them, and checking whether one occurs twice, without sorting them all.

mod distinct;
mod groups;
mod partition;
mod tally;

pub(crate) use distinct::{Repeated, check_group, check_part, check_sorted, check_suspects};
pub(crate) use groups::Groups;
pub(crate) use partition::{MAX_PARTS, Partitions, group_blocks};
pub(crate) use tally::Tally;
#[cfg(test)]
pub(crate) use tally::loss;
