//! sbbf-rs-safe: Parquet's split-block Bloom filter, with the instruction set chosen at run time. It takes hashes: here
//! XXH3.

use crate::keys::Key;
use crate::peer::{self, Caller, Peer, Size, apart, query_each};
use sbbf_rs_safe::Filter;
use xxhash_rust::xxh3::xxh3_64;

impl peer::Filter for Filter {
    fn num_bytes(&self) -> usize {
        self.as_bytes().len()
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        query_each(keys, caller, |key| apart(self).contains_hash(xxh3_64(key)))
    }
}

pub fn peer(bits: u32) -> Peer {
    let build = move |keys: &[Key]| {
        let mut filter = Filter::new(bits as usize, keys.len());
        keys.iter().for_each(|key| {
            filter.insert_hash(xxh3_64(key));
        });
        Ok(Box::new(filter) as Box<dyn peer::Filter>)
    };
    Peer { name: "sbbf-rs-safe", kind: "split block", size: Size::Bits(bits), build: Box::new(build) }
}
