//! Settings: which are legal, and the errors for the others.

use crate::*;

#[test]
fn illegal_settings_are_refused_with_the_legal_range() {
    for &kind in FilterKind::ALL {
        for asked in [-1.0, 0.0, 0.5, 1.999, 64.001, 1e300, f64::INFINITY, f64::NAN] {
            let error = FilterPolicy::with_bits_per_key(kind, asked).expect_err("illegal");
            let BuildError::BitsPerKey { min, max, .. } = error else { panic!("{error:?}") };
            assert_eq!((min, max), (2.0, 64.0));
            assert!(error.to_string().contains("2 to 64"), "{error}");
        }
        let (least, most) = rate_limits(kind);
        for asked in [-0.1, 0.0, least / 2.0, most * 1.01, 1.0, f64::NAN] {
            let error = FilterPolicy::with_false_positive_rate(kind, asked).expect_err("illegal");
            assert!(matches!(error, BuildError::FalsePositiveRate { min, max, .. } if (min, max) == (least, most)));
        }
        for legal in [least, most] {
            assert!(FilterPolicy::with_false_positive_rate(kind, legal).is_ok(), "{kind} {legal:e}");
        }
        if kind == FilterKind::Blocked {
            let policy = rated(kind, least);
            let error = policy.with_salt_bits(0).expect_err("out of reach without");
            assert!(matches!(error, BuildError::FalsePositiveRate { min, .. } if min > least), "{error}");
        }
        let error = FilterPolicy::with_max_bytes(kind, 63).expect_err("no room for a header");
        assert_eq!(error, BuildError::Setting { name: "max_bytes", asked: 63, min: 64, max: u64::MAX });
        let policy = FilterPolicy::with_max_bytes(kind, 64).expect("room for a header");
        let error = policy.with_salt_bits(7).expect_err("illegal");
        assert_eq!(error, BuildError::Setting { name: "salt_bits", asked: 7, min: 0, max: 6 });
    }
}

#[test]
fn fractions_of_a_bit_per_key_matter() {
    let size = |bits| sized(FilterKind::Bloom, bits).size();
    assert_eq!(size(9.9), FilterSize::MillibitsPerKey(9_900));
    assert_eq!(size(9.9994), FilterSize::MillibitsPerKey(9_999));
    let len = |bits| builder_of(&sized(FilterKind::Bloom, bits), decimals(10_000)).finish().expect("a block").len();
    assert_eq!((len(9.9), len(9.0), len(10.0)), (12_375, 11_250, 12_500));
}

/// A cap just below the least size used to be searched for one byte at a time.
#[test]
fn a_cap_out_of_reach_is_refused_with_the_least_size() {
    let finish = |cap| builder_of(&capped(FilterKind::Golomb, cap), decimals(20_000)).finish();
    let BuildError::ByteCap { min_bytes, .. } = finish(200).expect_err("out of reach") else { panic!() };
    assert_eq!(finish(min_bytes).expect("within reach").len() as u64, min_bytes);
    for below in [1, 2, 10, 100] {
        let error = finish(min_bytes - below).expect_err("out of reach");
        assert!(matches!(error, BuildError::ByteCap { min_bytes: m, .. } if m == min_bytes), "{error}");
    }
}

#[test]
fn a_cap_of_less_than_a_bit_per_entry_is_refused() {
    for kind in [FilterKind::Bloom, FilterKind::Blocked] {
        let finish = |cap| builder_of(&capped(kind, cap), decimals(10_000)).finish();
        let error = finish(64 + 1_249).expect_err("useless");
        assert_eq!(error, BuildError::ByteCap { kind, cap_bytes: 1_313, min_bytes: 1_314, num_entries: 10_000 });
        assert!(finish(1_314).is_ok());
    }
    // The least size in the error is sufficient, also where it is a whole line.
    for &kind in FilterKind::ALL {
        let finish = |cap| builder_of(&capped(kind, cap), ["only"]).finish();
        let Err(BuildError::ByteCap { min_bytes, .. }) = finish(64) else { panic!("{kind}: no room for a payload") };
        assert_eq!(finish(min_bytes).expect("within reach").len() as u64, min_bytes, "{kind}");
        assert!(finish(min_bytes - 1).is_err(), "{kind}");
    }
}

#[test]
fn a_byte_cap_is_kept_and_used() {
    for &kind in FilterKind::ALL {
        for (num_entries, cap) in [(1, 200), (10, 128), (1_000, 700), (1_000, 1_314), (20_000, 25_000), (20_000, 7_000)]
        {
            let block = builder_of(&capped(kind, cap), decimals(num_entries)).finish().expect("a block");
            let len = block.len() as u64;
            assert!(len <= cap, "{kind}: {len} bytes for a cap of {cap}");
            // The block uses the cap, except for a line, or one part in 50, or what exceeds 64 bits per entry, or, of
            // fuse, a bit a slot.
            let most = (64 + u64::from(num_entries) * 8).min(cap);
            let in_whole_bits = if kind == FilterKind::Fuse { u64::from(num_entries) * 3 / 16 } else { 0 };
            assert!(len + 64 + most / 50 + in_whole_bits > most, "{kind}: {len} of {most} bytes used");
        }
    }
}

#[test]
fn a_refused_build_keeps_its_entries_and_the_output() {
    let policy = capped(FilterKind::Golomb, 100);
    let mut builder = builder_of_hashes(&policy, (0..1_000).map(|i| i << 54));
    let mut out = vec![1, 2, 3];
    let error = builder.finish_into(&mut out).expect_err("1000 entries do not fit into 36 bytes");
    let BuildError::ByteCap { cap_bytes: 100, min_bytes, num_entries: 1_000, .. } = error else {
        panic!("{error}");
    };
    assert!(min_bytes > 100);
    assert_eq!((out, builder.num_added()), (vec![1, 2, 3], 1_000));
}
