//! The settings of range filters.

use crate::error::BuildError;
use crate::policy::ParsePolicyError;
use core::fmt;
use core::str::FromStr;

/// How a writer makes range filters. Its text is `range:14`, or `range:14,self_check=off`.
///
/// ```
/// use filterblock::range::RangePolicy;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy: RangePolicy = "range:14".parse()?;
/// assert_eq!(policy, RangePolicy::with_bits_per_key(14.0)?);
/// assert_eq!(policy.to_string(), "range:14");
/// assert!("range:1000".parse::<RangePolicy>().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RangePolicy {
    millibits_per_key: u32,
    self_check: bool,
}

/// The legal bits per key.
const MIN_BITS: u32 = 2;
const MAX_BITS: u32 = 200;

impl RangePolicy {
    /// Returns the policy for filters of about this many bits per key in all, from 2 to 200. With few bits, keys that
    /// differ late are not told apart; from 10 on (integers) or 12 to 16 on (text) all are.
    ///
    /// # Errors
    /// [`BuildError::Setting`] outside the range.
    pub fn with_bits_per_key(bits: f64) -> Result<Self, BuildError> {
        // Not a number is outside, too.
        if !(f64::from(MIN_BITS)..=f64::from(MAX_BITS)).contains(&bits) {
            let (min, max) = (MIN_BITS.into(), MAX_BITS.into());
            return Err(BuildError::Setting { name: "bits per key", asked: bits as u64, min, max });
        }
        Ok(Self { millibits_per_key: (bits * 1000.0 + 0.5) as u32, self_check: true })
    }

    /// Sets whether a finished filter is compared with the keys, which is on unless set.
    #[must_use]
    pub const fn with_self_check(mut self, self_check: bool) -> Self {
        self.self_check = self_check;
        self
    }

    /// Returns the bits per key.
    pub fn bits_per_key(&self) -> f64 {
        f64::from(self.millibits_per_key) / 1000.0
    }

    /// Returns whether a finished filter is compared with the keys.
    pub const fn self_check(&self) -> bool {
        self.self_check
    }

    /// Returns about how many bytes a block of `num_keys` keys has. It may have fewer, if its keys are told apart by few
    /// bits, and some more, as a payload is not planned to the bit.
    pub fn expected_block_len(&self, num_keys: u64) -> u64 {
        (u128::from(num_keys) * u128::from(self.millibits_per_key) / 8000).try_into().unwrap_or(u64::MAX)
    }
}

impl fmt::Display for RangePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "range:{}{}", self.bits_per_key(), if self.self_check { "" } else { ",self_check=off" })
    }
}

impl FromStr for RangePolicy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        let syntax = |found: &str, expected| ParsePolicyError::Syntax { found: found.into(), expected };
        let size = text.strip_prefix("range:").ok_or_else(|| syntax(text, "range:BITS, such as range:14"))?;
        let (bits, setting) = match size.split_once(',') {
            Some((bits, setting)) => (bits, Some(setting)),
            None => (size, None),
        };
        let policy = Self::with_bits_per_key(bits.parse().map_err(|_| syntax(bits, "a number"))?)?;
        match setting {
            None | Some("self_check=on") => Ok(policy),
            Some("self_check=off") => Ok(policy.with_self_check(false)),
            Some(other) => Err(syntax(other, "self_check=on or self_check=off")),
        }
    }
}
