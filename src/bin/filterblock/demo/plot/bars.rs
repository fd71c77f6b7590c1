//! Groups of horizontal bars, each with its name and its value.

use super::super::figures::grouped;
use super::chart::Axis;
use super::{class_of, drawing, line, series_of, text};
use maud::{Markup, html};

const WIDTH: f64 = 640.0;
const TOP: f64 = 10.0;
const GROUP_TITLE: f64 = 30.0;
const BAR: f64 = 24.0;
const GROUP_GAP: f64 = 14.0;
const AXIS: f64 = 60.0;
/// Room for names to the left, and for the value of the longest bar to the right.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 84.0;

pub(in super::super) struct Group {
    pub(in super::super) title: String,
    pub(in super::super) bars: Vec<Bar>,
}

pub(in super::super) struct Bar {
    /// Of the filter.
    pub(in super::super) name: String,
    pub(in super::super) value: f64,
}

/// `measured` is what the bars' lengths show.
pub(in super::super) fn bars(label: &str, measured: &str, groups: &[Group]) -> Markup {
    let height_of = |group: &Group| GROUP_TITLE + BAR * group.bars.len() as f64 + GROUP_GAP;
    let bottom = TOP + groups.iter().map(height_of).sum::<f64>();
    let max = groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value).fold(0.0, f64::max);
    let axis = Axis::linear(measured, max, 5, |value, _| grouped(value));
    let end_of = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * value / axis.range.end;
    let mut top = TOP;
    let content = html! {
        @for (value, label) in &axis.mesh {
            (line(if *value == 0.0 { "frame" } else { "grid" }, [TOP, bottom].map(|y| (end_of(*value), y))))
            (text("t muted mid", label, (end_of(*value), bottom + 14.0)))
        }
        (text("t end", &axis.title, (end_of(axis.range.end), bottom + 40.0)))
        @for group in groups {
            (text("t bold", &group.title, (LEFT + 8.0, top + GROUP_TITLE / 2.0)))
            @for (i, bar) in group.bars.iter().enumerate() {
                (draw_bar(bar, end_of(bar.value), top + GROUP_TITLE + BAR * i as f64))
            }
            ({ top += height_of(group); "" })
        }
    };
    drawing(WIDTH, bottom + AXIS, label, &content)
}

fn draw_bar(bar: &Bar, end: f64, top: f64) -> Markup {
    let middle = top + BAR / 2.0;
    let width = format!("{:.1}", end - LEFT);
    html! {
        rect class=(class_of("bar", series_of(&bar.name))) x=(LEFT) y=(top + 3.0) width=(width) height=(BAR - 6.0) {}
        (text("t muted end", &bar.name, (LEFT - 8.0, middle)))
        (text("t", &grouped(bar.value), (end + 8.0, middle)))
    }
}
