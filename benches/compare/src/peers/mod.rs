//! The peers, in the order of a round. One file per implementation.

#[cfg(feature = "engines")]
mod engines;
mod fastbloom;
mod filterblock;
mod floor;
mod lsm_tree;
mod partitions;
mod sbbf;
mod xorf;

pub use self::filterblock::{Buffer, build as build_filterblock, policy as filterblock_policy};
#[cfg(feature = "engines")]
pub use engines::version as rocksdb_version;

use crate::peer::{Peer, Size};

/// Whether other rows of the same bits per key are compared with this peer's.
pub fn is_reference(peer: &Peer) -> bool {
    peer.name == "RocksDB" && peer.kind == "FastLocalBloom"
}

pub fn is_ours(peer: &Peer) -> bool {
    peer.name == "filterblock"
}

/// Whether the peer is for tables of as many keys.
pub fn is_for(peer: &Peer, num_keys: usize) -> bool {
    num_keys >= 10 * partitions::PARTITION_KEYS || !peer.kind.ends_with(", partitions")
}

/// Whether the row is a filter of its own, and not one with another caller, in partitions, or without the builder's
/// check.
pub fn is_drawn(peer: &Peer) -> bool {
    ![", kept reader", ", partitions", " unchecked"].iter().any(|end| peer.kind.ends_with(end))
}

pub fn all() -> Vec<Peer> {
    let mut peers = Vec::new();
    for bits in [10, 16] {
        let size = Size::Bits(bits);
        #[cfg(feature = "engines")]
        peers.extend(engines::blooms(bits));
        peers.extend(self::filterblock::with_bits(bits));
        peers.extend([sbbf::peer(bits), fastbloom::peer(bits), lsm_tree::peer(bits), floor::peer(size)]);
    }
    peers.extend(self::filterblock::with_rates());
    peers.extend(partitions::peers());
    peers.extend(xorf::peers());
    #[cfg(feature = "engines")]
    peers.extend(engines::ribbons());
    peers
}
