//! What a budget of bits buys: range filters of more bits pass no more empty ranges, on keys of all shapes that engines
//! have, and none denies a range with a key.

use crate::*;
use testkit::random::Random;

type Key = Vec<u8>;

/// Keys of a set and absent ones, drawn alike: those of the second number.
type Draw = fn(&mut Random) -> Key;

fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.next() as f64 / 2f64.powi(64)).sum::<f64>() - 6.0
}

fn number(number: u64) -> Key {
    number.to_be_bytes().to_vec()
}

fn syllables(random: &mut Random, most: usize) -> String {
    let letter = |random: &mut Random, letters: &[u8]| char::from(*random.of(letters));
    (0..=random.index(most))
        .map(|_| format!("{}{}", letter(random, b"bcdfghlmnprsttt"), letter(random, b"aeeio")))
        .collect()
}

/// A number below `most`, the first ones far more often.
fn zipf(random: &mut Random, most: f64) -> u64 {
    most.powf(random.next() as f64 / 2f64.powi(64)) as u64 - 1
}

const SETS: [(&str, Draw); 8] = [
    ("uniform", |random| number(random.next())),
    ("lognormal", |random| number((normal(random) * 2.0 + 40.0).exp2() as u64)),
    // A point about every ten seconds.
    ("series", |random| {
        let (id, time) = (mix(random.below(20)) & 0xffff_ffff, random.below(1_000));
        number((id << 32) | (time * 10_000 + mix(time) % 2_000 + (1 << 30)))
    }),
    ("autoinc", |random| number(random.below(12_000))),
    ("words", |random| syllables(random, 5).into_bytes()),
    ("e-mails", |random| {
        let host = zipf(random, 900.0);
        let mut of_host = Random::new(host);
        let host = format!("{}.{}", ["com", "org", "net", "de"][host as usize % 4], syllables(&mut of_host, 4));
        let (first, last) = (syllables(random, 1), syllables(random, 2));
        format!("{host}@{first}{}{last}", random.pick(&[".", "_", ""])).into_bytes()
    }),
    ("tenant rows", |random| {
        let tenant = zipf(random, 400.0);
        let table = ["orders", "items", "users", "carts", "events"][(mix(tenant) as usize + random.index(2)) % 5];
        let run = mix(tenant * 64 + random.below(30)) % 1_000_000;
        format!("tenant-{tenant:05}/{table}/{:08}", run + random.below(40)).into_bytes()
    }),
    ("web addresses", |random| {
        let site = zipf(random, 300.0);
        let mut of_site = Random::new(site);
        let (host, section) =
            (syllables(&mut of_site, 5), syllables(&mut Random::new(site * 20 + random.below(12)), 3));
        format!("com.{host}/{section}/{}.html", syllables(random, 4)).into_bytes()
    }),
];

/// Ranges without a key, by kind of load.
fn loads(random: &mut Random, keys: &[Key], absent: &[Key]) -> Vec<(&'static str, Vec<[Key; 2]>)> {
    let is_empty = |[lower, upper]: &[Key; 2]| {
        lower <= upper && keys.get(keys.partition_point(|key| key < lower)).is_none_or(|key| key > upper)
    };
    let prefix = |prefix: &[u8]| [prefix.to_vec(), [prefix, &[0xff; 24]].concat()];
    let mut loads = vec![
        ("absent keys", absent.iter().map(|key| [key.clone(), key.clone()]).collect()),
        ("cut keys", absent.iter().map(|key| prefix(&key[..key.len() - key.len() / 4])).collect::<Vec<_>>()),
        ("half keys", absent.iter().map(|key| prefix(&key[..key.len().div_ceil(2)])).collect()),
        ("from a key", absent.iter().map(|key| [[&random.of(keys)[..], b"0"].concat(), key.clone()]).collect()),
        ("directories", vec![]),
        ("windows", vec![]),
    ];
    for key in absent {
        if let Some(slash) = key.iter().rposition(|&byte| b"/@".contains(&byte)) {
            loads[4].1.push(prefix(&key[..=slash]));
        }
        if let (Ok(from), Ok(near)) = (<[u8; 8]>::try_from(&key[..]), <[u8; 8]>::try_from(&random.of(keys)[..])) {
            let near = u64::from_be_bytes(near) + 1 + random.below(9_000);
            loads[5].1.extend([near, u64::from_be_bytes(from)].map(|from| [from, from + 4_095].map(number)));
        }
    }
    loads.iter_mut().for_each(|load| load.1.retain(is_empty));
    loads
}

