//! A policy as a line of text, for option files and command lines.
//!
//! `kind:size`, then settings, by commas: `blocked:10`, `golomb:fpr=0.1%,seed=7`,
//! `bloom:max=4096,transform=prefix:4,self_check=off`, `bloom:bytes=131072,probes=7`. Settings that are not named have
//! their defaults; none is named twice. The kind `auto` is chosen by a workload, which has settings of its own:
//! `auto:fpr=1%,level=3`, `auto:10,queries=2000000,read_ns=90000`.

use super::settings::AUTO;
use super::{FilterPolicy, Workload};
use crate::error::{BuildError, ParsePolicyError};
use crate::hash::{CustomTransform, KeyHasher, KeyTransform, XXH3_ID};
use crate::keys::kinds::size::{FilterSize, PROBES, SALT_BITS};
use crate::kind::FilterKind;
use core::fmt;
use core::mem;
use core::str::FromStr;
use std::string::ToString;

const SEED: &str = "seed";
const TRANSFORM: &str = "transform";
const SELF_CHECK: &str = "self_check";
const SLOTS_PER_KEY: &str = "slots_per_key";
const LEVEL: &str = "level";
const QUERIES: &str = "queries";
const READ_NS: &str = "read_ns";
const BYTE_NS: &str = "byte_ns";
const SETTINGS: [&str; 10] =
    [SEED, TRANSFORM, SALT_BITS, SLOTS_PER_KEY, SELF_CHECK, LEVEL, QUERIES, READ_NS, BYTE_NS, PROBES];

const SIZE: &str = "a size: bits per key such as 10, a rate such as fpr=1% or fpr=0.01, bytes such as max=4096, or a \
                    fixed shape such as bytes=4096,probes=7";
const NO_PROBES: &str = "a fixed shape such as bytes=4096,probes=7: probes=… is missing";
const SETTING: &str = "a setting: seed=…, transform=…, salt_bits=…, slots_per_key=… or self_check=on|off";
const AUTO_SETTING: &str = "a setting: level=…, queries=…, read_ns=…, byte_ns=…, seed=…, transform=…, salt_bits=…, \
                            slots_per_key=… or self_check=on|off";
/// The name before the id of a secret key, which is written and not read.
const KEY: &str = "key";
const SECRET: &str = "a setting that can be read: it is the id of a secret key. Leave it out, and give the key itself by \
                      FilterPolicy::with_hasher";
const NUMBER: &str = "a number";
const NUMBER_OF_8_BITS: &str = "a whole number from 0 to 255";
const NUMBER_OF_16_BITS: &str = "a whole number from 0 to 65535";
const NUMBER_OF_32_BITS: &str = "a whole number from 0 to 4294967295";
const TRANSFORM_TEXT: &str = "a transform: whole-key, row, row+column, prefix:LEN, whole-key+prefix:LEN, \
                              delimited:BYTE, delimited:BYTE:LEVELS or custom:ID:PARAM";
const DELIMITER: &str = "a delimiter of one byte: a character of ASCII, or 0x and two digits, as for a comma, a colon or \
                         a space";

fn syntax(found: &str, expected: &'static str) -> ParsePolicyError {
    ParsePolicyError::Syntax { found: found.to_string(), expected }
}

fn number<T: FromStr>(text: &str, expected: &'static str) -> Result<T, ParsePolicyError> {
    text.parse().map_err(|_| syntax(text, expected))
}

/// Parses a number in decimal, or in hexadecimal with `0x`.
fn integer(text: &str) -> Result<u64, ParsePolicyError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|_| syntax(text, NUMBER)),
        None => number(text, NUMBER),
    }
}

