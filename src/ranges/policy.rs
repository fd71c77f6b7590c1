//! The settings of range filters.

use crate::error::{BuildError, ParsePolicyError};
use crate::frame::HEADER_LEN;
use crate::math::float::log2;
use core::fmt;
use core::str::FromStr;

/// The configuration of range filters. Its text is `range:14`, `range:fpr=1%,len=1024`, the latter with
/// `,form=integers` to refuse other keys, and either with `,self_check=off`.
///
/// ```
/// use filterblock::range::RangePolicy;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy: RangePolicy = "range:14".parse()?;
/// assert_eq!(policy, RangePolicy::with_bits_per_key(14.0)?);
/// assert_eq!(policy.to_string(), "range:14");
/// let policy: RangePolicy = "range:fpr=1%,len=1024".parse()?;
/// assert_eq!(policy, RangePolicy::with_false_positive_rate(0.01, 1024)?);
/// assert_eq!(policy.to_string(), "range:fpr=0.01,len=1024");
/// let policy: RangePolicy = "range:fpr=1%,len=1024,form=integers".parse()?;
/// assert_eq!(policy, RangePolicy::of_integers(0.01, 1024)?);
/// assert!("range:1000".parse::<RangePolicy>().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RangePolicy {
    size: Size,
    self_check: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Size {
    MillibitsPerKey(u32),
    /// A rate, as the bits of a number, for ranges of up to `len` integers.
    Rate {
        rate_bits: u64,
        len: u64,
        /// Whether keys that are not such integers are refused.
        is_required: bool,
    },
}

/// The legal bits per key.
const MIN_BITS: u32 = 2;
const MAX_BITS: u32 = 200;
/// The greatest legal quotient of a range's length and its rate.
const MAX_RANGE_PER_KEY: u64 = 1 << 31;
/// The bits a key that codes take beyond the logarithm of that quotient.
const CODE_BITS: f64 = 1.75;

const SIZE: &str = "bits per key, such as range:14, or a rate for a length, such as range:fpr=1%,len=1024";
const FORM: &str = "form=integers";
const RATED: &str = "a setting of bits per key: a form goes with a rate, as in range:fpr=1%,len=1024,form=integers";
const LEN: &str = "the greatest length of a range, such as len=1024";

impl RangePolicy {
    /// Returns the policy for filters of about `bits` bits per key (2 to 200), the header of 64 bytes included; the
    /// payload gets at least half of them. With few bits neighbouring keys are joined. All are distinguished from 10
    /// bits on (integers), 17 to 20 (words, e-mail addresses), or 25 (web addresses, paths). More bits pass no more
    /// ranges.
    ///
    /// # Errors
    /// [`BuildError::RangeSetting`] outside the range.
    pub fn with_bits_per_key(bits: f64) -> Result<Self, BuildError> {
        // Not a number is outside, too.
        let (min, max) = (MIN_BITS.into(), MAX_BITS.into());
        if !(min..=max).contains(&bits) {
            return Err(BuildError::RangeSetting { name: "bits per key", asked: bits, min, max });
        }
        Ok(Self { size: Size::MillibitsPerKey((bits * 1000.0 + 0.5) as u32), self_check: true })
    }

