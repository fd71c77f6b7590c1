//! Every kind with every engine of this processor, on payloads, hashes and answers that lie flush against pages that
//! cannot be read. AddressSanitizer does not see what assembly reads.
//!
//! The engines and the shapes of their payloads are private, so this is a unit test. `tests/guard_pages.rs` has what
//! only the whole library reads: headers, frames and keys, intact and damaged.

use super::blocked::sizing::{MAX_NUM_PROBES, MAX_SALT_BITS};
use super::seam::{Hashes, MAX_CACHED_LEN, Mode, PARAMS_LEN};
use super::size::Target;
use super::{FilterLayout, Params, Plan, Settings, StoredParams, fuse, golomb, ribbon};
use crate::build::Output;
use crate::codes::{Buckets, MAX_REMAINDER_BITS};
use crate::cpu::Guarded;
use crate::hash::{KeyHash, mix};
use crate::kind::FilterKind;
use std::vec::Vec;

/// The memory of payloads, hashes and answers.
struct Pages([Guarded; 3]);

impl Pages {
    fn new() -> Self {
        Self([1 << 18, 1 << 16, 4096].map(Guarded::new))
    }

    /// Probes `payload` with each engine. All must answer as the portable engine does on ordinary memory. A payload that
    /// is refused is not probed.
    fn probe(&mut self, params: Params, payload: &[u8], present: &[u64]) -> Counts {
        let Ok(layout) = FilterLayout::check(params, payload, 0, None) else { return Counts::default() };
        let mut counts = Counts::default();
        let most = layout.columns().map(|columns| columns.stored);
        // Queries that compare fewer columns read less.
        for columns in [most, most.map(|most| most.div_ceil(2))] {
            counts.add(self.probe_columns(params, payload, columns, present));
            if columns.is_none() {
                break;
            }
        }
        counts
    }

    fn probe_columns(&mut self, params: Params, payload: &[u8], columns: Option<u32>, present: &[u64]) -> Counts {
        let Self([payload_pages, hash_pages, answer_pages]) = self;
        let mut counts = Counts::default();
        let layouts = |payload: &[u8]| {
            let mut layout = FilterLayout::check(params, payload, 0, None).expect("accepted before");
            if let Some(columns) = columns {
                layout.limit_columns(columns);
            }
            layout.with_each_engine()
        };
        let absent = (0..40).map(|i| mix(i ^ (payload.len() as u64) << 40));
        let some_present = present.iter().step_by(1 + present.len() / 40).copied();
        let hashes: Vec<KeyHash> =
            some_present.chain(absent).chain([0, 1, 1 << 32, u64::MAX - 1, u64::MAX]).map(KeyHash::from_raw).collect();
        let portable = layouts(payload)[0];
        let expected: Vec<bool> = hashes.iter().map(|&hash| portable.may_contain(payload, 0, hash)).collect();
        let num_batched = mix(payload.len() as u64) as usize % hashes.len();
        let rates = (portable.predicted_fpr(payload).to_bits(), portable.fill(payload).to_bits());
        payload_pages.at_both_ends(payload, |payload| {
            let layouts = layouts(payload);
            counts.engines = layouts.len();
            assert_eq!((layouts[0].predicted_fpr(payload).to_bits(), layouts[0].fill(payload).to_bits()), rates);
            for layout in layouts {
                for (&hash, &expected) in hashes.iter().zip(&expected) {
                    layout.prefetch(payload, 0, hash);
                    let inlined = layout.inlined.may_contain(payload, 0, hash);
                    assert!(inlined.is_none_or(|answer| answer == expected), "{layout:?}");
                    assert_eq!((layout.called)(&layout, payload, 0, hash), expected, "{layout:?}");
                    counts.inlined += usize::from(inlined.is_some());
                }
                for len in [num_batched, hashes.len()] {
                    hash_pages.at_both_ends(&hashes[..len], |hashes| {
                        answer_pages.at_both_ends(&vec![false; len], |answers| {
                            layout.may_contain_all(payload, hashes, answers);
                            assert_eq!(answers, &expected[..len], "{layout:?}");
                        });
                    });
                    counts.probes += 4 * len;
                }
                counts.probes += hashes.len();
            }
        });
        counts
    }

    /// Builds by `plan`, from hashes and into memory that lie flush against the pages, and probes the payload; then
    /// damages a byte after the other, and probes `num_payloads` payloads in all.
    fn build_and_probe(&mut self, plan: Plan, num_entries: u64, num_payloads: u64) -> Counts {
        let mut hashes: Vec<u64> = (0..num_entries).map(|i| mix(num_entries ^ (i << 40))).collect();
        hashes.sort_unstable();
        let mut payload = Vec::new();
        let checked = Mode { parallel: false, checks: true };
        let built =
            plan.build(Hashes::remapped(&mut hashes.clone()), &mut Output::Vec(&mut payload), checked).expect("built");
        let Self([payload_pages, hash_pages, _]) = self;
        hash_pages.at_both_ends(&hashes, |hashes| {
            payload_pages.at_both_ends(&vec![0xff; payload.len()], |memory| {
                let again = plan.build(Hashes::remapped(hashes), &mut Output::Slice { memory, len: 0 }, checked);
                assert_eq!((again, built.is_checked), (Ok(built), true));
                assert!(memory == payload, "{plan:?}");
            });
        });
        let params = built.params;
        let mut counts = Counts::default();
        for damage in 0..num_payloads {
            counts.add(self.probe(params, &payload, &hashes));
            let at = mix(num_entries ^ damage << 32) as usize % payload.len();
            payload[at] ^= mix(!num_entries ^ damage) as u8;
        }
        counts
    }
}

