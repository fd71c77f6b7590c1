//! fastbloom, given XXH3 hashes: its default hasher is slower and serves another purpose.

use crate::keys::Key;
use crate::peer::{Caller, Filter, Peer, Size, apart, query_each};
use ::fastbloom::BloomFilter;
use xxhash_rust::xxh3::xxh3_64;

impl Filter for BloomFilter {
    fn num_bytes(&self) -> usize {
        size_of_val(self.as_slice())
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        query_each(keys, caller, |key| apart(self).contains_hash(xxh3_64(key)))
    }
}

pub fn peer(bits: u32) -> Peer {
    let build = move |keys: &[Key]| {
        let mut filter = BloomFilter::with_num_bits(keys.len() * bits as usize).seed(&0).expected_items(keys.len());
        keys.iter().for_each(|key| {
            filter.insert_hash(xxh3_64(key));
        });
        Ok(Box::new(filter) as Box<dyn Filter>)
    };
    Peer { name: "fastbloom", kind: "xxh3", size: Size::Bits(bits), build: Box::new(build) }
}