    /// Returns the policy for filters of integers that pass an empty range of up to `len` of them with a probability of
    /// `rate`, and shorter ones with as much less, whatever the keys and the ranges are. A filter takes about
    /// log₂(`len` / `rate`) + 1.75 bits per key.
    ///
    /// Keys are integers if all have one length, and at most 16 bytes after those that all begin with; their first byte
    /// is the most significant. Dense ones, whose gaps take no more bits, are stored as cut keys of which nothing is cut
    /// off: the rate is then 0, for ranges of any length. Other keys, and sets too dense for `len` in places, get the
    /// filter that [`RangePolicy::with_bits_per_key`] builds with the same bits, without a guaranteed rate:
    /// [`RangeFilter::form`](super::RangeFilter::form) and
    /// [`RangeFilter::false_positive_rate`](super::RangeFilter::false_positive_rate) report it, and
    /// [`RangePolicy::of_integers`] refuses such keys.
    ///
    /// ```
    /// use filterblock::OpenOptions;
    /// use filterblock::range::{RangeFilterBuilder, RangeForm, RangePolicy};
    /// use std::ops::Bound::Included;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = RangeFilterBuilder::new(RangePolicy::with_false_positive_rate(0.01, 64)?);
    /// // Ids, of which each tenth was deleted.
    /// (0..9000u64).filter(|id| id % 10 != 3).for_each(|id| builder.add_key(&id.to_be_bytes()));
    /// let filter = OpenOptions::new().open_ranges(builder.finish()?)?;
    /// assert_eq!((filter.form(), filter.false_positive_rate(1000)), (Some(RangeForm::Cut), Some(0.0)));
    /// assert!(filter.bits_per_key().ok_or("keys")? < 3.0);
    /// assert!((0..9000u64).all(|id| filter.may_contain(&id.to_be_bytes()) == (id % 10 != 3)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::RangeSetting`] unless `rate` is at most one half, `len` at least 1, and `len` / `rate` at most 2³¹.
    pub fn with_false_positive_rate(rate: f64, len: u64) -> Result<Self, BuildError> {
        let (most, of_len) = (MAX_RANGE_PER_KEY as f64, len as f64);
        for (name, asked, min, max) in
            [("rate", rate, 1.0 / most, 0.5), ("len", of_len, 1.0, most), ("len / rate", of_len / rate, 2.0, most)]
        {
            // Not a number is outside, too.
            if !(min..=max).contains(&asked) {
                return Err(BuildError::RangeSetting { name, asked, min, max });
            }
        }
        Ok(Self { size: Size::Rate { rate_bits: rate.to_bits(), len, is_required: false }, self_check: true })
    }

    /// Returns the policy of [`RangePolicy::with_false_positive_rate`], except that it stores dense keys as others, and
    /// refuses keys that are not such integers: building fails with [`BuildError::NotIntegers`].
    ///
    /// ```
    /// use filterblock::range::{RangeFilterBuilder, RangePolicy};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = RangePolicy::of_integers(0.01, 1024)?;
    /// assert_eq!(policy.to_string(), "range:fpr=0.01,len=1024,form=integers");
    /// let mut builder = RangeFilterBuilder::new(policy);
    /// // As text, numbers have several lengths.
    /// (0..1000).for_each(|i| builder.add_key(i.to_string().as_bytes()));
    /// let error = builder.finish().expect_err("not of one length");
    /// assert!(error.to_string().contains("1 to 3 bytes"), "{error}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`RangePolicy::with_false_positive_rate`].
    pub fn of_integers(rate: f64, len: u64) -> Result<Self, BuildError> {
        let mut policy = Self::with_false_positive_rate(rate, len)?;
        policy.size = Size::Rate { rate_bits: rate.to_bits(), len, is_required: true };
        Ok(policy)
    }

    /// Sets whether a finished filter is compared with the keys, as it is by default.
    #[must_use]
    pub const fn with_self_check(mut self, self_check: bool) -> Self {
        self.self_check = self_check;
        self
    }

    /// Returns the bits per key, which are estimated if the policy has a rate.
    pub fn bits_per_key(&self) -> f64 {
        match self.size {
            Size::MillibitsPerKey(millibits) => f64::from(millibits) / 1000.0,
            Size::Rate { rate_bits, len, .. } => log2(len as f64 / f64::from_bits(rate_bits)) + CODE_BITS,
        }
    }

    /// Returns the rate at which empty ranges of integers pass, and the greatest number of integers of such a range, if
    /// the policy has a rate.
    pub fn false_positive_rate(&self) -> Option<(f64, u64)> {
        match self.size {
            Size::MillibitsPerKey(_) => None,
            Size::Rate { rate_bits, len, .. } => Some((f64::from_bits(rate_bits), len)),
        }
    }

    /// Returns whether keys are refused that are not integers for which the rate holds.
    pub(super) const fn requires_integers(&self) -> bool {
        matches!(self.size, Size::Rate { is_required: true, .. })
    }

    /// Returns whether a finished filter is compared with the keys.
    pub(super) const fn self_check(&self) -> bool {
        self.self_check
    }