/// Whether so many rises more than falls are chance, if each is as likely as the other: five standard deviations.
fn is_noise(rises: u32, falls: u32) -> bool {
    f64::from(rises) - f64::from(falls) <= 5.0 * f64::from(rises + falls).sqrt()
}

#[test]
fn more_bits_pass_no_more() {
    let mut random = Random::new(48);
    let (mut num_rates, mut most, mut first, mut last) = (0, 0.0f64, 0, 0);
    for (set, draw) in SETS {
        let mut all: Vec<Key> = (0..by_extent(9_000, 9_000, 40_000)).map(|_| draw(&mut random)).collect();
        let rest = all.split_off(all.len() * 2 / 3);
        let keys: Vec<Key> = all.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let absent: Vec<Key> = rest.into_iter().filter(|key| keys.binary_search(key).is_err()).collect();
        let loads = loads(&mut random, &keys, &absent);
        let mut before: Vec<Vec<bool>> = loads.iter().map(|load| vec![true; load.1.len()]).collect();
        for half_bits in 16..=40 {
            let bits = f64::from(half_bits) / 2.0;
            let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(bits).expect("legal"));
            keys.iter().for_each(|key| builder.add_key(key));
            let block = builder.finish().expect("a filter");
            assert!(
                block.len() as f64 * 8.0 <= (bits + 0.1) * keys.len() as f64,
                "{set}, {bits}: {} bytes",
                block.len()
            );
            let filter = OpenOptions::new().open_ranges(block).expect("intact");
            for (key, next) in keys.iter().zip(&keys[1..]) {
                assert!(filter.may_contain(key) && filter.may_contain_prefix(&key[..key.len() / 2]), "{set}: {key:?}");
                assert!(filter.may_contain_range(Excluded(key), Included(next)), "{set}: {key:?} to {next:?}");
            }
            for ((load, ranges), before) in loads.iter().zip(&mut before) {
                let (mut rises, mut falls) = (0, 0);
                for ([lower, upper], before) in ranges.iter().zip(before) {
                    let passes = filter.may_contain_range(Included(lower), Included(upper));
                    rises += u32::from(passes && !*before);
                    falls += u32::from(!passes && *before);
                    first += u32::from(passes && half_bits == 16);
                    last += u32::from(passes && half_bits == 40);
                    *before = passes;
                }
                assert!(is_noise(rises, falls), "{set}, {load}: {rises} more pass and {falls} fewer at {bits} bits");
                most = most.max((f64::from(rises) - f64::from(falls)) / f64::from((rises + falls).max(1)).sqrt());
                num_rates += 1;
            }
        }
    }
    assert!(last * 2 < first, "{first} pass of 8 bits, {last} of 20");
    println!(
        "counted: {num_rates} rates of range filters by bits, none above that of fewer bits by more than {most:.1} σ"
    );
}

/// Ids of which some are deleted: each is kept whole, and nothing after it.
#[test]
fn nothing_is_stored_after_the_ends_of_keys() {
    let (kept, deleted): (Vec<u64>, Vec<u64>) = (1..40_000).partition(|&id| mix(id) % 10 > 0);
    for (bits, most) in [(8.0, 5.5), (14.0, 5.5), (200.0, 5.5)] {
        let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(bits).expect("legal"));
        kept.iter().for_each(|&id| builder.add_key(&number(id)));
        let filter = OpenOptions::new().open_ranges(builder.finish().expect("a filter")).expect("intact");
        assert!(filter.bits_per_key().is_some_and(|bits| bits < most), "{filter:?}");
        assert!(kept.iter().all(|&id| filter.may_contain(&number(id))));
        assert!(!deleted.iter().any(|&id| filter.may_contain(&number(id))));
    }
}
