//! The builds and queries of `compare.py` by Rust, over keys of the same form: what the arrays of Python are measured
//! against. Prints a line for each policy: nanoseconds a key of a build and a query of numbers, and of strings.

use filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder, FilterPolicy, KeyHash, OpenOptions};
use std::error::Error;
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

const ROUNDS: usize = 3;
const BATCH_LEN: usize = 4096;

/// Distinct numbers of up to 64 bits, by SplitMix64.
fn numbers(range: Range<u64>) -> impl Iterator<Item = u64> {
    range.map(|number| {
        let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

fn entries(numbers: &[u64]) -> impl ExactSizeIterator<Item = [u8; 8]> {
    numbers.iter().map(|number| number.to_le_bytes())
}

/// Text end to end, as Arrow has it, and where each word begins and the last one ends.
struct Words {
    text: String,
    offsets: Vec<i32>,
}

impl Words {
    fn of(prefix: &str, numbers: impl Iterator<Item = u64>) -> Self {
        let mut words = Self { text: String::new(), offsets: vec![0] };
        for number in numbers {
            words.text += &format!("{prefix} {number:x}");
            words.offsets.push(words.text.len() as i32);
        }
        words
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.offsets.windows(2).map(|ends| &self.text[ends[0] as usize..ends[1] as usize])
    }
}

type Filter = FilterBlock<AlignedBytes>;

fn build<K: AsRef<[u8]>>(
    policy: &FilterPolicy,
    keys: impl ExactSizeIterator<Item = K>,
) -> Result<Filter, Box<dyn Error>> {
    let mut builder = FilterBlockBuilder::new(policy);
    builder.try_reserve(keys.len())?;
    keys.for_each(|key| builder.add_hash(policy.hasher().hash(key.as_ref())));
    let block = AlignedBytes::copy_of(&builder.finish()?);
    Ok(OpenOptions::new().expect(policy).open_owned(block).map_err(|damaged| damaged.to_string())?)
}

fn query<K: AsRef<[u8]>>(filter: &Filter, keys: impl ExactSizeIterator<Item = K>) -> Vec<bool> {
    let mut answers = vec![false; keys.len()];
    let mut hashes: Vec<KeyHash> = Vec::with_capacity(BATCH_LEN);
    let mut keys = keys.map(|key| filter.entry_hasher().hasher().hash(key.as_ref()));
    for batch in answers.chunks_mut(BATCH_LEN) {
        hashes.clear();
        hashes.extend(keys.by_ref().take(batch.len()));
        filter.may_contain_hashes(&hashes, batch);
    }
    answers
}

/// The least time of a build, and of a query, in nanoseconds a key.
fn measure<K, I>(
    policy: &FilterPolicy,
    keys: impl Fn() -> I,
    absent: impl Fn() -> I,
) -> Result<[f64; 2], Box<dyn Error>>
where
    K: AsRef<[u8]>,
    I: ExactSizeIterator<Item = K>,
{
    let mut least = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let filter = build(policy, keys())?;
        least[0] = least[0].min(begun.elapsed().as_secs_f64() * 1e9 / keys().len() as f64);
        let begun = Instant::now();
        black_box(query(&filter, absent()));
        least[1] = least[1].min(begun.elapsed().as_secs_f64() * 1e9 / absent().len() as f64);
    }
    Ok(least)
}

fn main() -> Result<(), Box<dyn Error>> {
    let ints: Vec<u64> = numbers(0..10_000_000).collect();
    let no_ints: Vec<u64> = numbers(10_000_000..11_000_000).collect();
    let words = Words::of("user", numbers(0..1_000_000));
    let no_words = Words::of("absent user", numbers(0..1_000_000));
    for text in std::env::args().skip(1).filter(|argument| argument.contains(':')) {
        let policy = text.parse()?;
        let [build, query] = measure(&policy, || entries(&ints), || entries(&no_ints))?;
        let [build_words, query_words] = measure(&policy, || words.iter(), || no_words.iter())?;
        println!("{text} {build:.1} {query:.1} {build_words:.1} {query_words:.1}");
    }
    Ok(())
}
