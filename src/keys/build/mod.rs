//! The writer's side: from keys to a block, or to a compact frame; and from blocks to their union or intersection.

mod aligned;
mod builder;
mod combine;
mod payload;
mod self_check;

pub use aligned::AlignedBytes;
pub use builder::FilterBlockBuilder;
pub use combine::CombineError;
