//! The drawing.

use super::axis::{Logarithmic, percent};
use super::labels::{Area, Label, Place, line_to, place};
use super::{Series, front};
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

const SIZE: (u32, u32) = (960, 697);
const FONTS: &str = "system-ui, Segoe UI, Roboto, Noto Sans, Liberation Sans, DejaVu Sans, Arial, sans-serif";
const TEXT_PX: f64 = 12.5;
/// The backend divides sizes by this.
const BACKEND_SCALE: f64 = 1.24;
/// Mean width of a character in bold, in heights of the text, rounded up: the backend cannot measure.
const CHARACTER_WIDTH: f64 = 0.6;
/// Room for the titles above, for those of the axes, and to the right.
const TOP: u32 = 116;
const BELOW: u32 = 56;
const LEFT: u32 = 58;
const RIGHT: u32 = 18;
const LARGE_MARK: i32 = 6;
const SMALL_MARK: i32 = 4;

// Hues that remain distinct for colour-blind readers (Okabe and Ito, Color Universal Design), darkened for the white
// ground. Shapes distinguish the marks, too.
const OURS: RGBColor = RGBColor(0x00, 0x67, 0xb1);
const PEERS: RGBColor = RGBColor(0xc2, 0x4e, 0x00);
const TEXT: RGBColor = RGBColor(0x1b, 0x1f, 0x24);
const MUTED: RGBColor = RGBColor(0x59, 0x63, 0x6e);
const GRID: RGBColor = RGBColor(0xe4, 0xe8, 0xec);
const FRONT: RGBColor = RGBColor(0xb0, 0xb8, 0xc0);

pub struct Picture<'a> {
    pub title: &'a str,
    /// Of the vertical axis.
    pub unit: &'a str,
    /// Lines below the title.
    pub facts: &'a [String],
    /// At least one, each with a mark.
    pub series: &'a [Series],
    pub floor_ns: Option<f64>,
}

type Line = [Place; 2];
type Root<'s> = DrawingArea<SVGBackend<'s>, Shift>;

