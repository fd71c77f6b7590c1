//! Every engine on payloads that lie flush against pages that cannot be read.

use super::build::build;
use super::engine::Engine;
use super::{Buckets, KindView, MAX_REMAINDER_BITS, Params, Plan, View};
use crate::cpu::Guarded;
use crate::filter::output::Output;
use crate::hash::{KeyHash, mix};
use std::vec::Vec;

#[test]
fn no_search_reads_out_of_bounds() {
    let mut pages = Guarded::new(1 << 16);
    let mut num_answers = 0;
    for remainder_bits in 0..=MAX_REMAINDER_BITS {
        let range = (64u64 << remainder_bits) * 3 / 2;
        for (num_entries, num) in [(1, 1), (5, 1), (64, 1), (100, 1), (128, 2), (450, 7), (4300, 67)] {
            num_answers += probe_damaged(remainder_bits, num_entries, Buckets { num, range }, 4, &mut pages);
        }
        // A bucket of each length around those from which on a vector is loaded, with many quotients and with few.
        for num_entries in (1..140).filter(|_| remainder_bits < 12) {
            for range in [range, range / 3 + 1, num_entries + 3] {
                num_answers += probe_damaged(remainder_bits, num_entries, Buckets { num: 1, range }, 1, &mut pages);
            }
        }
    }
    println!("counted: {num_answers} probes of golomb filters beside pages that cannot be read");
}

/// How many probes there were of the filter that is built, and then of as many in all as `num_damaged`, of which a byte
/// after the other is changed.
fn probe_damaged(
    remainder_bits: u32,
    num_entries: u64,
    buckets: Buckets,
    num_damaged: u64,
    pages: &mut Guarded,
) -> usize {
    let plan = Plan { buckets, remainder_bits: remainder_bits as u8 };
    let seed = u64::from(remainder_bits) << 32 | num_entries;
    let mut hashes: Vec<u64> = (0..num_entries).map(|i| mix(seed ^ (i << 40))).collect();
    hashes.sort_unstable();
    let mut payload = Vec::new();
    let params = build(plan, &hashes, &mut Output::Vec(&mut payload)).expect("a vector grows");
    let absent = (0..40).map(|i| mix(!seed ^ i));
    let probed: Vec<KeyHash> = hashes
        .iter()
        .step_by(1 + hashes.len() / 40)
        .copied()
        .chain(absent)
        .chain([0, 1, u64::MAX])
        .map(KeyHash::from_raw)
        .collect();
    let mut num_answers = 0;
    for damage in 0..num_damaged {
        num_answers += answers_are_the_same(params, &payload, &probed, pages);
        let at = mix(seed ^ damage) as usize % payload.len();
        payload[at] ^= mix(!seed ^ damage) as u8;
    }
    num_answers
}

/// How many there were; none where `payload` is refused.
fn answers_are_the_same(params: Params, payload: &[u8], probed: &[KeyHash], pages: &mut Guarded) -> usize {
    let Ok(mut portable) = View::check(params, payload, 0) else { return 0 };
    portable.engine = Engine::Portable(crate::cpu::Portable);
    let ordinary = View::new(&portable, payload);
    let mut num_answers = 0;
    pages.at_both_ends(payload, |payload| {
        let mut layout = View::check(params, payload, 0).expect("accepted before");
        for engine in Engine::all(&params) {
            layout.engine = engine;
            let view = View::new(&layout, payload);
            for &hash in probed {
                view.prefetch(hash);
                assert_eq!(view.may_contain(hash), ordinary.may_contain(hash), "{engine:?} {params:?}");
            }
            num_answers += probed.len();
        }
        assert_eq!(View::new(&layout, payload).predicted_fpr().to_bits(), ordinary.predicted_fpr().to_bits());
    });
    num_answers
}
