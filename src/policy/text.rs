//! A policy as a line of text, for option files and command lines.
//!
//! `kind:size`, then settings, by commas: `blocked:10`, `golomb:fpr=0.1%,seed=7`,
//! `bloom:max=4096,transform=prefix:4,self_check=off`. What is not named has its default; nothing is named twice.

use super::{CustomTransform, FilterPolicy, KeyTransform};
use crate::error::BuildError;
use crate::filter::size::{FilterSize, SALT_BITS};
use crate::hash::{KeyHasher, XXH3_ID};
use crate::kind::FilterKind;
use core::fmt;
use core::mem;
use core::str::FromStr;
use std::string::{String, ToString};

/// Why a text is no policy or no transform.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParsePolicyError {
    /// A part of the text is none that the grammar knows.
    Syntax {
        /// The part.
        found: String,
        /// What can stand in its place.
        expected: &'static str,
    },
    /// A setting is named twice.
    Repeated {
        /// Its name.
        name: &'static str,
    },
    /// A value is outside its legal range.
    Value(BuildError),
}

impl fmt::Display for ParsePolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { found, expected } => write!(f, "'{found}' is not {expected}"),
            Self::Repeated { name } => write!(f, "{name}=… is given twice"),
            Self::Value(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParsePolicyError {}

impl From<BuildError> for ParsePolicyError {
    fn from(error: BuildError) -> Self {
        Self::Value(error)
    }
}

const SEED: &str = "seed";
const TRANSFORM: &str = "transform";
const SELF_CHECK: &str = "self_check";
const SLOTS_PER_KEY: &str = "slots_per_key";
const SETTINGS: [&str; 5] = [SEED, TRANSFORM, SALT_BITS, SLOTS_PER_KEY, SELF_CHECK];

const SIZE: &str = "a size: bits per key such as 10, a rate such as fpr=1% or fpr=0.01, or bytes such as max=4096";
const SETTING: &str = "a setting: seed=…, transform=…, salt_bits=…, slots_per_key=… or self_check=on|off";
const NUMBER: &str = "a number";
const TRANSFORM_TEXT: &str =
    "a transform: whole-key, row, row+column, prefix:LEN, whole-key+prefix:LEN or custom:ID:PARAM";

fn syntax(found: &str, expected: &'static str) -> ParsePolicyError {
    ParsePolicyError::Syntax { found: found.to_string(), expected }
}

fn number<T: FromStr>(text: &str) -> Result<T, ParsePolicyError> {
    text.parse().map_err(|_| syntax(text, NUMBER))
}

/// In decimal, or in hexadecimal with `0x`.
fn integer(text: &str) -> Result<u64, ParsePolicyError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|_| syntax(text, NUMBER)),
        None => number(text),
    }
}

/// ```
/// use filterblock::{FilterKind, FilterPolicy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy: FilterPolicy = "golomb:fpr=0.1%,seed=7".parse()?;
/// assert_eq!(policy, FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 0.001)?.seed(7));
/// assert_eq!(policy.to_string(), "golomb:fpr=0.001,seed=7");
/// # Ok(())
/// # }
/// ```
impl FromStr for FilterPolicy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        let mut parts = text.split(',');
        let first = parts.next().unwrap_or_default();
        let (kind, size) =
            first.split_once(':').ok_or_else(|| syntax(first, "a kind and a size such as blocked:10"))?;
        let kind: FilterKind = kind.parse().map_err(|_| syntax(kind, "a kind of filter"))?;
        let mut policy = match size.split_once('=') {
            None => Self::with_bits_per_key(kind, size.parse().map_err(|_| syntax(size, SIZE))?)?,
            Some(("fpr", rate)) => Self::with_false_positive_rate(
                kind,
                match rate.strip_suffix('%') {
                    Some(percent) => number::<f64>(percent)? / 100.0,
                    None => number(rate)?,
                },
            )?,
            Some(("max", bytes)) => Self::with_max_bytes(kind, integer(bytes)?)?,
            Some(_) => return Err(syntax(size, SIZE)),
        };
        let mut named = [false; SETTINGS.len()];
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| syntax(part, SETTING))?;
            let i = SETTINGS.iter().position(|&known| known == name).ok_or_else(|| syntax(part, SETTING))?;
            if mem::replace(&mut named[i], true) {
                return Err(ParsePolicyError::Repeated { name: SETTINGS[i] });
            }
            policy = match (name, value) {
                (SEED, seed) => policy.seed(integer(seed)?),
                (TRANSFORM, transform) => policy.transform(transform.parse()?),
                (SALT_BITS, bits) => policy.salt_bits(number(bits)?)?,
                (SLOTS_PER_KEY, slots) => policy.slots_per_key(number(slots)?)?,
                (SELF_CHECK, "on") => policy.self_check(true),
                (SELF_CHECK, "off") => policy.self_check(false),
                _ => return Err(syntax(part, SETTING)),
            };
        }
        Ok(policy)
    }
}

