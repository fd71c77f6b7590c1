//! The form in which a filter has its keys.

use core::fmt;

/// The form in which a range filter has its keys: one of the two maps of `format/ranges.md`.
///
/// ```
/// use filterblock::OpenOptions;
/// use filterblock::range::{RangeFilterBuilder, RangeForm, RangePolicy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = RangeFilterBuilder::new(RangePolicy::with_false_positive_rate(0.01, 64)?);
/// (0..1000u64).for_each(|i| builder.add_key(&(i * 1_000_000).to_be_bytes()));
/// let filter = OpenOptions::new().open_ranges(builder.finish()?)?;
/// assert_eq!(filter.form(), Some(RangeForm::Integers));
/// // A rate for ranges of 64 integers, and an eighth of it for those of 8.
/// let rate = filter.false_positive_rate(64).ok_or("of integers")?;
/// assert!(rate > 0.009 && rate <= 0.01);
///
/// // Keys of several lengths are not integers: the filter has no rate, or the build fails where integers are required.
/// ["a", "bc"].iter().for_each(|key| builder.add_key(key.as_bytes()));
/// let filter = OpenOptions::new().open_ranges(builder.finish()?)?;
/// assert_eq!((filter.form(), filter.false_positive_rate(64)), (Some(RangeForm::Cut), None));
/// let mut builder = RangeFilterBuilder::new("range:fpr=1%,len=64,form=integers".parse()?);
/// ["a", "bc"].iter().for_each(|key| builder.add_key(key.as_bytes()));
/// assert!(builder.finish().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RangeForm {
    /// Keys that are cut where they differ from their neighbours. There is no rate for all ranges, unless nothing is cut
    /// off: then it is 0.
    Cut,
    /// Integers in hashed blocks. There is a rate for ranges of any length.
    Integers,
}

impl RangeForm {
    /// Returns the name, as policies and the tool write it: `cut` or `integers`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Integers => "integers",
        }
    }
}

impl fmt::Display for RangeForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
