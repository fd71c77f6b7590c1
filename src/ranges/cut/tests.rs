//! Whole payloads beside their description: a reader that takes bits one by one, puts the cells of all leaves together, and
//! compares a range with each.

use super::write::{build, check};
use super::{Groups, Params, of_span};
use crate::hash::KeyHasher;
use crate::random::Random;
use crate::ranges::keys::Keys;
use crate::ranges::query::Span;
use core::ops::Bound::{self, Excluded, Included};
use std::vec::Vec;

/// Bytes as bits, from some bit on.
#[derive(Clone, Copy)]
struct Plain<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Plain<'_> {
    fn take(&mut self, width: u32) -> u128 {
        let bit = |at: usize| u128::from(self.bytes.get(at / 8).copied().unwrap_or(0) >> (at % 8) & 1);
        let field = (0..width as usize).map(|i| bit(self.at + i) << i).sum();
        self.at += width as usize;
        field
    }
}

/// A string of at most 128 bits, the first the highest, and how many of them there are.
#[derive(Clone, Copy, Default)]
struct Text(u128, u32);

impl Text {
    /// Appends bits of which the first is the lowest.
    fn push(&mut self, bits: u128, num: u32) {
        (0..num).for_each(|i| self.0 |= (bits >> i & 1) << (127 - self.1 - i));
        self.1 += num;
    }

    /// The first `len` bits.
    fn start(self, len: u32) -> Self {
        Self(self.0 & !u128::MAX.checked_shr(len).unwrap_or(0), len)
    }

    /// The strings that begin with it.
    fn cell(self) -> (u128, u128) {
        (self.0, self.0 | u128::MAX.checked_shr(self.1).unwrap_or(0))
    }
}

struct Filter {
    params: Params,
    payload: Vec<u8>,
}

impl Filter {
    fn new(keys: &[Vec<u8>], bits: f64) -> Self {
        let mut sorted = Keys::default();
        keys.iter().for_each(|key| sorted.push(key));
        let mut payload = Vec::new();
        let params = build(&sorted, (bits * keys.len() as f64 / 8.0) as u64, &mut payload);
        assert_eq!(Params::decode(&params.encode(), keys.len() as u64, &payload).expect("legal"), params);
        check(&sorted, &params, &payload).expect("all keys");
        Self { params, payload }
    }

    /// The string of a key, whose bytes all have bits.
    fn string(&self, key: &[u8]) -> Text {
        let (mut text, mut class) = (Text::default(), 0);
        let table = &self.payload[usize::from(self.params.prefix_len)..];
        let class_of = |byte: u8| usize::from(table[256 + usize::from(byte) / 2] >> (byte % 2 * 4) & 15);
        for (index, &byte) in key[usize::from(self.params.prefix_len)..].iter().enumerate() {
            if self.params.num_classes == 0 {
                text.push(byte.reverse_bits().into(), 8);
                continue;
            }
            class = if index == 0 { class_of(0) } else { class };
            let entry = class * (usize::from(self.params.num_columns) + 1) + usize::from(table[usize::from(byte)]);
            let code = u32::from(table[384 + 2 * entry]) | u32::from(table[385 + 2 * entry]) << 8;
            text.push(u128::from(code), code >> 12);
            class = class_of(byte);
        }
        text
    }

    /// The cells of all leaves, which ascend.
    fn cells(&self) -> Vec<(u128, u128)> {
        let Params { mark_bytes, num_groups, .. } = self.params;
        let (group_len, num, mark_bytes) = (self.params.group_len(), num_groups as usize, usize::from(mark_bytes));
        let columns = usize::from(self.params.num_columns) + 1;
        let code_len = match self.params.num_classes {
            0 => 0,
            classes => 384 + 2 * usize::from(classes) * columns,
        };
        let parts = &self.payload[usize::from(self.params.prefix_len) + code_len..];
        let (marks, groups) = parts.split_at((num - 1) * mark_bytes);
        let groups: Vec<&[u8]> = groups.chunks(group_len).collect();
        assert_eq!(groups.len(), num);
        // Separators, with the bits in groups that follow marks.
        let separators: Vec<Text> = (0..num)
            .map(|group| {
                let Some(index) = group.checked_sub(1) else { return Text::default() };
                let bytes = &marks[index * mark_bytes..][..mark_bytes];
                let mut text = Text::default();
                bytes.iter().for_each(|byte| text.push(byte.reverse_bits().into(), 8));
                let mut head = Plain { bytes: groups[group], at: 29 };
                if !self.params.is_gaps && head.take(1) == 1 {
                    let len = head.take(10) as u32;
                    text.push(head.take(len), len);
                    return text;
                }
                text.start(128 - text.0.trailing_zeros())
            })
            .collect();
        let mut cells = Vec::new();
        for (group, &separator) in separators.iter().enumerate() {
            let next = separators.get(group + 1).copied().unwrap_or_default();
            let end = if next.1 == 0 { u128::MAX } else { next.0 - 1 };
            let plain = Plain { bytes: groups[group], at: 0 };
            let found = match self.params.is_gaps {
                true => gaps(plain, separator),
                false => steps(plain, separator, next.1, self.params.least.into()),
            };
            cells.extend(found.into_iter().map(|cell| (cell.0.max(separator.0), cell.1.min(end))));
        }
        assert!(cells.windows(2).all(|pair| pair[0].1 < pair[1].0), "{cells:x?}");
        cells
    }