/// What [`FilterPolicy::from_str`] reads, except a secret key and the code of an engine's own transform: of a key the id
/// is written, as `key=`, which is refused when it is read.
impl fmt::Display for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let defaults = match self.size() {
            FilterSize::MillibitsPerKey(millibits) => {
                write!(f, "{}:{}", self.kind(), f64::from(millibits) / 1e3)?;
                Self::with_bits_per_key(self.kind(), f64::from(millibits) / 1e3)
            }
            FilterSize::FalsePositiveRate(rate) => {
                write!(f, "{}:fpr={rate}", self.kind())?;
                Self::with_false_positive_rate(self.kind(), rate)
            }
            FilterSize::MaxBytes(bytes) => {
                write!(f, "{}:max={bytes}", self.kind())?;
                Self::with_max_bytes(self.kind(), bytes)
            }
        }
        .ok();
        let default_salt_bits = defaults.and_then(|defaults| defaults.num_salt_bits());
        if let Some(bits) = self.num_salt_bits().filter(|&bits| Some(bits) != default_salt_bits) {
            write!(f, ",{SALT_BITS}={bits}")?;
        }
        let default_slots = defaults.and_then(|defaults| defaults.num_slots_per_key());
        if let Some(slots) = self.num_slots_per_key().filter(|&slots| Some(slots) != default_slots) {
            write!(f, ",{SLOTS_PER_KEY}={slots}")?;
        }
        if self.key_transform() != KeyTransform::default() {
            write!(f, ",transform={}", self.key_transform())?;
        }
        if self.hasher().hash_id() != XXH3_ID {
            write!(f, ",key={:#018x}", self.hasher().seed())?;
        } else if self.hasher() != KeyHasher::default() {
            write!(f, ",seed={}", self.hasher().seed())?;
        }
        if !self.self_checks() {
            f.write_str(",self_check=off")?;
        }
        Ok(())
    }
}

/// The policy's text.
impl fmt::Debug for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilterPolicy({self})")
    }
}

/// ```
/// use filterblock::KeyTransform;
/// let transform: KeyTransform = "prefix:4".parse()?;
/// assert_eq!(transform, KeyTransform::FixedPrefix { len: 4 });
/// # Ok::<(), filterblock::ParsePolicyError>(())
/// ```
impl FromStr for KeyTransform {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let mut param = || parts.next().ok_or_else(|| syntax(text, TRANSFORM_TEXT));
        let transform = match name {
            "whole-key" => Self::WholeKey,
            "row" => Self::Row,
            "row+column" => Self::RowColumn,
            "prefix" => Self::FixedPrefix { len: number(param()?)? },
            "whole-key+prefix" => Self::WholeKeyAndPrefix { len: number(param()?)? },
            "custom" => Self::Custom(CustomTransform::new(number(param()?)?, number(param()?)?)?),
            _ => return Err(syntax(text, TRANSFORM_TEXT)),
        };
        match parts.next() {
            None => Ok(transform),
            Some(_) => Err(syntax(text, TRANSFORM_TEXT)),
        }
    }
}

#[cfg(feature = "serde")]
mod serialised {
    use super::{FilterPolicy, KeyTransform, ToString, XXH3_ID};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
    use std::borrow::Cow;

    /// As its text.
    impl Serialize for KeyTransform {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for KeyTransform {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Cow::<'_, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        }
    }

    /// As its text; an error for a policy with a secret key, which has none.
    impl Serialize for FilterPolicy {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.hasher().hash_id() {
                XXH3_ID => serializer.serialize_str(&self.to_string()),
                _ => Err(ser::Error::custom("a policy with a secret key is not serialised")),
            }
        }
    }

    impl<'de> Deserialize<'de> for FilterPolicy {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Cow::<'_, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::{FilterPolicy, KeyTransform};
    use crate::hash::KeyHasher;

    #[test]
    fn policies_and_transforms_are_serialised_as_their_text() {
        let policy: FilterPolicy = "golomb:fpr=0.001,transform=prefix:4,seed=7".parse().expect("legal");
        let text = serde_json::to_string(&policy).expect("a policy without a secret");
        assert_eq!(text, format!("\"{policy}\""));
        assert_eq!(serde_json::from_str::<FilterPolicy>(&text).expect("its own text"), policy);
        let transform = serde_json::to_string(&policy.key_transform()).expect("a text");
        assert_eq!(serde_json::from_str::<KeyTransform>(&transform).expect("its own text"), policy.key_transform());
        assert!(serde_json::from_str::<FilterPolicy>("\"blocked:1\"").is_err());
        assert!(serde_json::to_string(&policy.hashed_by(KeyHasher::keyed([7; 16]))).is_err(), "a secret key");
    }
}
