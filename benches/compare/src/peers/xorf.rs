//! xorf: binary fuse filters. They take numbers: XXH3 hashes of the keys, computed inside the measurement.

use crate::keys::Key;
use crate::peer::{self, Caller, Peer, Size, apart, query_each};
use ::xorf::{BinaryFuse8, BinaryFuse16, DmaSerializable, Filter};
use anyhow::anyhow;
use xxhash_rust::xxh3::xxh3_64;

struct Fuse<F>(F);

impl<F: Filter<u64> + DmaSerializable> peer::Filter for Fuse<F> {
    fn num_bytes(&self) -> usize {
        F::DESCRIPTOR_LEN + self.0.dma_fingerprints().len()
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        query_each(keys, caller, |key| apart(&self.0).contains(&xxh3_64(key)))
    }
}

fn peer<F>(kind: &'static str, from_hashes: fn(&[u64]) -> Result<F, &'static str>) -> Peer
where
    F: Filter<u64> + DmaSerializable + 'static,
{
    let build = move |keys: &[Key]| {
        let hashes: Vec<u64> = keys.iter().map(|key| xxh3_64(key)).collect();
        let filter = from_hashes(&hashes).map_err(|error| anyhow!(error))?;
        Ok(Box::new(Fuse(filter)) as Box<dyn peer::Filter>)
    };
    Peer { name: "xorf", kind, size: Size::Named, build: Box::new(build) }
}

pub fn peers() -> [Peer; 2] {
    [
        peer("BinaryFuse8", |hashes| BinaryFuse8::try_from(hashes)),
        peer("BinaryFuse16", |hashes| BinaryFuse16::try_from(hashes)),
    ]
}