    fn overlaps(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
        self.has(Span::Range(lower, upper))
    }

    fn has_prefix(&self, prefix: &[u8]) -> bool {
        self.has(Span::Prefix(prefix))
    }

    /// Searches at once, and in two steps.
    fn has(&self, span: Span<'_>) -> bool {
        let groups = Groups::of(&self.params, &self.payload);
        of_span(&self.params, &self.payload, span).is_some_and(|bounds| {
            let says = groups.finish(&bounds, None);
            assert_eq!(groups.finish(&bounds, Some(groups.start(&bounds))), says);
            says
        })
    }
}

/// The cells of a group of gaps.
fn gaps(mut plain: Plain<'_>, separator: Text) -> Vec<(u128, u128)> {
    let [num, depth, low_bits, num_jumps] = [10, 7, 6, 4].map(|width| plain.take(width) as u32);
    let mut jumps = Vec::new();
    if num_jumps > 0 {
        let [from_bits, len_bits, unit] = [6, 6, 6].map(|width| plain.take(width) as u32);
        jumps.extend((0..num_jumps).map(|_| (plain.take(from_bits), plain.take(len_bits) << unit)));
    }
    let mut lows = Plain { at: plain.bytes.len() * 8 - (num * low_bits) as usize, ..plain };
    let (mut high, mut cells) = (0, Vec::new());
    while cells.len() < num as usize {
        if plain.take(1) == 0 {
            high += 1;
            continue;
        }
        let value = high << low_bits | lows.take(low_bits);
        let jumped: u128 = jumps.iter().filter(|jump| jump.0 <= value).map(|jump| jump.1).sum();
        let number = ((separator.0 >> (128 - depth)) + value + jumped) << (128 - depth);
        cells.push(Text(number, depth).cell());
    }
    cells
}

/// The cells of a group of steps.
fn steps(mut plain: Plain<'_>, separator: Text, next_len: u32, least: u32) -> Vec<(u128, u128)> {
    let [num, centre, width, extra, longer, has_more] = [8, 10, 4, 4, 3, 1].map(|width| plain.take(width) as u32);
    if has_more == 1 {
        let len = plain.take(10);
        plain.take(len as u32);
    }
    let rests: Vec<u32> = (1..num).map(|_| plain.take(width) as u32).collect();
    let mut lens = std::vec![separator.1];
    for rest in rests {
        let mut quotient = 0;
        while plain.take(1) == 0 {
            quotient += 1;
        }
        let zigzag = quotient << width | rest;
        lens.push(1 + if zigzag % 2 == 0 { centre + zigzag / 2 } else { centre - zigzag.div_ceil(2) });
    }
    lens.push(next_len);
    let (mut text, mut cells, mut end) = (separator, Vec::new(), plain.bytes.len() * 8);
    for leaf in 0..num as usize {
        let (differs, next) = (lens[leaf], lens[leaf + 1]);
        let kept = differs.max(next).max(least) + extra + u32::from(longer * num > 8 * leaf as u32);
        if leaf > 0 {
            text = text.start(differs - 1);
            text.push(1, 1);
        }
        end -= (kept - differs - u32::from(next > differs)) as usize;
        let mut bits = Plain { at: end, ..plain };
        for at in differs..kept {
            let bit = if next > differs && at == next - 1 { 0 } else { bits.take(1) };
            text.push(bit, 1);
        }
        cells.push(text.cell());
    }
    cells
}

