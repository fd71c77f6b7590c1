//! Draws the rates of range filters of integers against their bits per key, beside the least possible, log2(len / rate).
//!
//! ```sh
//! cargo run --release --manifest-path benches/compare/Cargo.toml --bin range-front -- docs/front-range.svg
//! ```
//!
//! A million random keys; half of the empty ranges lie anywhere, half beside a key.

use anyhow::{Context, Result, anyhow};
use filterblock::OpenOptions;
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use plotters::prelude::*;
use std::ops::Bound::Included;

const NUM_KEYS: usize = 1_000_000;
const NUM_RANGES: usize = 400_000;
/// Lengths of ranges, and their colours.
const LENS: [(u64, RGBColor); 3] =
    [(1, RGBColor(31, 119, 180)), (1 << 10, RGBColor(214, 39, 40)), (1 << 20, RGBColor(44, 120, 44))];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Bits per key, and the share of empty ranges of `len` that pass.
fn measure(keys: &[u64], ranges: &[u64], len: u64, rate: f64) -> Result<(f64, f64)> {
    let mut builder = RangeFilterBuilder::new(RangePolicy::with_false_positive_rate(rate, len)?);
    keys.iter().for_each(|key| builder.add_key(&key.to_be_bytes()));
    let filter = OpenOptions::new().open_ranges(builder.finish()?)?;
    let passes = |first: u64| {
        filter.may_contain_range(Included(&first.to_be_bytes()), Included(&(first + len - 1).to_be_bytes()))
    };
    let num_passed = ranges.iter().filter(|&&first| passes(first)).count();
    Ok((filter.bits_per_key().context("keys")?, num_passed as f64 / ranges.len() as f64))
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("give the name of the picture")?;
    let mut random = Random(1);
    let mut keys: Vec<u64> = (0..NUM_KEYS).map(|_| random.next()).collect();
    keys.sort_unstable();
    let mut fronts = Vec::new();
    for (len, color) in LENS {
        let mut empty = || loop {
            let place = random.next();
            let near = keys[(place % NUM_KEYS as u64) as usize].saturating_add(1 + (place >> 32) % len);
            let first = (if place >> 63 == 0 { near } else { place }).min(u64::MAX - len);
            let next = keys.partition_point(|&key| key < first);
            if keys.get(next).is_none_or(|&key| key - first >= len) {
                return first;
            }
        };
        let ranges: Vec<u64> = (0..NUM_RANGES).map(|_| empty()).collect();
        let rates = (1..=if len > 1 << 16 { 10 } else { 12 }).map(|log| (-f64::from(log)).exp2());
        let front = rates.map(|rate| measure(&keys, &ranges, len, rate)).collect::<Result<Vec<_>>>()?;
        for (bits, rate) in &front {
            let least = (len as f64 / rate).log2();
            println!("len {len:7}  {bits:6.2} bits/key  rate {rate:.6}  least possible {least:6.2}");
        }
        fronts.push((len, color, front));
    }
    draw(&path, &fronts).map_err(|error| anyhow!("{path}: {error}"))
}

/// A length of ranges, its colour, and bits per key and rates.
type Front = (u64, RGBColor, Vec<(f64, f64)>);

fn draw(path: &str, fronts: &[Front]) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, (760, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = "Range filters of integers; lines: the least possible, log2(length / rate)";
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 17))
        .margin(14)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..36.0, (1e-4..1.0).log_scale())?;
    chart.configure_mesh().x_desc("bits per key, header included").y_desc("empty ranges that pass").draw()?;
    for (len, color, front) in fronts {
        let limit = [1.0, 1e-4].map(|rate: f64| ((*len as f64 / rate).log2(), rate));
        chart.draw_series([PathElement::new(limit.to_vec(), color.mix(0.6))])?;
        let marks = front.iter().map(|&at| Circle::new(at, 4, color.filled()));
        chart
            .draw_series(marks)?
            .label(format!("ranges of {len}"))
            .legend(|(x, y)| Circle::new((x + 10, y), 4, color.filled()));
    }
    let place = SeriesLabelPosition::LowerLeft;
    chart.configure_series_labels().position(place).background_style(WHITE).border_style(BLACK.mix(0.3)).draw()?;
    root.present()?;
    Ok(())
}
