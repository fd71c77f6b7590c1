//! The format as format-spec.md states it, in the simplest code possible: one bit at a time, 128-bit integers, no code
//! shared with the library but its hash functions. Reads blocks and compact frames without verifying their checksums, and writes payloads.

mod fuse;
mod golomb;
pub mod index;
pub mod ribbon;

pub use fuse::Fuse;
pub use golomb::Golomb;
pub use ribbon::Ribbon;

use filterblock::KeyHasher;
use std::collections::BTreeSet;

pub fn int(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

pub fn bit(bytes: &[u8], i: u64) -> u64 {
    bytes.get((i / 8) as usize).map_or(0, |byte| u64::from(byte >> (i % 8) & 1))
}

pub fn field(bytes: &[u8], at: u64, width: u64) -> u64 {
    (0..width).map(|j| bit(bytes, at + j) << j).sum()
}

fn set_bit(bytes: &mut [u8], i: u64) {
    bytes[(i / 8) as usize] |= 1 << (i % 8);
}

fn set_field(bytes: &mut [u8], at: u64, width: u64, value: u64) {
    (0..width).filter(|j| value >> j & 1 == 1).for_each(|j| set_bit(bytes, at + j));
}

pub fn range(x: u64, n: u64) -> u64 {
    ((u128::from(x) * u128::from(n)) >> 64) as u64
}

fn range32(x: u32, n: u32) -> u32 {
    ((u64::from(x) * u64::from(n)) >> 32) as u32
}

pub fn mix(mut z: u64) -> u64 {
    z ^= z >> 33;
    z = z.wrapping_mul(0xff51afd7ed558ccd);
    z ^= z >> 33;
    z = z.wrapping_mul(0xc4ceb9fe1a85ec53);
    z ^ z >> 33
}

/// A filter as read. The variants have the fields of sections 5 to 9.
#[derive(Clone, Debug)]
pub enum Oracle {
    Empty,
    Bloom {
        num_probes: u32,
        num_bits: u64,
        bits: Vec<u8>,
    },
    Blocked {
        num_probes: u32,
        salt_bits: u32,
        lines: Vec<u8>,
    },
    Golomb {
        golomb: Golomb,
        payload: Vec<u8>,
    },
    Ribbon {
        ribbon: Ribbon,
        payload: Vec<u8>,
    },
    Fuse {
        fuse: Fuse,
        payload: Vec<u8>,
    },
    /// A filter of the hashes that take the places of the set's own, section 4.5.
    Remapped {
        set_seed: u64,
        own: Box<Self>,
    },
}

/// The hash that takes the place of `hash`.
pub fn remap(hash: u64, set_seed: u64) -> u64 {
    mix(hash ^ set_seed)
}

/// The seed of a remapped set.
pub fn set_seed(hashes: &BTreeSet<u64>) -> u64 {
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| (0..8).map(move |i| (hash >> (8 * i)) as u8)).collect();
    KeyHasher::keyed([0; 16]).hash(&bytes).get().max(1)
}

pub fn remapped(hashes: &BTreeSet<u64>) -> BTreeSet<u64> {
    let set_seed = set_seed(hashes);
    hashes.iter().map(|&hash| remap(hash, set_seed)).collect()
}

impl Oracle {
    pub fn open(block: &[u8]) -> Self {
        let num_entries = int(&block[24..32]);
        if block[13] & 1 == 1 && num_entries > 0 {
            let (own, set_seed) = block.split_at(block.len() - 8);
            let mut own = own.to_vec();
            own[13] &= !1;
            return Self::Remapped { set_seed: int(set_seed), own: Box::new(Self::open(&own)) };
        }
        let (params, payload) = (&block[40..52], block[64..].to_vec());
        if num_entries == 0 {
            return Self::Empty;
        }
        match block[9] {
            1 => Self::Bloom { num_probes: params[0].into(), num_bits: int(&params[4..12]), bits: payload },
            2 => Self::Blocked { num_probes: params[0].into(), salt_bits: params[1].into(), lines: payload },
            3 => {
                let golomb = Golomb {
                    remainder_bits: params[0].into(),
                    directory_bits: params[1].into(),
                    num_buckets: num_entries.div_ceil(params[2].into()),
                    bucket_range: int(&params[4..12]),
                };
                Self::Golomb { golomb, payload }
            }
            4 => {
                let (columns, last_seed, thinned_from) = (params[0].into(), params[2].into(), params[3].into());
                let num_blocks = ribbon::num_blocks(&payload, params[1].into());
                let ribbon = Ribbon { columns, last_seed, thinned_from, wide_share: int(&params[4..8]), num_blocks };
                Self::Ribbon { ribbon, payload }
            }
            5 => {
                let fuse = Fuse {
                    fingerprint_bits: params[0].into(),
                    log2_segment_len: params[1].into(),
                    seed: params[2].into(),
                    num_segments: int(&params[4..8]),
                };
                Self::Fuse { fuse, payload }
            }
            kind => panic!("kind {kind}"),
        }
    }