/// Compares answers for ranges with what the cells say, and where nothing is cut off with the keys.
fn compare(filter: &Filter, cells: &[(u128, u128)], keys: &[Vec<u8>], lower: &[u8], upper: &[u8]) -> bool {
    let reaches = |first: u128, last: u128| {
        cells.get(cells.partition_point(|cell| cell.1 < first)).is_some_and(|cell| cell.0 <= last)
    };
    let overlaps = || reaches(filter.string(lower).0, filter.string(upper).0);
    let (says, is_exact) = (filter.overlaps(Included(lower), Included(upper)), filter.params.is_exact());
    assert!(is_exact || says == overlaps(), "{lower:?} {upper:?} {keys:?} {:?}", filter.params);
    let has = |range: (Bound<&[u8]>, Bound<&[u8]>)| {
        use core::ops::RangeBounds;
        keys.iter().any(|key| range.contains(&&key[..]))
    };
    for range in
        [(Included(lower), Excluded(upper)), (Excluded(lower), Included(upper)), (Included(lower), Included(upper))]
    {
        let (says, has) = (filter.overlaps(range.0, range.1), has(range));
        assert!(says == has || says && !is_exact, "{range:?} {keys:?} {:?}", filter.params);
    }
    let has_prefix = match is_exact {
        true => keys.iter().any(|key| key.starts_with(lower)),
        false => {
            let (first, last) = filter.string(lower).cell();
            reaches(first, last)
        }
    };
    assert_eq!(filter.has_prefix(lower), has_prefix, "{lower:?}* {keys:?}");
    says
}

