//! lsm-tree, the engine under fjall: its standard Bloom filter. As in its table writer, hashes are collected first, and
//! the filter is built when their number is known.

use crate::keys::Key;
use crate::peer::{Caller, Filter, Peer, Size, apart, query_each};
use ::lsm_tree::table::filter::standard_bloom::{Builder, StandardBloomFilterReader};

struct StandardBloom(Vec<u8>);

impl Filter for StandardBloom {
    fn num_bytes(&self) -> usize {
        self.0.len()
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        let reader = StandardBloomFilterReader::new(&self.0).expect("a filter just made");
        query_each(keys, caller, |key| apart(&reader).contains(key))
    }
}

pub fn peer(bits: u32) -> Peer {
    let build = move |keys: &[Key]| {
        let hashes: Vec<u64> = keys.iter().map(|key| Builder::get_hash(key)).collect();
        let mut builder = Builder::with_bpk(hashes.len(), bits as f32);
        hashes.into_iter().for_each(|hash| builder.set_with_hash(hash));
        Ok(Box::new(StandardBloom(builder.build())) as Box<dyn Filter>)
    };
    Peer { name: "lsm-tree", kind: "standard bloom", size: Size::Bits(bits), build: Box::new(build) }
}
