//! Texts of policies, drawn from the whole grammar: the ends of every number, what lies just outside, and any between.

use crate::random::Random;

const KINDS: &str = "bloom blocked golomb ribbon fuse auto";
const SIZES: &str = "2 1.999 2.001 3.3 8 9.9 10 16 33.333 63.999 64 64.001 1e1 NaN fpr=0.5 fpr=25% fpr=0.2 fpr=1% \
    fpr=1e-9 fpr=1e-12 fpr=9.094947017729282e-13 fpr=5e-14 fpr=0 fpr=NaN max=63 max=64 max=65 max=100 max=0x400 \
    max=4096 max=18446744073709551615 bytes=64,probes=1 bytes=65,probes=1 bytes=65,probes=64 bytes=4096,probes=7 \
    bytes=100000,probes=33 bytes=4097,probes=0 bytes=4097,probes=65 bytes=4294967361,probes=1";
const SETTINGS: &str = "seed=0 seed=7 seed=0xffffffffffffffff transform=whole-key transform=prefix:1 transform=prefix:8 \
    transform=prefix:0 transform=prefix:65535 transform=whole-key+prefix:3 transform=whole-key+prefix:65535 \
    transform=delimited:/ transform=delimited:0x00:2 transform=delimited:0xff:255 transform=row transform=row+column \
    transform=custom:128:0 transform=custom:255:65535 transform=custom:127:0 salt_bits=0 salt_bits=3 salt_bits=6 \
    salt_bits=7 slots_per_key=0.95 slots_per_key=0.949 slots_per_key=1.2 slots_per_key=1.201 slots_per_key=NaN \
    self_check=on self_check=off level=0 level=255 queries=0 queries=18446744073709551615 read_ns=0 \
    read_ns=4294967295 byte_ns=0 byte_ns=4294967295";
const BITS: &str = "2 1.999 2.001 3 9.5 14 33.333 199.999 200 200.001 NaN";
const RATES: &str = "0.5 50% 0.500001 10% 1% 0.001 1e-6 4.656612873077393e-10 4.6e-10 0 NaN";
const LENS: &str = "0 1 2 3 64 1000 65536 1073741824 2147483648 2147483649 18446744073709551615";
const RANGE_SETTINGS: &str = ",form=integers ,self_check=on ,self_check=off ,form=integers,self_check=off";

fn pick(random: &mut Random, list: &'static str) -> &'static str {
    random.pick(&list.split(' ').collect::<Vec<_>>())
}

/// A number of fewer than `bits` bits: of each length as often.
pub fn scaled(random: &mut Random, bits: u64) -> u64 {
    let end = 1 << random.below(bits);
    random.below(end)
}

/// A rate from 1/2 on down.
fn rate(random: &mut Random) -> f64 {
    0.5 / (scaled(random, 40) + 1) as f64
}

/// A policy of filters of keys.
pub fn of_keys(random: &mut Random) -> String {
    let size = match random.below(5) {
        0 => format!("{}.{:03}", random.below(63) + 2, random.below(1000)),
        1 => format!("fpr={}", rate(random)),
        2 => format!("max={}", 64 + scaled(random, 20)),
        _ => pick(random, SIZES).into(),
    };
    let mut text = format!("{}:{size}", pick(random, KINDS));
    (0..random.below(4)).for_each(|_| text.extend([",", pick(random, SETTINGS)]));
    text
}

/// A policy of range filters.
pub fn of_ranges(random: &mut Random) -> String {
    let size = match random.below(4) {
        0 => format!("{}.{:03}", random.below(199) + 2, random.below(1000)),
        1 => format!("fpr={},len={}", rate(random), scaled(random, 32) + 1),
        2 => pick(random, BITS).into(),
        _ => format!("fpr={},len={}", pick(random, RATES), pick(random, LENS)),
    };
    let setting = if random.one_in(2) { pick(random, RANGE_SETTINGS) } else { "" };
    format!("range:{size}{setting}")
}

/// Drawn texts that `parse` accepts, with what it makes of them.
pub fn accepted<T>(
    random: &mut Random,
    draw: fn(&mut Random) -> String,
    parse: impl Fn(&str) -> Option<T>,
) -> (String, T) {
    loop {
        let text = draw(random);
        if let Some(policy) = parse(&text) {
            return (text, policy);
        }
    }
}

/// A number of keys: mostly few, in the middle hundreds, and rarely up to `most`.
pub fn num_keys(random: &mut Random, most: usize) -> usize {
    match random.below(1000) {
        0 => scaled(random, 21).min(most as u64) as usize,
        1..100 => random.pick(&[300, 1000, 1023]).min(most),
        _ => random.pick(&[0, 1, 2, 3, 4, 7, 10, 36, 37, 64, 100]),
    }
}