/// Keys of one shape: numbers anywhere, at all scales, close by, with rare and long gaps, in a few clusters; and texts.
fn draw(random: &mut Random, num: u64) -> Vec<Vec<u8>> {
    let shape = random.below(9);
    let mut last = random.next() >> random.below(60);
    let mut keys: Vec<Vec<u8>> = (0..num)
        .map(|_| {
            let step = match shape {
                0 => return big(random.next()),
                1 => return big(random.next() >> random.below(64)),
                2 => return big(random.below(3000)),
                3 => return big(random.below(7) << 60 | random.below(100_000)),
                6.. => return (0..random.below(9)).map(|_| b"abcdefgh/\0"[random.below(shape + 1) as usize]).collect(),
                4 if random.below(20) == 0 => random.next() >> random.below(64),
                5 if random.below(100) == 0 => random.next(),
                4 => 1,
                _ => random.below(1000),
            };
            last = last.wrapping_add(step);
            big(last)
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn big(number: u64) -> Vec<u8> {
    (0..8).map(|byte| (number >> (56 - 8 * byte)) as u8).collect()
}

#[test]
fn filters_say_what_their_bytes_say_and_keep_each_key() {
    let (mut random, mut num_denied, mut forms) = (Random::new(48), [0; 2], [0; 2]);
    for _ in 0..400 {
        let num = 1 + random.below(900);
        let keys = draw(&mut random, num);
        let filter = Filter::new(&keys, 2.0 + random.below(40) as f64 / 2.0);
        let form = usize::from(filter.params.is_gaps);
        let cells = filter.cells();
        let mut used: Vec<usize> = Vec::new();
        for key in &keys {
            let string = filter.string(key).0;
            let cell = cells.partition_point(|cell| cell.1 < string);
            assert!(cells[cell].0 <= string, "{key:?}");
            used.push(cell);
        }
        used.dedup();
        assert_eq!(used.len(), cells.len(), "each cell has a key");
        let known = |bytes: &[u8]| {
            let prefix_len = usize::from(filter.params.prefix_len);
            bytes.starts_with(&keys[0][..prefix_len])
                && bytes[prefix_len..].iter().all(|byte| {
                    filter.params.num_classes == 0 || keys.iter().any(|key| key[prefix_len..].contains(byte))
                })
        };
        for _ in 0..200 {
            let mut end = || {
                let mut key = keys[random.below(keys.len() as u64) as usize].clone();
                match key.len() {
                    0 => key.push(b'a'),
                    len => key[random.below(len as u64) as usize] ^= 1 << random.below(8),
                }
                key
            };
            let (a, b) = (end(), end());
            if known(&a) && known(&b) {
                let says = compare(&filter, &cells, &keys, (&a).min(&b), (&a).max(&b));
                num_denied[form] += u32::from(!says);
            }
        }
        forms[form] += 1;
    }
    assert!(forms.iter().all(|&num| num > 40) && num_denied.iter().all(|&num| num > 500), "{forms:?} {num_denied:?}");
}

#[test]
fn all_sets_of_few_keys_and_all_ranges() {
    let texts: [&[u8]; 9] = [b"", b"\0", b"a", b"a\0", b"ab", b"abb", b"b", b"ba", b"bb\xff"];
    let numbers: Vec<Vec<u8>> = (0..9u64).map(|i| big((3 * i + i % 2) << 59)).collect();
    for universe in [texts.map(<[u8]>::to_vec).to_vec(), numbers] {
        for set in 1u32..1 << universe.len() {
            let chosen = |&at: &usize| set >> at & 1 == 1;
            let keys: Vec<Vec<u8>> = (0..universe.len()).filter(chosen).map(|at| universe[at].clone()).collect();
            for bits in [3.0, 12.0, 40.0] {
                let filter = Filter::new(&keys, bits);
                let cells = filter.cells();
                let prefix = &keys[0][..usize::from(filter.params.prefix_len)];
                let mut bounds: Vec<Vec<u8>> = universe.clone();
                if filter.params.is_exact() {
                    // Shorter and longer ones.
                    bounds.extend(
                        universe.iter().flat_map(|key| [key[..key.len().min(1)].to_vec(), [key, &b"\0"[..]].concat()]),
                    );
                }
                bounds.retain(|bound| filter.params.is_exact() || bound.starts_with(prefix));
                bounds.sort();
                for (at, lower) in bounds.iter().enumerate() {
                    bounds[at..].iter().for_each(|upper| {
                        compare(&filter, &cells, &keys, lower, upper);
                    });
                }
            }
        }
    }
}

#[test]
fn dense_numbers_are_exact_in_less_than_three_bits() {
    let mut random = Random::new(7);
    let keys: Vec<Vec<u8>> = (1..20_000u64).filter(|_| random.below(10) > 0).map(big).collect();
    let filter = Filter::new(&keys, 14.0);
    assert!(filter.payload.len() * 8 < 3 * keys.len(), "{} bytes", filter.payload.len());
    for id in 0..20_100u64 {
        let key = big(id);
        assert_eq!(filter.overlaps(Included(&key), Included(&key)), keys.binary_search(&key).is_ok(), "{id}");
    }
}

/// Among gaps of a table are some that nearly take 64 bits together.
#[test]
fn numbers_at_both_ends_have_groups() {
    let dense = (0..225u64).chain(1000..1225);
    let keys: Vec<Vec<u8>> = dense.chain((0..200).rev().map(|i| u64::MAX - (i << 36))).map(big).collect();
    assert!(Filter::new(&keys, 14.0).params.is_gaps);
}

/// A byte code has 255 columns at most.
#[test]
fn keys_of_255_bytes_have_a_code_and_those_of_256_none() {
    for (first, num_columns) in [(1, 255), (0, 0)] {
        let mut random = Random::new(9);
        let word = |_| (0..8).map(|_| b'a' + random.below(4) as u8).collect();
        let mut keys: Vec<Vec<u8>> = (first..=255).map(|byte| [byte].into()).chain((0..4_000).map(word)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(Filter::new(&keys, 14.0).params.num_columns, num_columns);
    }
}

#[test]
fn keys_of_a_short_last_group_are_kept_as_others_are() {
    let (mut random, mut num_passing) = (Random::new(8), 0);
    for _ in 0..3 {
        let mut numbers: Vec<u64> = (0..900).map(|_| random.next() >> 1).collect();
        numbers.sort_unstable();
        let keys: Vec<Vec<u8>> = numbers.into_iter().map(big).collect();
        for num in 600..900 {
            let filter = Filter::new(&keys[..num], 14.0);
            assert!(filter.payload.len() * 8 < 14 * (num + 8) && filter.params.num_groups > 1);
            num_passing += u32::from(filter.overlaps(Included(&keys[num]), Included(&keys[num])));
        }
    }
    assert!(num_passing <= 2, "{num_passing}");
}

/// Texts: pages of sites, words of bytes that are twice as rare each as the one before, long runs with short ends.
fn draw_texts(random: &mut Random, num: u64) -> Vec<Vec<u8>> {
    let shape = random.below(3);
    let text = |_| match shape {
        0 => {
            let (site, page) = (random.below(40), random.below(1 << 20));
            std::format!("https://www.site{site}.example/{}/page-{page}.html", ["", "news", "a/b"][page as usize % 3])
                .into()
        }
        1 => (0..random.below(12)).map(|_| b'a' + random.next().trailing_zeros().min(24) as u8).collect(),
        _ => {
            let run = std::vec![b'-'; random.below(160) as usize];
            [&[b'x'; 3][random.below(3) as usize..], &run, &big(random.next())[..random.below(4) as usize]].concat()
        }
    };
    let mut keys: Vec<Vec<u8>> = (0..num).map(text).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The bytes of many sets of all sizes. Another choice of the writer's is a change that the changelog lists.
#[test]
fn the_writer_chooses_as_it_did() {
    let (mut random, mut digest) = (Random::new(50), 0);
    for round in 0..200 {
        let num = match round {
            0..2 => 40_000,
            _ => 1 + random.below([20, 200, 2_000, 6_000][round % 4]),
        };
        let keys = if round % 2 == 0 { draw(&mut random, num) } else { draw_texts(&mut random, num) };
        let filter = Filter::new(&keys, 1.0 + random.below(120) as f64 / 4.0);
        digest = KeyHasher::new(digest).hash(&filter.payload).get();
    }
    assert_eq!(digest, 0xd8c0_dfb0_d1ff_8eca);
}