/// ```
/// use filterblock::{FilterKind, FilterPolicy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy: FilterPolicy = "golomb:fpr=0.1%,seed=7".parse()?;
/// assert_eq!(policy, FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 0.001)?.with_seed(7));
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
        let kind: Option<FilterKind> = match kind {
            AUTO => None,
            kind => Some(kind.parse().map_err(|_| syntax(kind, "a kind of filter, or auto"))?),
        };
        let probes = parts.clone().find_map(|part| part.split_once('=').filter(|(name, _)| *name == PROBES));
        let mut policy = sized(kind, size, probes.map(|(_, probes)| probes))?;
        let (setting, mut workload) = (if kind.is_none() { AUTO_SETTING } else { SETTING }, policy.workload());
        let mut named = [false; SETTINGS.len()];
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| syntax(part, setting))?;
            if name == KEY {
                return Err(syntax(part, SECRET));
            }
            let i = SETTINGS.iter().position(|&known| known == name).ok_or_else(|| syntax(part, setting))?;
            if mem::replace(&mut named[i], true) {
                return Err(ParsePolicyError::Repeated { name: SETTINGS[i] });
            }
            if let Some(of_policy) = workload {
                workload = Some(match name {
                    LEVEL => of_policy.with_level(number(value, NUMBER_OF_8_BITS)?),
                    QUERIES => of_policy.with_num_queries(integer(value)?),
                    READ_NS => of_policy.with_read_ns(number(value, NUMBER_OF_32_BITS)?),
                    BYTE_NS => of_policy.with_byte_ns(number(value, NUMBER_OF_32_BITS)?),
                    _ => of_policy,
                });
            }
            policy = match (name, value) {
                (LEVEL | QUERIES | READ_NS | BYTE_NS, _) if workload.is_some() => policy,
                (PROBES, _) if matches!(policy.size(), FilterSize::FixedShape { .. }) => policy,
                (SEED, seed) => policy.with_seed(integer(seed)?),
                (TRANSFORM, transform) => policy.with_transform(transform.parse()?),
                (SALT_BITS, bits) => policy.with_salt_bits(number(bits, NUMBER)?)?,
                (SLOTS_PER_KEY, slots) => policy.with_slots_per_key(number(slots, NUMBER)?)?,
                (SELF_CHECK, "on") => policy.with_self_check(true),
                (SELF_CHECK, "off") => policy.with_self_check(false),
                _ => return Err(syntax(part, setting)),
            };
        }
        Ok(match workload {
            Some(workload) => policy.with_workload(workload),
            None => policy,
        })
    }
}

/// Returns the policy of this kind, or with a kind to be chosen, in the size that `text` gives, and for a fixed shape the
/// value of the setting `probes`.
fn sized(kind: Option<FilterKind>, text: &str, probes: Option<&str>) -> Result<FilterPolicy, ParsePolicyError> {
    let size = match text.split_once('=') {
        None => {
            let bits_per_key = text.parse().map_err(|_| syntax(text, SIZE))?;
            // The size is kept to a thousandth, and refused outside the range that all kinds share.
            let policy = FilterPolicy::with_bits_per_key(kind.unwrap_or_default(), bits_per_key)?;
            policy.size()
        }
        Some(("fpr", rate)) => FilterSize::FalsePositiveRate(match rate.strip_suffix('%') {
            Some(percent) => number::<f64>(percent, NUMBER)? / 100.0,
            None => number(rate, NUMBER)?,
        }),
        Some(("max", bytes)) => FilterSize::MaxBytes(integer(bytes)?),
        Some(("bytes", bytes)) => {
            let probes = probes.ok_or_else(|| syntax(text, NO_PROBES))?;
            FilterSize::FixedShape { block_len: integer(bytes)?, num_probes: number(probes, NUMBER_OF_32_BITS)? }
        }
        Some(_) => return Err(syntax(text, SIZE)),
    };
    Ok(match kind {
        Some(kind) => FilterPolicy::with_kind_and_size(kind, size)?,
        None => FilterPolicy::auto(size, Workload::default())?,
    })
}

/// Writes the text that [`FilterPolicy::from_str`] reads, without a secret key and without the code of an engine's own
/// transform. The id of a secret key is written as `key=`, which is refused when the text is read.
impl fmt::Display for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.kind_name())?;
        match self.size() {
            FilterSize::MillibitsPerKey(millibits) => write!(f, "{}", f64::from(millibits) / 1e3)?,
            FilterSize::FalsePositiveRate(rate) => write!(f, "fpr={rate}")?,
            FilterSize::MaxBytes(bytes) => write!(f, "max={bytes}")?,
            FilterSize::FixedShape { block_len, num_probes } => write!(f, "bytes={block_len},{PROBES}={num_probes}")?,
        }
        if let Some(workload) = self.workload() {
            if workload.level() != Workload::default().level() {
                write!(f, ",{LEVEL}={}", workload.level())?;
            }
            for (name, value) in [QUERIES, READ_NS, BYTE_NS].into_iter().zip(workload.set_values()) {
                if let Some(value) = value {
                    write!(f, ",{name}={value}")?;
                }
            }
        }
        let defaults = self.kind().and_then(|kind| Self::with_kind_and_size(kind, self.size()).ok());
        let default_salt_bits = defaults.as_ref().and_then(|defaults| defaults.salt_bits());
        if let Some(bits) = self.salt_bits().filter(|&bits| Some(bits) != default_salt_bits) {
            write!(f, ",{SALT_BITS}={bits}")?;
        }
        let default_slots = defaults.as_ref().and_then(|defaults| defaults.slots_per_key());
        if let Some(slots) = self.slots_per_key().filter(|&slots| Some(slots) != default_slots) {
            write!(f, ",{SLOTS_PER_KEY}={slots}")?;
        }
        if self.transform() != KeyTransform::default() {
            write!(f, ",transform={}", self.transform())?;
        }
        if self.hasher().hash_id() != XXH3_ID {
            write!(f, ",{KEY}={:#018x}", self.hasher().seed())?;
        } else if *self.hasher() != KeyHasher::default() {
            write!(f, ",seed={}", self.hasher().seed())?;
        }
        if !self.self_check() {
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
/// let directories = KeyTransform::DelimitedPrefix { delimiter: b'/', levels: 3 };
/// assert_eq!("delimited:/:3".parse(), Ok(directories));
/// let zeros = KeyTransform::DelimitedPrefix { delimiter: 0, levels: 255 }; // all levels, unless they are given
/// assert_eq!("delimited:0x00".parse(), Ok(zeros));
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
            "prefix" => Self::FixedPrefix { len: prefix_len(param()?)? },
            "whole-key+prefix" => Self::WholeKeyAndPrefix { len: prefix_len(param()?)? },
            "delimited" => Self::DelimitedPrefix {
                delimiter: delimiter(param()?)?,
                levels: parts.next().map_or(Ok(u8::MAX), levels)?,
            },
            "custom" => Self::Custom(CustomTransform::new(
                number(param()?, NUMBER_OF_16_BITS)?,
                number(param()?, NUMBER_OF_16_BITS)?,
            )?),
            _ => return Err(syntax(text, TRANSFORM_TEXT)),
        };
        match parts.next() {
            None => Ok(transform),
            Some(_) => Err(syntax(text, TRANSFORM_TEXT)),
        }
    }
}

