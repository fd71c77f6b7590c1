//! The lower bound for a filter that reads one random line, without a cheaper hash, prefetching across queries, or
//! larger pages: hash the key and load one word of a random line of an array as large as the filter. To build: hash,
//! and change that word.

use crate::keys::Key;
use crate::peer::{Caller, Filter, Peer, Size, apart, query_each};
use anyhow::bail;
use xxhash_rust::xxh3::xxh3_64;

const LINE_LEN: usize = 64;

#[derive(Clone)]
#[repr(align(64))]
struct Line([u64; LINE_LEN / 8]);

struct Floor(Vec<Line>);

impl Floor {
    /// The line and the word that a hash selects.
    #[inline(always)]
    fn place(&self, hash: u64) -> (usize, usize) {
        let line = (u128::from(hash) * self.0.len() as u128) >> 64;
        (line as usize, hash as usize % (LINE_LEN / 8))
    }
}

impl Filter for Floor {
    fn num_bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        query_each(keys, caller, |key| {
            let hash = xxh3_64(key);
            let floor = apart(self);
            let (line, word) = floor.place(hash);
            // SAFETY: `place` gives less than the number of lines, which is not 0.
            let line = unsafe { floor.0.get_unchecked(line) };
            // Practically never equal, but the compiler cannot know.
            line.0[word] == hash
        })
    }

    fn answers(&self) -> bool {
        false
    }
}

pub fn peer(size: Size) -> Peer {
    let build = move |keys: &[Key]| {
        let Size::Bits(bits) = size else { bail!("the floor takes bits per key") };
        let num_lines = (keys.len() * bits as usize).div_ceil(8 * LINE_LEN);
        let mut floor = Floor(vec![Line([0; LINE_LEN / 8]); num_lines]);
        for key in keys {
            let hash = xxh3_64(key);
            let (line, word) = floor.place(hash);
            floor.0[line].0[word] |= 1 << (hash >> 8 & 63);
        }
        Ok(Box::new(floor) as Box<dyn Filter>)
    };
    Peer { name: "FLOOR", kind: "hash and one line", size, build: Box::new(build) }
}
