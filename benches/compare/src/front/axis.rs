//! The lines across the picture and their values.

use std::ops::Range;

/// Beyond the limit, and beyond the last mark, so that none is cut.
const PERCENT_MARGIN: f64 = 2.0;
const PERCENT_STEP: f64 = 10.0;
/// Between the outermost value of a logarithmic axis and its end.
const MARGIN: f64 = 1.3;

/// From a little below 0 to a round value beyond `max`.
pub fn percent(max: f64) -> Range<f64> {
    -PERCENT_MARGIN..((max + PERCENT_MARGIN) / PERCENT_STEP).ceil() * PERCENT_STEP
}

/// A logarithmic axis.
pub struct Logarithmic {
    pub range: Range<f64>,
    /// Values of lines that have labels.
    pub labelled: Vec<f64>,
    /// Values of other lines.
    pub others: Vec<f64>,
}

impl Logarithmic {
    /// From below `min` to above `max`, both above 0: lines at all whole multiples of powers of ten, labels at 1, 2 and
    /// 5 times each.
    pub fn new(min: f64, max: f64) -> Self {
        let range = min / MARGIN..max * MARGIN;
        let decades = range.start.log10().floor() as i32..=range.end.log10().floor() as i32;
        let (mut labelled, mut others) = (Vec::new(), Vec::new());
        for (decade, digit) in decades.flat_map(|decade| (1..10u32).map(move |digit| (decade, digit))) {
            let value = f64::from(digit) * 10f64.powi(decade);
            match digit {
                _ if !range.contains(&value) => {}
                1 | 2 | 5 => labelled.push(value),
                _ => others.push(value),
            }
        }
        Self { range, labelled, others }
    }
}

#[cfg(test)]
mod tests {
    use super::{Logarithmic, percent};

    #[test]
    fn percents_begin_before_the_limit_and_end_beyond_all_marks() {
        assert_eq!([0.0, 7.9, 9.0, 66.9].map(|max| percent(max).end), [10.0, 10.0, 20.0, 70.0]);
        assert_eq!(percent(50.0).start, -2.0);
    }

    #[test]
    fn logarithmic_axes_have_round_labels_within_their_range() {
        let axis = Logarithmic::new(6.5, 150.0);
        assert_eq!(axis.labelled, [5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(axis.others, [6.0, 7.0, 8.0, 9.0, 30.0, 40.0, 60.0, 70.0, 80.0, 90.0]);
        assert!(axis.range.contains(&6.5) && axis.range.contains(&150.0));
        assert_eq!(Logarithmic::new(0.5, 0.5).labelled, [0.5]);
    }
}
