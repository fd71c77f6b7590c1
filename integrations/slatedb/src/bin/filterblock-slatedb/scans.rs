//! Sets of keys, and scans in which none of them lies.

#![expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]

use std::collections::BTreeSet;
use std::ops::Range;

/// A set of keys, and scans.
pub struct Set {
    pub name: &'static str,
    /// In the order that they come in.
    pub keys: Vec<Vec<u8>>,
    pub scans: Vec<Range<Vec<u8>>>,
}

impl Set {
    /// Draws scans until enough have no key.
    fn new(name: &'static str, keys: Vec<Vec<u8>>, num_scans: u64, draw: impl FnMut() -> Range<Vec<u8>>) -> Self {
        let sorted: BTreeSet<_> = keys.iter().map(Vec::as_slice).collect();
        let is_empty = |scan: &Range<Vec<u8>>| sorted.range(&scan.start[..]..&scan.end[..]).next().is_none();
        let scans = std::iter::repeat_with(draw).filter(is_empty).take(num_scans as usize).collect();
        Self { name, keys, scans }
    }

    /// A hundred series with a point every ten seconds or so, and pauses of up to a day.
    pub fn series(num_keys: u64, num_scans: u64) -> Self {
        const NUM_SERIES: usize = 100;
        const BEGIN: u64 = 1_760_000_000_000;
        const DAY: u64 = 86_400_000;
        const TEN_MINUTES: u64 = 600_000;
        let mut random = Random(1);
        let mut series: Vec<(u64, u64)> = (0..NUM_SERIES).map(|_| (random.next() >> 24, BEGIN)).collect();
        let mut points = Vec::new();
        for i in 0..num_keys as usize {
            let (id, time) = &mut series[i % NUM_SERIES];
            let pause = if random.below(300) == 0 { random.below(DAY) } else { 0 };
            *time += 9_000 + random.below(2_000) + pause;
            points.push((*time, *id));
        }
        points.sort_unstable();
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let row = |id: u64, time: u64| [id.to_be_bytes(), time.to_be_bytes()].concat();
        let keys = points.iter().map(|&(time, id)| row(id, time)).collect();
        let name = "Series and time, 16 bytes. Ten minutes of a series in which it has no point:";
        Self::new(name, keys, num_scans, || {
            let (id, from) = (random.of(&series).0, first + random.below(last - first));
            row(id, from)..row(id, from + TEN_MINUTES)
        })
    }

    /// Addresses, and sections that a site does not have.
    pub fn sections(num_keys: u64, num_scans: u64) -> Self {
        let mut site = Sites::new();
        let keys = site.addresses(num_keys);
        let name = "Addresses, SITE/SECTION/TITLE. A section that a site does not have:";
        Self::new(name, keys, num_scans, || {
            let begin = site.pick().0.clone();
            begins_with(&format!("{begin}/{}", site.random.of(&site.sections)))
        })
    }

    /// The same addresses, and sites that there are not.
    pub fn sites(num_keys: u64, num_scans: u64) -> Self {
        let mut site = Sites::new();
        let keys = site.addresses(num_keys);
        Self::new("The same addresses. A site that there is not:", keys, num_scans, || begins_with(&site.random.site()))
    }
}

/// The range of all keys that begin with `directory` and a slash.
fn begins_with(directory: &str) -> Range<Vec<u8>> {
    format!("{directory}/").into_bytes()..format!("{directory}0").into_bytes()
}

/// Sites, each with a few of the sections.
struct Sites {
    random: Random,
    sections: Vec<String>,
    sites: Vec<(String, Vec<String>)>,
}

impl Sites {
    fn new() -> Self {
        let mut random = Random(2);
        let sections: Vec<String> = (0..60).map(|_| random.word()).collect();
        let own = |random: &mut Random| (0..1 + random.below(11)).map(|_| random.of(&sections).clone()).collect();
        let sites = (0..10_000).map(|_| (random.site(), own(&mut random))).collect();
        Self { random, sections, sites }
    }

    /// The first sites have many times as many addresses as the last ones.
    fn pick(&mut self) -> &(String, Vec<String>) {
        let share = self.random.below(1 << 32) as f64 / 2f64.powi(32);
        &self.sites[((self.sites.len() as f64).powf(share) - 1.0) as usize]
    }

    fn addresses(&mut self, num: u64) -> Vec<Vec<u8>> {
        let (mut seen, mut keys) = (BTreeSet::new(), Vec::new());
        while (keys.len() as u64) < num {
            let (site, own) = self.pick().clone();
            let mut key = format!("{site}/{}/{}", self.random.of(&own), self.random.word());
            (0..self.random.below(4)).for_each(|_| key += &format!("-{}", self.random.word()));
            if seen.insert(key.clone()) {
                keys.push(key.into_bytes());
            }
        }
        keys
    }
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }

    /// Two to four syllables.
    fn word(&mut self) -> String {
        let mut word = String::new();
        for _ in 0..2 + self.below(3) {
            word.push(char::from(*self.of(b"bcdfghklmnprstvw")));
            word.push(char::from(*self.of(b"aeiou")));
        }
        word
    }

    fn site(&mut self) -> String {
        format!("https://www.{}{}.{}", self.word(), self.word(), self.of(&["com", "org", "net", "de"]))
    }
}