impl Picture<'_> {
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        // The backend's error type refers to the string.
        self.draw(&root).and_then(|()| Ok(root.present()?)).map_err(|error| anyhow!("{error}"))?;
        drop(root);
        Ok(svg)
    }

    fn axes(&self) -> (Range<f64>, Logarithmic) {
        let marks = || self.series.iter().flat_map(|series| &series.marks);
        let greatest = marks().map(|mark| mark.percent_over).fold(0.0, f64::max);
        let times = || marks().flat_map(|mark| mark.quartiles_ns).chain(self.floor_ns);
        let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        (percent(greatest), Logarithmic::new(least, most))
    }

    fn draw(&self, root: &Root<'_>) -> Result<()> {
        root.fill(&WHITE)?;
        self.titles(root)?;
        let (x, y) = self.axes();
        let mut chart = ChartBuilder::on(root)
            .margin_top(TOP)
            .margin_right(RIGHT)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(
                x.clone(),
                y.range.clone().log_scale().with_key_points(y.labelled).with_light_points(y.others),
            )?;
        chart
            .configure_mesh()
            .x_max_light_lines(1)
            .axis_style(MUTED)
            .bold_line_style(GRID)
            .light_line_style(GRID.mix(0.5))
            .label_style(style(MUTED))
            .x_label_formatter(&|percent| format!("{percent} %"))
            .y_label_formatter(&f64::to_string)
            .draw()?;

        let at = |x: f64, y: f64| chart.backend_coord(&(x, y));
        let (left, bottom) = at(x.start, y.range.start);
        let (right, top) = at(x.end, y.range.end);
        let plane = Area { left: left + 2, top: top + 2, right: right - 2, bottom: bottom - 2 };
        let mut obstacles = vec![self.limit(root, at(0.0, y.range.start), plane)?];
        if let Some(floor_ns) = self.floor_ns {
            obstacles.push(self.floor(root, at(x.end, floor_ns), plane)?);
        }
        let mut lines = self.front(root, &at, plane)?;
        lines.extend(self.marks(root, &at)?);
        self.names(root, &at, &obstacles_of(self.series, &at, obstacles), &lines, plane)?;
        Ok(())
    }

    fn titles(&self, root: &Root<'_>) -> Result<()> {
        let title = (FONTS, 17.0 * BACKEND_SCALE, FontStyle::Bold).into_font().color(&TEXT);
        root.draw(&Text::new(self.title, (14, 10), title))?;
        for (fact, y) in self.facts.iter().zip((36..).step_by(17)) {
            root.draw(&Text::new(fact.as_str(), (14, y), style(MUTED)))?;
        }
        let (width, height) = (SIZE.0 as i32, SIZE.1 as i32);
        let unit = format!("{} (logarithmic)", self.unit);
        root.draw(&Text::new(unit, (14, TOP as i32 - 22), style(TEXT)))?;
        let size =
            "bytes above log2(1/rate) bits per key, the least possible for the filter's own rate of false positives";
        let end = style(TEXT).pos(Pos::new(HPos::Right, VPos::Bottom));
        root.draw(&Text::new(size, (width - RIGHT as i32, height - 12), end))?;

        let mut x = width - RIGHT as i32 - 210;
        for (name, is_ours, color) in [("filterblock", true, OURS), ("other filters", false, PEERS)] {
            let y = TOP as i32 - 16;
            mark(root, (x, y), is_ours, LARGE_MARK)?;
            root.draw(&Text::new(name, (x + 11, y), name_style(is_ours, color)))?;
            x += 110;
        }
        Ok(())
    }

    /// The line that no filter is left of. Returns where its name is.
    fn limit(&self, root: &Root<'_>, (x, y): Place, plane: Area) -> Result<Area> {
        root.draw(&PathElement::new([(x, y), (x, plane.top)], MUTED.stroke_width(2)))?;
        let name = "no filter is left of this line";
        root.draw(&Text::new(name, (x + 14, plane.top + 10), name_style(false, MUTED)))?;
        Ok(area_of(name, (x + 14, plane.top + 10)))
    }

    fn floor(&self, root: &Root<'_>, (right, y): Place, plane: Area) -> Result<Area> {
        for start in (plane.left..right).step_by(10) {
            root.draw(&PathElement::new([(start, y), ((start + 5).min(right), y)], MUTED))?;
        }
        let name = "FLOOR: hash the key, touch one line";
        let place = (plane.left + 40, y + 10);
        root.draw(&Text::new(name, place, name_style(false, MUTED)))?;
        Ok(area_of(name, place))
    }

    /// The border of what is reached: steps from mark to mark. Returns them.
    fn front(&self, root: &Root<'_>, at: &impl Fn(f64, f64) -> Place, plane: Area) -> Result<Vec<Line>> {
        let mut steps: Vec<Place> = Vec::new();
        for mark in front(self.series) {
            let (x, y) = at(mark.percent_over, mark.ns);
            let (_, above) = steps.last().copied().unwrap_or((x, plane.top));
            steps.extend([(x, above), (x, y)]);
        }
        if let Some(&(_, y)) = steps.last() {
            steps.push((plane.right, y));
        }
        let lines = lines_between(&steps);
        root.draw(&PathElement::new(steps, FRONT.stroke_width(2)))?;
        Ok(lines)
    }

    /// Returns the lines that join them.
    fn marks(&self, root: &Root<'_>, at: &impl Fn(f64, f64) -> Place) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        for series in self.series {
            let color = color(series);
            let places: Vec<_> = series.marks.iter().map(|mark| at(mark.percent_over, mark.ns)).collect();
            lines.extend(lines_between(&places));
            root.draw(&PathElement::new(places, color.mix(0.5)))?;
            for point in &series.marks {
                let [low, high] = point.quartiles_ns.map(|ns| at(point.percent_over, ns));
                root.draw(&PathElement::new([low, high], color))?;
            }
        }
        // Last, so that no line crosses a mark; diamonds on circles, which they do not cover.
        let (circles, diamonds): (Vec<_>, Vec<_>) = self.series.iter().partition(|series| series.is_ours);
        for series in circles.into_iter().chain(diamonds) {
            for (i, point) in series.marks.iter().enumerate() {
                mark(root, at(point.percent_over, point.ns), series.is_ours, half_size(i))?;
            }
        }
        Ok(lines)
    }

    fn names(
        &self,
        root: &Root<'_>,
        at: &impl Fn(f64, f64) -> Place,
        obstacles: &[Area],
        lines: &[Line],
        plane: Area,
    ) -> Result<()> {
        let label = |series: &Series| {
            let Area { left, top, right, bottom } = area_of(&series.name, (0, 0));
            let first = series.marks[0];
            Label { mark: at(first.percent_over, first.ns), width: right - left, height: bottom - top }
        };
        let labels: Vec<_> = self.series.iter().map(label).collect();
        for ((series, label), area) in self.series.iter().zip(&labels).zip(place(&labels, obstacles, lines, plane)) {
            let color = color(series);
            if let Some(line) = line_to(label.mark, area) {
                root.draw(&PathElement::new(line, color.mix(0.6)))?;
            }
            // The side next to the mark is exact for every width of the reader's font.
            let (x, side) = match label.mark.0 {
                x if x <= area.left => (area.left, HPos::Left),
                x if x >= area.right => (area.right, HPos::Right),
                _ => ((area.left + area.right) / 2, HPos::Center),
            };
            let text = name_style(series.is_ours, color).pos(Pos::new(side, VPos::Center));
            root.draw(&Text::new(series.name.as_str(), (x, (area.top + area.bottom) / 2), text))?;
        }
        Ok(())
    }
}

