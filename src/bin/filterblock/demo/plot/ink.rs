//! What is drawn with which class of the style sheet.
//!
//! The drawing library knows colours only, and a colour cannot follow the reader's colour scheme. So each ink is drawn in
//! a colour that stands for it, and that colour is replaced by the class behind it in the finished text.

use filterblock::FilterKind;
use plotters::style::RGBColor;

/// Series that the style sheet tells apart.
const NUM_SERIES: u8 = 6;
// One for runs without filters, one for each kind.
const _: () = assert!(FilterKind::ALL.len() < NUM_SERIES as usize);

/// The runs with one kind of filter, or with none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Series(u8);

impl Series {
    pub(in super::super) fn of(kind: Option<FilterKind>) -> Self {
        let place = |kind| FilterKind::ALL.iter().position(|other| *other == kind);
        Self(kind.and_then(place).map_or(0, |place| place as u8 + 1))
    }

    pub(in super::super) const fn index(self) -> u8 {
        self.0
    }
}

/// What a stroke or an area stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Ink {
    Text,
    /// Text of second rank.
    Muted,
    Grid,
    /// Lines between those of the grid.
    Faint,
    /// The axes' own lines.
    Frame,
    /// What the series are held against.
    Reference,
    /// The same as a short solid stroke.
    Tick,
    Line(Series),
    Mark(Series),
    Bar(Series),
    Whisker(Series),
}

/// The red of all colours that stand for an ink; green is the role, blue the series.
const RED: u8 = 0xca;

impl Ink {
    const fn code(self) -> (u8, u8) {
        match self {
            Self::Text => (0, 0),
            Self::Muted => (1, 0),
            Self::Grid => (2, 0),
            Self::Frame => (3, 0),
            Self::Reference => (4, 0),
            Self::Tick => (5, 0),
            Self::Faint => (10, 0),
            Self::Line(series) => (6, series.0),
            Self::Mark(series) => (7, series.0),
            Self::Bar(series) => (8, series.0),
            Self::Whisker(series) => (9, series.0),
        }
    }

    pub(super) const fn color(self) -> RGBColor {
        let (role, series) = self.code();
        RGBColor(RED, role, series)
    }
}

/// The class that the colour `RRGGBB` stands for.
fn class(color: &str) -> Option<String> {
    let [red, role, series] = [color.get(0..2)?, color.get(2..4)?, color.get(4..6)?];
    let byte = |digits| u8::from_str_radix(digits, 16).ok();
    if byte(red)? != RED || byte(series)? >= NUM_SERIES {
        return None;
    }
    let series = byte(series)?;
    Some(match byte(role)? {
        0 => "t".to_owned(),
        1 => "t muted".to_owned(),
        2 => "grid".to_owned(),
        3 => "frame".to_owned(),
        4 => "reference".to_owned(),
        5 => "tick".to_owned(),
        6 => format!("line s{series}"),
        7 => format!("mark s{series}"),
        8 => format!("bar s{series}"),
        9 => format!("whisker s{series}"),
        10 => "grid faint".to_owned(),
        _ => return None,
    })
}

/// `svg` with classes in the place of colours.
pub(super) fn with_classes(svg: &str) -> String {
    const COLOR: &str = "=\"#";
    const COLOR_LEN: usize = "RRGGBB\"".len();
    let (mut out, mut rest) = (String::with_capacity(svg.len()), svg);
    while let Some(at) = rest.find(COLOR) {
        let (before, after) = (&rest[..at], &rest[at + COLOR.len()..]);
        match (before.rfind(' '), class(after)) {
            (Some(space), Some(class)) => {
                out.push_str(&before[..=space]);
                out.push_str(&format!("class=\"{class}\""));
                rest = &after[COLOR_LEN..];
            }
            _ => {
                out.push_str(&rest[..at + COLOR.len()]);
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{Ink, NUM_SERIES, Series, class, with_classes};
    use plotters::style::RGBColor;

    fn hex(ink: Ink) -> String {
        let RGBColor(red, green, blue) = ink.color();
        format!("{red:02X}{green:02X}{blue:02X}")
    }

    #[test]
    fn each_ink_has_a_class_of_its_own() {
        let plain = [Ink::Text, Ink::Muted, Ink::Grid, Ink::Faint, Ink::Frame, Ink::Reference, Ink::Tick];
        let of_series = [Ink::Line, Ink::Mark, Ink::Bar, Ink::Whisker];
        let series = (0..NUM_SERIES).flat_map(|i| of_series.map(|ink| ink(Series(i))));
        let mut classes: Vec<_> = plain.into_iter().chain(series).map(|ink| class(&hex(ink)).unwrap()).collect();
        let num_inks = classes.len();
        classes.sort();
        classes.dedup();
        assert_eq!(classes.len(), num_inks);
    }

    #[test]
    fn colours_become_classes_and_nothing_else_changes() {
        let (line, text) = (hex(Ink::Line(Series(2))), hex(Ink::Text));
        let svg =
            format!("<a fill=\"none\" stroke=\"#{line}\" x=\"1\"/><b fill=\"#{text}\">=#1</b><c fill=\"#FFFFFF\"/>");
        assert_eq!(
            with_classes(&svg),
            "<a fill=\"none\" class=\"line s2\" x=\"1\"/><b class=\"t\">=#1</b><c fill=\"#FFFFFF\"/>"
        );
    }

    #[test]
    fn the_style_sheet_knows_every_series() {
        let css = include_str!("../page/style.css");
        for i in 0..NUM_SERIES {
            // Its colour by day and by night, and where it is used.
            assert_eq!(css.matches(&format!("--s{i}:")).count(), 2, "series {i}");
            assert!(css.contains(&format!("var(--s{i})")), "series {i}");
        }
    }
}