    pub fn open_compact(frame: &[u8]) -> Self {
        let at = |back: usize| frame[frame.len() - back];
        if at(1) & 8 == 8 {
            let trailer_len = match (at(1) & 7, at(2)) {
                (3, 1..16) => 3,
                (3, lens) => 4 + usize::from(lens >> 4) + usize::from(lens & 15),
                (4, lens) => 4 + if lens & 15 == 15 { 1 } else { usize::from(lens & 15) },
                (_, lens) => 4 + usize::from(lens & 7),
            };
            let (payload, trailer) = frame.split_at(frame.len() - trailer_len);
            let (own, set_seed) = payload.split_at(payload.len() - 8);
            let mut own = [own, trailer].concat();
            *own.last_mut().expect("a tag") &= !8;
            return Self::Remapped { set_seed: int(set_seed), own: Box::new(Self::open_compact(&own)) };
        }
        match at(1) {
            0x10 => Self::Empty,
            0x11 => {
                let bits = frame[..frame.len() - 2].to_vec();
                Self::Bloom { num_probes: at(2).into(), num_bits: bits.len() as u64 * 8, bits }
            }
            0x12 => {
                let lines = frame[..frame.len() - 2].to_vec();
                Self::Blocked { num_probes: u32::from(at(2) >> 4) + 1, salt_bits: (at(2) & 15).into(), lines }
            }
            0x13 if at(2) < 16 => {
                let (remainder_bits, bucket_range) = (at(2).into(), u64::from(at(3)) << (at(2) - 1));
                let golomb = Golomb { directory_bits: 0, remainder_bits, bucket_range, num_buckets: 1 };
                Self::Golomb { golomb, payload: frame[..frame.len() - 3].to_vec() }
            }
            0x13 => {
                let (a, b) = (usize::from(at(2) >> 4), usize::from(at(2) & 15));
                let end = frame.len() - 4;
                let golomb = Golomb {
                    directory_bits: at(3).into(),
                    remainder_bits: at(4).into(),
                    bucket_range: int(&frame[end - b..end]),
                    num_buckets: int(&frame[end - b - a..end - b]),
                };
                Self::Golomb { golomb, payload: frame[..end - b - a].to_vec() }
            }
            0x14 => {
                let is_thinned = at(2) & 15 == 15;
                let end = frame.len() - 4 - if is_thinned { 1 } else { usize::from(at(2) & 15) };
                let (columns, last_seed) = (at(3).into(), at(4).into());
                let payload = frame[..end].to_vec();
                let num_blocks = ribbon::num_blocks(&payload, (at(2) >> 4).into());
                let integer = int(&frame[end..frame.len() - 4]);
                let (wide_share, thinned_from) = if is_thinned { (0, integer) } else { (integer, 0) };
                let ribbon = Ribbon { columns, last_seed, thinned_from, wide_share, num_blocks };
                Self::Ribbon { ribbon, payload }
            }
            0x15 => {
                let end = frame.len() - 4 - usize::from(at(2) & 7);
                let fuse = Fuse {
                    fingerprint_bits: at(3).into(),
                    log2_segment_len: (at(2) >> 3).into(),
                    seed: at(4).into(),
                    num_segments: int(&frame[end..frame.len() - 4]),
                };
                Self::Fuse { fuse, payload: frame[..end].to_vec() }
            }
            tag => panic!("tag {tag:02x}"),
        }
    }