/// Marks and whiskers beside what is there already.
fn obstacles_of(series: &[Series], at: &impl Fn(f64, f64) -> Place, mut obstacles: Vec<Area>) -> Vec<Area> {
    for series in series {
        for (i, mark) in series.marks.iter().enumerate() {
            obstacles.push(Area::around(at(mark.percent_over, mark.ns), half_size(i) + 2));
            let [low, high] = mark.quartiles_ns.map(|ns| at(mark.percent_over, ns));
            obstacles.push(Area { left: high.0 - 1, top: high.1, right: low.0 + 1, bottom: low.1 });
        }
    }
    obstacles
}

fn lines_between(places: &[Place]) -> Vec<Line> {
    places.windows(2).map(|ends| [ends[0], ends[1]]).collect()
}

fn color(series: &Series) -> RGBColor {
    if series.is_ours { OURS } else { PEERS }
}

/// Of the mark `i` of a series.
fn half_size(i: usize) -> i32 {
    if i == 0 { LARGE_MARK } else { SMALL_MARK }
}

/// A circle of ours, a diamond of a peer; with a rim that sets it apart from marks below.
fn mark(root: &Root<'_>, place: Place, is_ours: bool, half: i32) -> Result<()> {
    for (half, style) in [(half + 1, WHITE.filled()), (half, if is_ours { OURS } else { PEERS }.filled())] {
        if is_ours {
            root.draw(&Circle::new(place, half, style))?;
        } else {
            let (x, y) = place;
            root.draw(&Polygon::new([(x, y - half), (x + half, y), (x, y + half), (x - half, y)], style))?;
        }
    }
    Ok(())
}

fn style(color: RGBColor) -> TextStyle<'static> {
    (FONTS, TEXT_PX * BACKEND_SCALE).into_font().color(&color)
}

/// Of a text whose place is the middle of its left side.
fn name_style(is_bold: bool, color: RGBColor) -> TextStyle<'static> {
    let font = if is_bold { FontStyle::Bold } else { FontStyle::Normal };
    let font = (FONTS, TEXT_PX * BACKEND_SCALE, font).into_font();
    font.color(&color).pos(Pos::new(HPos::Left, VPos::Center))
}

/// Returns the rectangle that `text` covers.
fn area_of(text: &str, (x, y): Place) -> Area {
    let width = (text.chars().count() as f64 * CHARACTER_WIDTH * TEXT_PX).ceil() as i32;
    let half_height = (TEXT_PX * 0.6).ceil() as i32;
    Area { left: x, top: y - half_height, right: x + width, bottom: y + half_height }
}

#[cfg(test)]
mod tests {
    use super::Picture;
    use crate::front::{Mark, Series};

    #[test]
    fn every_filter_is_named_once_and_every_size_is_marked() {
        let mark = |percent_over, ns| Mark { percent_over, ns, quartiles_ns: [ns * 0.9, ns * 1.1] };
        let series = [
            Series { name: "fuse".into(), is_ours: true, marks: vec![mark(7.0, 20.0), mark(7.1, 21.0)] },
            Series { name: "a <peer>".into(), is_ours: false, marks: vec![mark(50.0, 40.0)] },
        ];
        let facts = ["a fact".to_owned(), "another".to_owned()];
        let picture = Picture { title: "Title", unit: "ns", facts: &facts, series: &series, floor_ns: Some(5.0) };
        let svg = picture.svg().unwrap();
        for text in ["Title", "a fact", "another", "ns (logarithmic)", "fuse", "a &lt;peer&gt;"] {
            assert_eq!(svg.lines().filter(|line| *line == text).count(), 1, "{text}");
        }
        // Each with its rim; the legend has one of each.
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polygon").count()), (6, 4));
        assert!(svg.ends_with("</svg>\n"));
    }
}
