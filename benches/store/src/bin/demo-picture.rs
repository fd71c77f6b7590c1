//! Draws the data-block reads of `filterblock demo --json`: a bar for each run, in a panel for each class of lookups.

use anyhow::{Context, Result};
use clap::Parser;
use plotters::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Draws the reads of a demo's JSON document")]
struct Arguments {
    /// The document that `filterblock demo --json` printed
    document: PathBuf,
    /// The picture to write, as SVG
    picture: PathBuf,
}

/// The classes of the document and the titles of their panels.
const PANELS: [(&str, &str); 6] = [
    ("absent_row", "for absent rows"),
    ("absent_column", "for absent columns of present rows"),
    ("present_cell", "for present cells"),
    ("absent_host", "for scans of absent hosts"),
    ("absent_directory", "for scans of absent directories"),
    ("present_directory", "for scans of present directories"),
];
const SIZE: (u32, u32) = (640, 1240);
/// No filter in grey, the kinds in hues that colour-blind readers can distinguish (Okabe and Ito, *Color Universal
/// Design*).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x59, 0x63, 0x6e),
    RGBColor(0x00, 0x67, 0xb1),
    RGBColor(0xc2, 0x4e, 0x00),
    RGBColor(0x00, 0x7f, 0x5f),
    RGBColor(0x9a, 0x4f, 0x96),
    RGBColor(0x8a, 0x6d, 0x00),
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&arguments.document)?)?;
    let runs = document["runs"].as_array().context("no runs")?;
    let root = SVGBackend::new(&arguments.picture, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let root = root.titled("Data-block reads with and without filters", ("sans-serif", 18))?;
    for (area, (class, title)) in root.split_evenly((PANELS.len(), 1)).iter().zip(PANELS) {
        let reads = runs.iter().map(|run| reads_of(run, class)).collect::<Result<Vec<_>>>()?;
        draw_panel(area, title, &reads)?;
    }
    Ok(root.present()?)
}

/// The filter of a run, and its reads for lookups of a class.
fn reads_of<'a>(run: &'a Value, class: &str) -> Result<(&'a str, u64)> {
    let classes = run["classes"].as_array().context("no classes")?;
    let figures = classes.iter().find(|figures| figures["class"] == class).context("no such class")?;
    let reads = figures["data_block_reads"].as_u64().context("no reads")?;
    Ok((run["filter"].as_str().context("no filter")?, reads))
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    reads: &[(&str, u64)],
) -> Result<()> {
    let most = reads.iter().map(|(_, reads)| *reads).max().unwrap_or(1);
    let num_bars = reads.len() as i32;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(60)
        .caption(title, ("sans-serif", 14))
        .x_label_area_size(22)
        .y_label_area_size(64)
        // The first run is above the others.
        .build_cartesian_2d(0..most, (0..num_bars - 1).into_segmented())?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(reads.len())
        .y_label_formatter(&|at| match at {
            SegmentValue::CenterOf(at) => {
                reads.iter().rev().nth(*at as usize).map_or_else(String::new, |(name, _)| (*name).to_owned())
            }
            _ => String::new(),
        })
        .x_label_formatter(&|reads| grouped(*reads))
        .label_style(("sans-serif", 12))
        .draw()?;
    for (number, (_, value)) in reads.iter().enumerate() {
        let at = num_bars - 1 - number as i32;
        let corners = [(0, SegmentValue::Exact(at)), (*value, SegmentValue::Exact(at + 1))];
        let mut bar = Rectangle::new(corners, COLOURS[number % COLOURS.len()].filled());
        bar.set_margin(3, 3, 0, 0);
        chart.draw_series([bar])?;
        let label = Text::new(grouped(*value), (6, -6), ("sans-serif", 12));
        chart.draw_series([EmptyElement::at((*value, SegmentValue::CenterOf(at))) + label])?;
    }
    Ok(())
}

/// Digits in groups of three.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(" ")
}
