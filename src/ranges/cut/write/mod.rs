//! The writer's side: from sorted keys to a plan, to a payload, and its check.

mod build;
mod check;
mod plan;
mod trie;
mod weigh;

pub(crate) use build::build;
pub(crate) use check::check;
