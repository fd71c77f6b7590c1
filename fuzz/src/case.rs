//! The input of the `built` target. Everything is read from the front, so that a seed can be written by hand and a
//! mutation stays local.

use arbitrary::{Arbitrary, Result, Unstructured};
use filterblock::{BuildError, CustomTransform, FilterKind, FilterPolicy, KeyHasher, KeyTransform};

/// A bit of the byte that contains the salt bits.
pub const KEYED: u8 = 8;

/// A policy, entries, and one damaged byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub kind: u8,
    pub size: Size,
    /// The lowest three bits; the next one, [`KEYED`], requests a hash under a secret key. The upper four, unless they
    /// are 0, request slots per key.
    pub salt_bits: u8,
    pub seed: u64,
    pub context: u64,
    /// Id and parameter as stored.
    pub transform: (u8, u16),
    pub damage: Damage,
    /// Number of hashes to add besides the entries, derived from the seed.
    pub num_more: u16,
    pub entries: Vec<Vec<u8>>,
}

/// A position in the block, and the bits to flip in the byte there.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
pub struct Damage {
    pub at: u16,
    pub bits: u8,
}

/// The requested size of the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    BitsPerKey(f64),
    FalsePositiveRate(f64),
    MaxBytes(u16),
}

impl<'a> Arbitrary<'a> for Size {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match u8::arbitrary(u)? % 5 {
            0 => Self::BitsPerKey(2.0 + f64::from(u16::arbitrary(u)? % 62_001) / 1e3),
            1 => Self::FalsePositiveRate(0.25 / (1.0 + f64::from(u16::arbitrary(u)?))),
            2 => Self::MaxBytes(u16::arbitrary(u)?),
            // Any number, most of them illegal.
            3 => Self::BitsPerKey(f64::from_bits(u64::arbitrary(u)?)),
            _ => Self::FalsePositiveRate(f64::from_bits(u64::arbitrary(u)?)),
        })
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut case = Self {
            kind: u.arbitrary()?,
            size: u.arbitrary()?,
            salt_bits: u.arbitrary()?,
            seed: u.arbitrary()?,
            context: u.arbitrary()?,
            transform: (u.arbitrary()?, u.arbitrary()?),
            damage: u.arbitrary()?,
            num_more: u.arbitrary::<u16>()? % 512,
            entries: Vec::new(),
        };
        while !u.is_empty() {
            let len = u.arbitrary::<u8>()?.into();
            case.entries.push(u.bytes(u.len().min(len))?.to_vec());
        }
        Ok(case)
    }
}

impl Case {
    /// The bytes that decode to this case. Sizes use the first three of [`Size`]'s encodings.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.kind];
        let (tag, value) = match self.size {
            Size::BitsPerKey(bits) => (0, ((bits - 2.0) * 1e3).round() as u16),
            Size::FalsePositiveRate(rate) => (1, (0.25 / rate - 1.0).round() as u16),
            Size::MaxBytes(bytes) => (2, bytes),
        };
        out.push(tag);
        out.extend(value.to_le_bytes());
        out.push(self.salt_bits);
        out.extend(self.seed.to_le_bytes());
        out.extend(self.context.to_le_bytes());
        out.push(self.transform.0);
        out.extend(self.transform.1.to_le_bytes());
        out.extend(self.damage.at.to_le_bytes());
        out.push(self.damage.bits);
        out.extend(self.num_more.to_le_bytes());
        for entry in &self.entries {
            out.push(u8::try_from(entry.len()).expect("seeds have entries of at most 255 bytes"));
            out.extend(entry);
        }
        out
    }

    fn transform(&self) -> KeyTransform {
        let (id, param) = self.transform;
        match id {
            0 => KeyTransform::WholeKey,
            1 => KeyTransform::Row,
            2 => KeyTransform::RowColumn,
            3 => KeyTransform::FixedPrefix { len: param },
            4 => KeyTransform::WholeKeyAndPrefix { len: param },
            5 => KeyTransform::DelimitedPrefix { delimiter: param as u8, levels: (param >> 8) as u8 },
            id => CustomTransform::new(id | 128, param).map_or(KeyTransform::WholeKey, KeyTransform::Custom),
        }
    }

    /// The secret key under which the entries are hashed, if any: made of numbers that the input chooses anyway.
    pub fn key(&self) -> Option<[u8; 16]> {
        let key = u128::from(self.seed) << 64 | u128::from(self.context);
        (self.salt_bits & KEYED != 0).then(|| key.to_le_bytes())
    }

    /// The hasher: with the key if there is one, otherwise with the seed.
    pub fn hasher(&self) -> KeyHasher {
        self.key().map_or_else(|| KeyHasher::new(self.seed), KeyHasher::keyed)
    }

    /// The policy, if the sizes are legal.
    pub fn policy(&self) -> core::result::Result<FilterPolicy, BuildError> {
        let kind = FilterKind::ALL[usize::from(self.kind) % FilterKind::ALL.len()];
        let policy = match self.size {
            Size::BitsPerKey(bits) => FilterPolicy::with_bits_per_key(kind, bits),
            Size::FalsePositiveRate(rate) => FilterPolicy::with_false_positive_rate(kind, rate),
            Size::MaxBytes(bytes) => FilterPolicy::with_max_bytes(kind, bytes.into()),
        }?;
        let policy = match self.salt_bits >> 4 {
            0 => policy,
            slots => policy.with_slots_per_key(0.94 + 0.017 * f64::from(slots))?,
        };
        // Seven of eight values are legal.
        policy.with_hasher(self.hasher()).with_transform(self.transform()).with_salt_bits(u32::from(self.salt_bits) % 8)
    }
}
