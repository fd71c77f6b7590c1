//! The ground of the writers' side: the destination of a frame, and lists of hashes: grouping them, and checking whether
//! one occurs twice, without sorting them all.

mod distinct;
pub(crate) mod fault;
mod groups;
mod output;
mod scatter;
mod tally;

pub(crate) use distinct::{Repeated, check_group, check_part, check_sorted, check_suspects};
pub(crate) use groups::Groups;
pub(crate) use output::{Built, NoRoom, Output, Unbuilt};
pub(crate) use scatter::{MAX_PARTS, Partitions, group_blocks};
pub(crate) use tally::Tally;
#[cfg(test)]
pub(crate) use tally::loss;
