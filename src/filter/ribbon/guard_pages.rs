//! Every engine on payloads that lie flush against pages that cannot be read.

use super::engine::Engine;
use super::sizing::{MAX_COLUMNS, false_positive_rate};
use super::{KindView, Params, Settings, View};
use crate::cpu::Guarded;
use crate::filter::output::Output;
use crate::filter::seam::{KindPlan, KindSettings};
use crate::filter::size::Target;
use crate::hash::{KeyHash, mix};
use std::vec::Vec;

/// Built ones of one layer and of two, then damaged ones.
#[test]
fn no_query_reads_out_of_bounds() {
    let mut pages = Guarded::new(1 << 16);
    let mut num_answers = 0;
    for columns in 1..=MAX_COLUMNS {
        for (num_entries, share) in
            [(1, 0), (100, 1 << 30), (129, 0), (700, 1 << 31), (3_000, u32::MAX), (5_000, 1 << 30)]
        {
            if columns == MAX_COLUMNS && share > 0 {
                continue;
            }
            let seed = u64::from(columns) << 32 | num_entries;
            let mut hashes: Vec<u64> = (0..num_entries).map(|i| mix(seed ^ (i << 40))).collect();
            hashes.sort_unstable();
            let target = Target::Rate(false_positive_rate(columns, share));
            let plan = Settings::default().plan(target, num_entries).expect("short enough").plan;
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
                let most = params.most_columns();
                for compared in [most, most.div_ceil(2)] {
                    num_answers += answers_are_the_same(params, &payload, compared, &probed, &mut pages);
                }
                let at = mix(seed ^ damage) as usize % payload.len();
                payload[at] ^= mix(!seed ^ damage) as u8;
            }
        }
    }
    println!("counted: {num_answers} probes of ribbon filters beside pages that cannot be read");
}

/// How many there were; none where `payload` is refused. Queries compare the first `compared` columns.
fn answers_are_the_same(
    params: Params,
    payload: &[u8],
    compared: u32,
    probed: &[KeyHash],
    pages: &mut Guarded,
) -> usize {
    let Ok(mut portable) = View::check(params, payload, 0) else { return 0 };
    View::limit_columns(&mut portable, compared);
    portable.engine = Engine::Portable(crate::cpu::Portable);
    let ordinary = View::new(&portable, payload);
    let mut num_answers = 0;
    pages.at_both_ends(payload, |payload| {
        let mut layout = View::check(params, payload, 0).expect("accepted before");
        View::limit_columns(&mut layout, compared);
        for engine in Engine::all(&params) {
            layout.engine = engine;
            let view = View::new(&layout, payload);
            let mut answers = vec![false; probed.len()];
            view.may_contain_all(probed, &mut answers);
            for (&hash, answer) in probed.iter().zip(answers) {
                view.prefetch(hash);
                assert_eq!(view.may_contain(hash), ordinary.may_contain(hash), "{engine:?} {params:?}");
                assert_eq!(answer, ordinary.may_contain(hash), "{engine:?} {params:?}");
            }
            num_answers += probed.len();
        }
        assert_eq!(View::new(&layout, payload).predicted_fpr().to_bits(), ordinary.predicted_fpr().to_bits());
    });
    num_answers
}