#[derive(Default)]
struct Counts {
    /// The number of engines that the processor has for the kind.
    engines: usize,
    probes: usize,
    /// The number of probes that were compiled into the caller's loop.
    inlined: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.engines = self.engines.max(other.engines);
        self.probes += other.probes;
        self.inlined += other.inlined;
    }
}

/// Returns plans of `kind` for all `rates` and numbers of entries, each with the number of payloads to probe.
fn plans(kind: FilterKind, rates: &[f64], nums_entries: &[u64]) -> Vec<(Plan, u64, u64)> {
    let plan =
        |rate, num_entries| Settings::new(kind).plan(Target::Rate(rate), num_entries).expect("short enough").plan;
    let of_rate = |&rate| nums_entries.iter().map(move |&num_entries| (plan(rate, num_entries), num_entries, 4));
    rates.iter().flat_map(of_rate).collect()
}

fn bloom_plans() -> Vec<(Plan, u64, u64)> {
    plans(FilterKind::Bloom, &[0.3, 0.1, 0.01, 1e-3, 1e-6], &[1, 2, 3, 20, 700, 3_000])
}

/// Returns payloads of all settings: of few lines, of more than a page, and of more than [`MAX_CACHED_LEN`] bytes,
/// where batches prefetch.
fn blocked_payloads() -> impl Iterator<Item = (Params, Vec<u8>)> {
    let shapes =
        (1..=MAX_NUM_PROBES as u8).flat_map(|probes| (0..=MAX_SALT_BITS as u8).map(move |salts| (probes, salts)));
    shapes
        .flat_map(|shape| [1, 2, 3, 64, 65, 130, MAX_CACHED_LEN as u64 / 64 + 2].map(|num_lines| (shape, num_lines)))
        .map(|((probes, salts), num_lines)| {
            let payload: Vec<u8> = (0..num_lines * 64).map(|i| (mix(i) | mix(!i)) as u8).collect();
            let mut bytes = [0; PARAMS_LEN];
            (bytes[0], bytes[1]) = (probes, salts);
            let stored = StoredParams { bytes: &bytes, base: 0, num_entries: 1, payload_len: payload.len() as u64 };
            (Params::decode(FilterKind::Blocked, &stored).expect("legal"), payload)
        })
}

fn golomb_plans() -> Vec<(Plan, u64, u64)> {
    let mut plans = Vec::new();
    for remainder_bits in 0..=MAX_REMAINDER_BITS {
        let range = (64u64 << remainder_bits) * 3 / 2;
        let mut add = |num_entries, num_buckets, range, num_payloads| {
            let plan =
                golomb::Plan { buckets: Buckets { num: num_buckets, range }, remainder_bits: remainder_bits as u8 };
            plans.push((plan.into(), num_entries, num_payloads));
        };
        for (num_entries, num_buckets) in [(1, 1), (5, 1), (64, 1), (100, 1), (128, 2), (450, 7), (4300, 67)] {
            add(num_entries, num_buckets, range, 4);
        }
        // A bucket of each length around those from which on a vector is loaded, with many quotients and with few.
        for num_entries in (1..140).filter(|_| remainder_bits < 12) {
            for range in [range, range / 3 + 1, num_entries + 3] {
                add(num_entries, 1, range, 1);
            }
        }
    }
    plans
}

/// Returns plans of one layer and of two.
fn ribbon_plans() -> Vec<(Plan, u64, u64)> {
    let sizes = [(1, 0), (100, 1 << 30), (129, 0), (700, 1 << 31), (3_000, u32::MAX), (5_000, 1 << 30)];
    let of_columns = |columns| {
        let sizes = sizes.into_iter().filter(move |&(_, share)| columns < ribbon::sizing::MAX_COLUMNS || share == 0);
        sizes.flat_map(move |(num_entries, share)| {
            plans(FilterKind::Ribbon, &[ribbon::sizing::false_positive_rate(columns, share)], &[num_entries])
        })
    };
    (1..=ribbon::sizing::MAX_COLUMNS).flat_map(of_columns).collect()
}

fn fuse_plans() -> Vec<(Plan, u64, u64)> {
    let rates: Vec<f64> = (1..=fuse::sizing::MAX_FINGERPRINT_BITS).map(fuse::sizing::false_positive_rate).collect();
    plans(FilterKind::Fuse, &rates, &[1, 2, 20, 700, 3_000])
}

#[test]
fn no_probe_and_no_build_is_out_of_bounds() {
    let mut pages = Pages::new();
    for &kind in FilterKind::ALL {
        let mut counts = Counts::default();
        let plans = match kind {
            FilterKind::Bloom => bloom_plans(),
            FilterKind::Blocked => {
                blocked_payloads().for_each(|(params, payload)| counts.add(pages.probe(params, &payload, &[])));
                assert_eq!(counts.inlined > 0, counts.engines > 1);
                plans(kind, &[0.2, 0.01, 1e-5], &[1, 2, 40, 700, 3_000])
            }
            FilterKind::Golomb => golomb_plans(),
            FilterKind::Ribbon => ribbon_plans(),
            FilterKind::Fuse => fuse_plans(),
        };
        for (plan, num_entries, num_payloads) in plans {
            counts.add(pages.build_and_probe(plan, num_entries, num_payloads));
        }
        let Counts { engines, probes, .. } = counts;
        println!("counted: {probes} probes of {kind} filters by {engines} engines beside pages that cannot be read");
    }
}
