//! A random frame as a request, and what a reader must reply.

use super::frames::{Frame, Hash};
use super::library;
use crate::material::hex;
use crate::oracle::{self, Golomb, Oracle};
use filterblock::KeyHasher;
use serde_json::{Value, json};

/// A request under the kit's protocol, the reply to it, and where two readers may differ.
pub struct Expected {
    pub request: Value,
    pub reply: Value,
    /// Queries whose answers the document leaves open.
    pub open: Vec<bool>,
}

impl Expected {
    pub fn new(request: Value, reply: Value) -> Self {
        Self { request, reply, open: Vec::new() }
    }

    /// The reply is the library's, and that a writer makes the same bytes of the entries in the request, if there are
    /// any.
    pub fn of_library(request: Value) -> Self {
        let mut reply = library::answer(&request);
        if request.get("entries").is_some() {
            reply["rebuilt"] = true.into();
        }
        Self::new(request, reply)
    }

    pub fn random(frame: &Frame) -> Self {
        let mut request = json!({
            "frame": if frame.compact { "compact" } else { "block" },
            "bytes": hex(&frame.bytes),
            "context": format!("{:#x}", frame.context),
        });
        match frame.hash {
            Some(Hash::Seed(seed)) => request["seed"] = format!("{seed:#x}").into(),
            Some(Hash::Key(key)) => request["key"] = hex(&key).into(),
            None => {}
        }
        if let Some(transform) = frame.transform {
            request["transform"] = json!([transform.to_wire().id, transform.to_wire().param]);
        }
        if frame.sound {
            request["entries"] = frame.entries.iter().map(|entry| hex(entry)).collect();
        }
        let entries = frame.asked.iter().map(|entry| format!("entry:{}", hex(entry)));
        request["queries"] = entries.chain(frame.hashes.iter().map(|hash| format!("hash:{hash:#x}"))).collect();
        let mut expected = Self::of_library(request);
        if expected.reply["kind"] == "golomb" {
            let oracle = if frame.compact { Oracle::open_compact(&frame.bytes) } else { Oracle::open(&frame.bytes) };
            let (oracle, set_seed) = match oracle {
                Oracle::Remapped { set_seed, own } => (*own, Some(set_seed)),
                oracle => (oracle, None),
            };
            let in_filter = |hash: u64| set_seed.map_or(hash, |set_seed| oracle::remap(hash, set_seed));
            if let Oracle::Golomb { golomb, payload } = oracle {
                let in_header = || KeyHasher::new(oracle::int(&frame.bytes[16..24]));
                let hasher = frame.hash.map_or_else(in_header, Hash::hasher);
                let hashes = frame.asked.iter().map(|entry| hasher.hash(entry).get());
                let buckets = hashes.chain(frame.hashes.iter().copied()).map(|hash| golomb.locate(in_filter(hash)).0);
                expected.open = buckets.map(|bucket| goes_beyond_64_bits(&golomb, &payload, bucket)).collect();
            }
        }
        expected
    }
}

/// Whether a sum or shift of the document's loop over a bucket is 2⁶⁴ or more: there readers may differ.
fn goes_beyond_64_bits(golomb: &Golomb, payload: &[u8], bucket: u64) -> bool {
    let r = golomb.remainder_bits;
    // Each unary bit and each remainder adds at most 2^r.
    if (16 * payload.len() as u128) << r < 1 << 64 {
        return false;
    }
    let (s, e) = (golomb.start(payload, bucket), golomb.start(payload, bucket + 1));
    let codes_end = golomb.start(payload, golomb.num_buckets);
    let codes = &payload[payload.len() - codes_end as usize / 8..];
    let (mut unary, mut remainders, mut next) = (s, e, 0u128);
    if s > e || e > codes_end {
        return false;
    }
    while remainders > unary + r {
        remainders -= r;
        let Some(one) = (unary..remainders).find(|&i| oracle::bit(codes, i) == 1) else { break };
        let remainder: u128 = (0..r).map(|i| u128::from(oracle::bit(codes, remainders + i)) << i).sum();
        next += (u128::from(one - unary) << r) + remainder + 1;
        if next > u128::from(u64::MAX) {
            return true;
        }
        unary = one + 1;
    }
    false
}
