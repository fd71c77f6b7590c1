//! Groups of bars that lie on their side, each with its name and its value.

use super::chart::{Align, Axis, Canvas, Error, Place, draw, units};
use super::ink::{Ink, Series};

const WIDTH: u32 = 880;
const TOP: u32 = 10;
const GROUP_TITLE: u32 = 30;
const BAR: u32 = 24;
const GROUP_GAP: u32 = 14;
const AXIS: u32 = 60;
/// Room for names to the left, and for the value of the longest bar to the right.
const LEFT: u32 = 76;
const RIGHT: u32 = 110;

/// Bars that belong together.
pub(in super::super) struct Group {
    pub(in super::super) title: String,
    pub(in super::super) bars: Vec<Bar>,
}

pub(in super::super) struct Bar {
    pub(in super::super) series: Series,
    pub(in super::super) name: String,
    pub(in super::super) value: f64,
    /// The value for people.
    pub(in super::super) text: String,
}

/// `title` is what the bars' lengths measure.
pub(in super::super) fn bars(
    label: &str,
    title: &str,
    groups: &[Group],
    tick: impl Fn(f64) -> String,
) -> Result<String, Error> {
    let height_of = |group: &Group| GROUP_TITLE + BAR * group.bars.len() as u32 + GROUP_GAP;
    let bottom = TOP + groups.iter().map(height_of).sum::<u32>();
    let max = groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value).fold(0.0, f64::max);
    let axis = Axis::linear(title, max, 5, |value, _| tick(value));
    draw((WIDTH, bottom + AXIS), label, |canvas| {
        draw_axis(canvas, &axis, bottom)?;
        let mut y = TOP;
        for group in groups {
            canvas.bold(Align::Left, &group.title, canvas.at(LEFT + 8, y + GROUP_TITLE / 2))?;
            for (i, bar) in (0..).zip(&group.bars) {
                draw_bar(canvas, &axis, bar, y + GROUP_TITLE + BAR * i)?;
            }
            y += height_of(group);
        }
        Ok(())
    })
}

/// Where `value` ends, at the height of `y`.
fn place(canvas: &Canvas<'_>, axis: &Axis, value: f64, y: u32) -> Place {
    let length = f64::from(units((WIDTH - LEFT - RIGHT) as i32)) * value / axis.range.end;
    let (left, y) = canvas.at(LEFT, y);
    (left + length.round() as i32, y)
}

fn draw_axis(canvas: &Canvas<'_>, axis: &Axis, bottom: u32) -> Result<(), Error> {
    for line in &axis.mesh {
        let ink = if line.at == 0.0 { Ink::Frame } else { Ink::Grid };
        canvas.line(ink, vec![place(canvas, axis, line.at, TOP), place(canvas, axis, line.at, bottom)])?;
        canvas.text(Ink::Muted, Align::Center, &line.label, place(canvas, axis, line.at, bottom + 14))?;
    }
    canvas.text(Ink::Text, Align::Right, &axis.title, place(canvas, axis, axis.range.end, bottom + 40))
}

fn draw_bar(canvas: &Canvas<'_>, axis: &Axis, bar: &Bar, top: u32) -> Result<(), Error> {
    let middle = top + BAR / 2;
    let (end, _) = place(canvas, axis, bar.value, middle);
    let corners = [canvas.at(LEFT, top + 3), (end, canvas.at(0, top + BAR - 3).1)];
    canvas.rectangle(Ink::Bar(bar.series), corners)?;
    canvas.text(Ink::Muted, Align::Right, &bar.name, canvas.at(LEFT - 8, middle))?;
    canvas.text(Ink::Text, Align::Left, &bar.text, (end + units(8), canvas.at(0, middle).1))
}