    pub fn may_contain(&self, hash: u64) -> bool {
        match self {
            Self::Empty => false,
            Self::Bloom { num_probes, num_bits, bits } => {
                bloom_bits(hash, *num_bits, *num_probes).into_iter().all(|i| bit(bits, i) == 1)
            }
            Self::Blocked { num_probes, salt_bits, lines } => {
                let line = range(hash, lines.len() as u64 / 64) as usize * 64;
                (0..8).all(|w| {
                    let word = int(&lines[line + 8 * w..line + 8 * w + 8]);
                    let salt = if *salt_bits == 0 { 0 } else { word >> (64 - salt_bits) };
                    word_positions(hash, *num_probes, *salt_bits, w, salt).iter().all(|p| word >> p & 1 == 1)
                })
            }
            Self::Golomb { golomb, payload } => {
                let (bucket, offset) = golomb.locate(hash);
                golomb.offsets(payload, bucket).is_none_or(|offsets| offsets.contains(&offset))
            }
            Self::Ribbon { ribbon, payload } => ribbon.may_contain(payload, hash),
            Self::Fuse { fuse, payload } => fuse.may_contain(payload, hash),
            Self::Remapped { set_seed, own } => own.may_contain(remap(hash, *set_seed)),
        }
    }

    /// The payload that a writer builds from `hashes` with the same parameters and, for ribbon, numbers of blocks.
    pub fn rebuild(&self, hashes: &BTreeSet<u64>) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::Bloom { num_probes, num_bits, .. } => {
                let mut bits = vec![0; num_bits.div_ceil(8) as usize];
                for &hash in hashes {
                    bloom_bits(hash, *num_bits, *num_probes).into_iter().for_each(|i| set_bit(&mut bits, i));
                }
                bits
            }
            Self::Blocked { num_probes, salt_bits, lines } => {
                rebuild_blocked(hashes, *num_probes, *salt_bits, lines.len())
            }
            Self::Golomb { golomb, .. } => golomb.rebuild(hashes),
            Self::Ribbon { ribbon, .. } => ribbon.rebuild(hashes),
            Self::Fuse { fuse, .. } => fuse.rebuild(hashes),
            Self::Remapped { own, .. } => {
                let set_seed = set_seed(hashes);
                [own.rebuild(&remapped(hashes)), (0..8).map(|i| (set_seed >> (8 * i)) as u8).collect()].concat()
            }
        }
    }
}

pub fn bloom_bits(hash: u64, num_bits: u64, num_probes: u32) -> Vec<u64> {
    let mut x = hash;
    let mut bits = Vec::new();
    for _ in 0..num_probes {
        bits.push(range(x, num_bits));
        x = x.wrapping_mul(0xf1357aea2e62a9c5);
    }
    bits
}

/// Positions probed in word `w` under `salt`: zero, one or two.
pub fn word_positions(hash: u64, num_probes: u32, salt_bits: u32, w: usize, salt: u64) -> Vec<u32> {
    const M: [u32; 8] =
        [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5, 0xb55a4f09];
    let positions = 64 - salt_bits;
    let x1 = hash as u32;
    let x2 = (hash.wrapping_mul(0xd1342543de82ef95) >> 32) as u32;
    let start = u64::from(x1.wrapping_mul(0x8cb92ba7) >> 29);
    let n1 = num_probes.min(8);
    let n2 = num_probes - n1;
    let mult = M[w].wrapping_add((salt as u32).wrapping_mul(0xd1b54a32));
    let in_window = |n: u32| (w as u64 + 8 - start) % 8 < u64::from(n);
    let mut probed = Vec::new();
    if in_window(n1) {
        probed.push(range32(x1.wrapping_mul(mult), positions));
    }
    if in_window(n2) {
        probed.push(range32(x2.wrapping_mul(mult), positions));
    }
    probed
}

fn rebuild_blocked(hashes: &BTreeSet<u64>, num_probes: u32, salt_bits: u32, len: usize) -> Vec<u8> {
    let mut lines = vec![0u8; len];
    for line in 0..len / 64 {
        let members: Vec<u64> = hashes.iter().copied().filter(|&h| range(h, len as u64 / 64) == line as u64).collect();
        for w in 0..8 {
            let under = |salt: u64| -> u64 {
                let positions = members.iter().flat_map(|&h| word_positions(h, num_probes, salt_bits, w, salt));
                positions.fold(0, |word, p| word | 1 << p)
            };
            let salts = 0..1u64 << salt_bits;
            let salt = salts.min_by_key(|&salt| (under(salt).count_ones(), salt)).expect("at least one salt");
            set_field(&mut lines[line * 64 + w * 8..], 0, 64, under(salt));
            if salt > 0 {
                set_field(&mut lines[line * 64 + w * 8..], u64::from(64 - salt_bits), salt_bits.into(), salt);
            }
        }
    }
    lines
}