    /// Returns about how many bytes a block of `num_keys` keys has, header included. It may have fewer: dense integers
    /// are kept whole in 2 bits, and up to a bit a key is left where the next better plan takes more. It may have some
    /// more, as a payload is not planned to the bit. The bytes that all keys begin with
    /// are stored once, up to 65 535 of them, whatever the policy plans.
    pub fn expected_block_len(&self, num_keys: u64) -> u64 {
        let header_len = HEADER_LEN as u64;
        header_len.saturating_add(match self.size {
            Size::MillibitsPerKey(_) => self.max_payload_len(num_keys),
            // The bits that the rate takes follow the header.
            Size::Rate { .. } => self.len_of_bits(num_keys),
        })
    }

    /// Returns the most bytes that a payload of `num_keys` cut keys is planned to have.
    pub(super) fn max_payload_len(&self, num_keys: u64) -> u64 {
        let len = self.len_of_bits(num_keys);
        // Otherwise the header would use up the budget of a small filter.
        len.saturating_sub(HEADER_LEN as u64).max(len / 2)
    }

    /// Returns the number of whole bytes that the bits of `num_keys` keys fill.
    fn len_of_bits(&self, num_keys: u64) -> u64 {
        (u128::from(num_keys) * self.millibits_per_key() / 8000).try_into().unwrap_or(u64::MAX)
    }

    /// Returns the greatest number of keys whose block has at most `len` bytes by
    /// [`expected_block_len`](RangePolicy::expected_block_len), if `len` is twice a header at least.
    pub(crate) fn expected_num_keys(&self, len: u64) -> u64 {
        let len = match self.size {
            Size::MillibitsPerKey(_) => len,
            Size::Rate { .. } => len.saturating_sub(HEADER_LEN as u64),
        };
        ((u128::from(len) * 8000 + 7999) / self.millibits_per_key()).try_into().unwrap_or(u64::MAX)
    }

    /// Returns the bits per key in thousandths.
    fn millibits_per_key(&self) -> u128 {
        match self.size {
            Size::MillibitsPerKey(millibits) => millibits.into(),
            Size::Rate { .. } => (self.bits_per_key() * 1000.0) as u128,
        }
    }
}

impl fmt::Display for RangePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.false_positive_rate() {
            None => write!(f, "range:{}", self.bits_per_key())?,
            Some((rate, len)) => write!(f, "range:fpr={rate},len={len}")?,
        }
        f.write_str(if self.requires_integers() { ",form=integers" } else { "" })?;
        f.write_str(if self.self_check { "" } else { ",self_check=off" })
    }
}

impl FromStr for RangePolicy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        let syntax = |found: &str, expected| ParsePolicyError::Syntax { found: found.into(), expected };
        let parts = text.strip_prefix("range:").ok_or_else(|| syntax(text, SIZE))?;
        let mut parts = parts.split(',').peekable();
        let size = parts.next().unwrap_or_default();
        let policy = match size.strip_prefix("fpr=") {
            None => Self::with_bits_per_key(size.parse().map_err(|_| syntax(size, SIZE))?)?,
            Some(rate) => {
                let (number, unit) = rate.strip_suffix('%').map_or((rate, 1.0), |percent| (percent, 100.0));
                let number: f64 = number.parse().map_err(|_| syntax(rate, "a rate, such as 1% or 0.01"))?;
                let len = parts.next().unwrap_or_default();
                let digits = len.strip_prefix("len=").and_then(|digits| digits.parse().ok());
                let (rate, len) = (number / unit, digits.ok_or_else(|| syntax(len, LEN))?);
                match parts.next_if(|part| part.starts_with("form=")) {
                    None => Self::with_false_positive_rate(rate, len)?,
                    Some(FORM) => Self::of_integers(rate, len)?,
                    Some(other) => return Err(syntax(other, FORM)),
                }
            }
        };
        let policy = match parts.next() {
            None | Some("self_check=on") => policy,
            Some("self_check=off") => policy.with_self_check(false),
            Some(form) if form.starts_with("form=") && policy.false_positive_rate().is_none() => {
                return Err(syntax(form, RATED));
            }
            Some(other) => return Err(syntax(other, "self_check=on or self_check=off")),
        };
        match parts.next() {
            None => Ok(policy),
            Some(more) => Err(syntax(more, "the end")),
        }
    }
}