/// Parses the length of a prefix. All keys have the prefix of length 0, so a filter of it would pass every query.
fn prefix_len(text: &str) -> Result<u16, ParsePolicyError> {
    match number(text, NUMBER_OF_16_BITS)? {
        0 => Err(BuildError::Setting { name: "prefix length", asked: 0, min: 1, max: u16::MAX.into() }.into()),
        len => Ok(len),
    }
}

/// Parses a delimiter. What separates parts of a policy's text, or may be lost at its ends, is given by its number.
fn delimiter(text: &str) -> Result<u8, ParsePolicyError> {
    match (text.as_bytes(), text.strip_prefix("0x")) {
        (&[byte], _) if byte.is_ascii_graphic() => Ok(byte),
        (&[_, _, _, _], Some(digits)) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            u8::from_str_radix(digits, 16).map_err(|_| syntax(text, DELIMITER))
        }
        _ => Err(syntax(text, DELIMITER)),
    }
}

/// Parses the levels of directories.
fn levels(text: &str) -> Result<u8, ParsePolicyError> {
    match number::<u8>(text, NUMBER_OF_8_BITS)? {
        0 => Err(BuildError::Setting { name: "levels", asked: 0, min: 1, max: u8::MAX.into() }.into()),
        levels => Ok(levels),
    }
}

#[cfg(feature = "serde")]
mod serialised {
    use super::{FilterPolicy, KeyTransform, ToString, XXH3_ID};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
    use std::borrow::Cow;

    /// Serialises the transform as its text.
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

    /// Serialises the policy as its text. A policy with a secret key has no text, and returns an error.
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

#[cfg(test)]
mod tests {
    use super::{FilterPolicy, KeyTransform};
    #[cfg(feature = "serde")]
    use crate::hash::KeyHasher;

    #[test]
    fn a_delimiter_is_one_byte_and_its_text_is_read_again() {
        for delimiter in 0..=u8::MAX {
            for levels in [1, 2, 255] {
                let transform = KeyTransform::DelimitedPrefix { delimiter, levels };
                assert_eq!(transform.to_string().parse(), Ok(transform));
                let policy = format!("blocked:10,transform={transform},seed=7").parse::<FilterPolicy>();
                assert_eq!(policy.expect("a policy").transform(), transform);
            }
        }
        for text in ["", ":", " ", "ab", "é", "…", "0x", "0x2", "0x2g", "0x+f", "0x02f", "/:", "/:0", "/:-1", "/:1:1"]
        {
            assert!(format!("delimited:{text}").parse::<KeyTransform>().is_err(), "{text}");
        }
        assert_eq!("delimited:0".parse(), Ok(KeyTransform::DelimitedPrefix { delimiter: b'0', levels: 255 }));
        assert!("blocked:10,transform=delimited:,".parse::<FilterPolicy>().is_err(), "a comma ends a setting");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn policies_and_transforms_are_serialised_as_their_text() {
        let policy: FilterPolicy = "golomb:fpr=0.001,transform=prefix:4,seed=7".parse().expect("legal");
        let text = serde_json::to_string(&policy).expect("a policy without a secret");
        assert_eq!(text, format!("\"{policy}\""));
        assert_eq!(serde_json::from_str::<FilterPolicy>(&text).expect("its own text"), policy);
        let transform = serde_json::to_string(&policy.transform()).expect("a text");
        assert_eq!(serde_json::from_str::<KeyTransform>(&transform).expect("its own text"), policy.transform());
        assert!(serde_json::from_str::<FilterPolicy>("\"blocked:1\"").is_err());
        assert!(serde_json::to_string(&policy.with_hasher(KeyHasher::keyed([7; 16]))).is_err(), "a secret key");
    }
}
