//! The rows that a hash probes, the rates that follow, and the sizes that a writer chooses.

use crate::format::mix;
use filterblock::KeyHash;

/// How a hash probes: `num_visits` pages, one in each part, and in each of them one row of each band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// 1 to 32.
    pub num_visits: u8,
    /// 1 to 8.
    pub num_bands: u8,
    /// The binary logarithm of the number of rows of a band: 0 to 8, and at most 32 for all bands together.
    pub row_bits: u8,
}

/// The rows of a group: those of `num_pages` pages in each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// How a hash probes.
    pub shape: Shape,
    /// 1 to 2^31 - 1.
    pub num_pages: u32,
}

impl Shape {
    /// Returns the shape for a rate: two bands of eight rows, and as many visits as take about a tenth more bits than a
    /// Bloom filter of the rate.
    pub fn for_rate(rate: f64) -> Self {
        let num_visits = match rate {
            rate if rate >= 0.03 => 2,
            rate if rate >= 0.004 => 3,
            rate if rate >= 0.0008 => 4,
            rate if rate >= 0.00008 => 6,
            _ => 8,
        };
        Self { num_visits, num_bands: 2, row_bits: 3 }
    }

    /// Returns the number of rows of a page, at most 2 048; 0 of a shape with more than 2^31 rows a band.
    pub fn page_rows(&self) -> u32 {
        u32::from(self.num_bands).checked_shl(self.row_bits.into()).unwrap_or(0)
    }

    /// Returns whether all numbers are in their ranges.
    pub(crate) fn is_valid(&self) -> bool {
        (1..=32).contains(&self.num_visits)
            && (1..=8).contains(&self.num_bands)
            && self.row_bits <= 8
            && self.num_bands * self.row_bits <= 32
    }
}

impl Table {
    /// The greatest number of pages of a part.
    pub const MAX_PAGES: u32 = i32::MAX as u32;

    /// Returns the number of rows of all parts.
    pub fn num_rows(&self) -> u64 {
        (u64::from(self.shape.num_visits) * u64::from(self.num_pages)).saturating_mul(self.shape.page_rows().into())
    }

    /// Returns the page that a hash visits in a part, and the bits that select rows in it.
    #[inline]
    pub(crate) fn visit(&self, hash: KeyHash, part: u8) -> (u32, u64) {
        let x = mix(hash.get().wrapping_add((u64::from(part) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        (((u128::from(x) * u128::from(self.num_pages)) >> 64) as u32, x)
    }

    /// Returns the rows of a page that the bits of a visit select.
    #[inline]
    pub(crate) fn rows(&self, bits: u64) -> impl Iterator<Item = u32> + use<> {
        let Shape { num_bands, row_bits, .. } = self.shape;
        (0..num_bands).map(move |band| {
            let row = (bits >> (band * row_bits)) as u32 & ((1 << row_bits) - 1);
            (u32::from(band) << row_bits) + row
        })
    }

    /// Returns the numbers of the rows that a hash probes, counted over all parts.
    #[inline]
    pub(crate) fn probes(&self, hash: KeyHash) -> impl Iterator<Item = u64> + '_ {
        (0..self.shape.num_visits).flat_map(move |part| {
            let (page, bits) = self.visit(hash, part);
            let page = u64::from(part) * u64::from(self.num_pages) + u64::from(page);
            self.rows(bits).map(move |row| page * u64::from(self.shape.page_rows()) + u64::from(row))
        })
    }

    /// Returns the false-positive rate of a file of `num_keys` distinct keys: exactly, as an average over all hash
    /// functions. A visit passes with the probability that all bands' rows are set, by inclusion and exclusion over the
    /// bands; visits are independent.
    pub fn rate(&self, num_keys: u64) -> f64 {
        let num_bands = i32::from(self.shape.num_bands);
        let missed = 1.0 - 0.5_f64.powi(self.shape.row_bits.into());
        let (mut pass, mut choose) = (0.0, 1.0);
        for band in 0..=num_bands {
            // No key of the page has set the rows of `band` certain bands.
            let hit = (1.0 - missed.powi(band)) / f64::from(self.num_pages);
            let all_miss = (num_keys as f64 * (-hit).ln_1p()).exp();
            // 0 keys miss for certain, also where each key would hit.
            let all_miss = if num_keys == 0 { 1.0 } else { all_miss };
            pass += choose * if band % 2 == 0 { all_miss } else { -all_miss };
            choose *= f64::from(num_bands - band) / f64::from(band + 1);
        }
        pass.clamp(0.0, 1.0).powi(self.shape.num_visits.into())
    }

    /// Returns the least table with which files of `num_keys` keys have a rate of at most `rate`; `None` beyond
    /// [`MAX_PAGES`](Self::MAX_PAGES).
    fn least(shape: Shape, num_keys: u64, rate: f64) -> Option<Self> {
        let (mut low, mut high) = (1, Self::MAX_PAGES);
        while low < high {
            let num_pages = low + (high - low) / 2;
            if (Self { shape, num_pages }).rate(num_keys) > rate { low = num_pages + 1 } else { high = num_pages }
        }
        let found = Self { shape, num_pages: low };
        (found.rate(num_keys) <= rate).then_some(found)
    }
}

/// Chooses tables such that files of like size share one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizing {
    usual: Table,
    rate: f64,
}

impl Sizing {
    /// Returns the sizing of files that usually have about `usual_keys` distinct keys, and of which none is to have a
    /// greater rate than `rate`, which is taken between 10^-9 and 1/2. `None` if that takes more pages than a table has.
    pub fn new(usual_keys: u64, rate: f64) -> Option<Self> {
        Self::with_shape(Shape::for_rate(rate), usual_keys, rate)
    }

    /// Returns the sizing of tables of `shape`. `None` also if a number of the shape is out of its range, or the rate is
    /// not a number.
    pub fn with_shape(shape: Shape, usual_keys: u64, rate: f64) -> Option<Self> {
        if rate.is_nan() || !shape.is_valid() {
            return None;
        }
        let rate = rate.clamp(1e-9, 0.5);
        Table::least(shape, usual_keys.max(1), rate).map(|usual| Self { usual, rate })
    }

    /// Returns the shape of all tables.
    pub(crate) fn shape(&self) -> Shape {
        self.usual.shape
    }

    /// Returns the table of a file of `num_keys` distinct keys: an eighth of the usual one, a quarter, a half, that one, or
    /// 2, 4, 8 … times it. So smaller files have a smaller rate, and few tables serve all sizes. `None` if the file has
    /// more keys than a table can have.
    pub fn table(&self, num_keys: u64) -> Option<Table> {
        let usual = self.usual.num_pages;
        let smaller = [8, 4, 2].into_iter().map(|part| usual.div_ceil(part));
        let larger =
            (0..31).map_while(|double| usual.checked_mul(1 << double).filter(|&pages| pages <= Table::MAX_PAGES));
        let tables = smaller.chain(larger).map(|num_pages| Table { num_pages, ..self.usual });
        tables.into_iter().find(|table| table.rate(num_keys) <= self.rate)
    }
}
