//! Queries of payloads that lie flush against pages that cannot be read.

use super::sizing::{MAX_FINGERPRINT_BITS, false_positive_rate};
use super::{KindView, Params, Settings, View};
use crate::cpu::Guarded;
use crate::filter::output::Output;
use crate::filter::seam::{KindPlan, KindSettings};
use crate::filter::size::Target;
use crate::hash::{KeyHash, mix};
use std::vec::Vec;

/// Built ones, then damaged ones.
#[test]
fn no_query_reads_out_of_bounds() {
    let mut pages = Guarded::new(1 << 16);
    let mut num_answers = 0;
    for fingerprint_bits in 1..=MAX_FINGERPRINT_BITS {
        for num_entries in [1, 2, 20, 700, 3_000] {
            let seed = u64::from(fingerprint_bits) << 32 | num_entries;
            let mut hashes: Vec<u64> = (0..num_entries).map(|i| mix(seed ^ (i << 40))).collect();
            let target = Target::Rate(false_positive_rate(fingerprint_bits));
            let plan = Settings.plan(target, num_entries).expect("short enough").plan;
            let mut payload = Vec::new();
            let params = plan.build(&mut hashes, &mut Output::Vec(&mut payload), false).expect("solved");
            let absent = (0..40).map(|i| mix(!seed ^ i));
            let probed: Vec<KeyHash> = hashes
                .iter()
                .step_by(1 + hashes.len() / 40)
                .copied()
                .chain(absent)
                .chain([0, 1, u64::MAX])
                .map(KeyHash::from_raw)
                .collect();
            for damage in 0..4 {
                num_answers += answers_are_the_same(params, &payload, &probed, &mut pages);
                let at = mix(seed ^ damage) as usize % payload.len();
                payload[at] ^= mix(!seed ^ damage) as u8;
            }
        }
    }
    println!("counted: {num_answers} probes of fuse filters beside pages that cannot be read");
}

/// How many there were; none where `payload` is refused.
fn answers_are_the_same(params: Params, payload: &[u8], probed: &[KeyHash], pages: &mut Guarded) -> usize {
    let Ok(ordinary) = View::check(params, payload, 0) else { return 0 };
    let ordinary = View::new(&ordinary, payload);
    pages.at_both_ends(payload, |payload| {
        let layout = View::check(params, payload, 0).expect("accepted before");
        let view = View::new(&layout, payload);
        for &hash in probed {
            view.prefetch(hash);
            assert_eq!(view.may_contain(hash), ordinary.may_contain(hash), "{params:?}");
        }
        assert_eq!(view.fill(), ordinary.fill());
    });
    probed.len()
}
