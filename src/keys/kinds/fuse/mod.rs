//! The binary fuse filter with four slots a key: fingerprints of any number of bits, spread over four slots each (Graf
//! and Lemire, *Binary Fuse Filters: Fast and Smaller Than Xor Filters*, ACM JEA 27, 2022).
//!
//! `format/fuse.md` states the bytes.
//!
//! # What is stored
//!
//! The payload is a table of *slots* of *f* bits. A hash has four slots and a *fingerprint* of *f* bits. The builder
//! fills the table such that for each entry the sum (XOR) of its four slots is its fingerprint. A query computes the
//! sum and compares.
//!
//! The table is cut into *segments* of equally many slots, a power of two. A hash has one slot in each of four
//! neighbouring segments (`slots.rs`): one product of the hash gives the first slot, and 18 bits of another give each
//! of the other three, relative to it. The three segments at the end hold no first slot. Slots are packed without gaps,
//! and zero bytes follow the last one, so that a query can read any slot with one load of eight bytes.
//!
//! # Why a query is right
//!
//! The builder solves the equations of all entries or none: it remaps the hashes, or tries another seed, until all of
//! them can be satisfied. So the sum of an entry is its fingerprint. An absent hash has a fingerprint that no slot
//! depends on, and passes with probability 2⁻ᶠ, whatever the entries are.
//!
//! # Why it is small
//!
//! The least possible size at the rate 2⁻ᶠ is *f* bits an entry, so the overhead is the number of slots an entry. With
//! four slots in a random table *peeling* (below) succeeds up to a certain load; with segments, where slots at the ends
//! of the table are met by fewer entries, peeling starts at the ends and eats its way to the middle, at a much higher
//! load (section 3 of the paper). Where it gets stuck, an entry is *set aside*, and satisfied by means of the slots that
//! nobody owns. So the load is higher than peeling alone could have: a million entries take 1.07 slots each, a hundred
//! thousand 1.085, ten thousand 1.126 and a thousand 1.152. (By peeling alone these were 1.073, 1.127, 1.229 and 1.376.)
//! `sizing::dimensions` has slots and segments such that some 20 to 60 entries are set aside up to 350 000. Of more hardly
//! any is: a million in 1.057 slots each took twice the time, beyond the caches. The constants are measured for this hash.
//!
//! Rates are powers of two only. For a rate between two of them a filter is built with the lower one, and may take
//! almost a bit an entry more than it needs; ribbon splits columns instead.
//!
//! # Why a query is fast
//!
//! A query takes three multiplications, four loads that do not depend on each other, and one comparison. It needs no
//! vector instructions and no branch on data, so it is as fast on processors without them. The four slots lie on four
//! cache lines: beyond the caches that is more than ribbon's two or three neighbouring lines.
//!
//! Slots of eight bits are read as bytes by a function of their own. One function for slots of bytes and of bits made
//! both save registers: with two, a query among 10 000 keys takes .80 to .90 of the time. The probe for bits is called,
//! and neither is part of the caller's loop, as blocked's probe is: when fuse was there, too, the hash function was
//! not, and a query by key of a blocked filter took 11.1 ns instead of 9.3.
//!
//! # How the builder works
//!
//! *Peeling* (`peel.rs`) finds an order in which the equations can be solved one by one. Each slot counts the entries
//! that have it and keeps the XOR of their hashes. A slot with one entry left becomes that entry's *own* slot: whatever
//! the other three hold, the own slot can make the sum right. So the entry is taken away from all four slots, some of
//! which may then have one entry left; their XOR is its hash. Once all entries are taken away, slots are filled in
//! reverse order. When an entry's own slot is set, its other three are final: each is the own slot of an entry that was
//! taken away later, or nobody's, and then zero.
//!
//! If some entries remain and no slot has just one of them, the least hash is set aside, and peeling goes on from its
//! slots, until no entry remains. About a twentieth of the slots are nobody's own. They stand for 96 unknowns in turn (224
//! if many entries are set aside), and each entry that was set aside is an equation in them, as every slot's contents
//! are a sum of unknowns and a constant (`aside.rs`). These few equations are solved by elimination. While that is done,
//! a build keeps 16 bytes more for each slot, or 32.
//!
//! If too many entries are set aside, or their equations depend on each other, the set is *remapped*
//! ([`SetSeed`](crate::hash::SetSeed)): peeling starts again with other hashes in place of the given ones, and if that
//! fails, with another *seed*, up to 32 in all. The dimensions are such that the first attempt succeeds for more than 95
//! of 100 random sets of more than 500 entries. A second known seed would not do in place of remapping: for
//! each seed that is known beforehand, two keys can be found whose four slots are the same, and 128 such keys among a
//! million kept a filter of 64 known seeds from being built at all. The equations of two equal hashes depend on each
//! other, so after the first failure the builder looks for repeated hashes, removes them and starts again.
//!
//! Which entries can be taken away does not depend on the order, but which slot becomes whose own does, and so do the
//! bytes. The order is therefore part of the format: segment by segment, and in each segment the slots that are alone
//! from the first to the last, then those that become alone meanwhile. That order depends on the set of hashes only, so
//! that nothing is sorted. It is also fast: the slots at hand are in few segments, which stay in a cache, and are
//! independent of each other, so that the processor overlaps them. Hashes are first counted by groups of neighbouring
//! segments, and at last looked up by groups, for the same reason. A build keeps 13 bytes for each slot meanwhile.
//!
//! # When to use it
//!
//! `docs/performance.md` has its times: a query as fast as ribbon's or faster without any vector code.

#[cfg(feature = "std")]
mod aside;
#[cfg(feature = "std")]
mod build;
#[cfg(feature = "std")]
mod groups;
#[cfg(feature = "std")]
mod peel;
#[cfg(feature = "std")]
mod plan;
pub(crate) mod sizing;
mod slots;
#[cfg(all(test, feature = "std"))]
mod tests;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::seam::{KindParams, KindView, PARAMS_LEN, StoredParams, in_batches};
use super::trailer::Trailer;
use crate::bytes;
use crate::cpu::prefetch;
use crate::error::DecodeError;
use crate::hash::KeyHash;
use sizing::{MAX_FINGERPRINT_BITS, MAX_LOG2_SEGMENT_LEN, MAX_SEEDS};
use slots::{Slots, fingerprint};

/// The number of slots of a hash.
const ARITY: usize = 4;
/// The number of bytes that are read for a slot, from its first one on. They contain the slot at any bit of that byte.
const WORD_LEN: u64 = 8;

/// Dimensions: stored as `fingerprint_bits: u8` at 0, `log2_segment_len: u8` at 1, `seed: u8` at 2, zero at 3,
/// `num_segments: u32` at 4, zeros at 8..12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    fingerprint_bits: u8,
    log2_segment_len: u8,
    /// The number of seeds that failed.
    seed: u8,
    /// The number of segments in which hashes start; three more follow.
    num_segments: u32,
}

/// A compact frame stores `num_segments` without its leading zero bytes, `seed`, `fingerprint_bits`, and a byte with
/// `log2_segment_len` in the upper five bits and the length of `num_segments` in the lower three.
impl KindParams for Params {
    const REMAPS: bool = true;

    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        stored.check_reserved(3..4)?;
        stored.check_reserved(8..PARAMS_LEN)?;
        let [fingerprint_bits, log2_segment_len, seed] = [0, 1, 2].map(|i| stored.bytes[i]);
        Self::new(fingerprint_bits, log2_segment_len, seed, bytes::u32_at(stored.bytes, 4).into())
    }

    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        let lens = trailer.pop()?;
        let (fingerprint_bits, seed) = (trailer.pop()?, trailer.pop()?);
        let num_segments = trailer.pop_short(lens & 7)?;
        Self::new(fingerprint_bits, lens >> 3, seed, num_segments)
    }

    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1], out[2]) = (self.fingerprint_bits, self.log2_segment_len, self.seed);
        bytes::put_u32(&mut out, 4, self.num_segments);
        out
    }

    fn encode_trailer(&self, out: &mut impl Extend<u8>) {
        let len = bytes::push_short(out, self.num_segments.into());
        out.extend([self.seed, self.fingerprint_bits, self.log2_segment_len << 3 | len]);
    }
}

impl Params {
    fn new(fingerprint_bits: u8, log2_segment_len: u8, seed: u8, num_segments: u64) -> Result<Self, DecodeError> {
        DecodeError::check_params(&[
            ("fingerprint_bits", u64::from(fingerprint_bits), 1, u64::from(MAX_FINGERPRINT_BITS)),
            ("log2_segment_len", u64::from(log2_segment_len), 0, u64::from(MAX_LOG2_SEGMENT_LEN)),
            ("seed", u64::from(seed), 0, u64::from(MAX_SEEDS - 1)),
            ("num_segments", num_segments, 1, u64::from(u32::MAX)),
        ])?;
        Ok(Self { fingerprint_bits, log2_segment_len, seed, num_segments: num_segments as u32 })
    }

    /// Returns the number of slots, at least 4 and below 2⁵¹, so that everything computed from it is far from overflow.
    const fn num_slots(&self) -> u64 {
        (self.num_segments as u64 + ARITY as u64 - 1) << self.log2_segment_len
    }

    /// Returns the number of bits of all slots.
    const fn num_bits(&self) -> u64 {
        self.num_slots() * self.fingerprint_bits as u64
    }

    /// Returns the payload's length, up to the last byte that is read for the last slot.
    const fn payload_len(&self) -> u64 {
        (self.num_bits() - self.fingerprint_bits as u64) / 8 + WORD_LEN
    }
}

/// The places of slots: all that is known about a filter without its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    slots: Slots,
    payload_len: u64,
    fingerprint_mask: u32,
    fingerprint_bits: u32,
}

impl Layout {
    fn new(params: Params) -> Self {
        let fingerprint_bits = params.fingerprint_bits.into();
        let fingerprint_mask = u32::MAX >> (u32::BITS - fingerprint_bits);
        let (slots, payload_len) = (Slots::new(&params), params.payload_len());
        Self { params, slots, payload_len, fingerprint_mask, fingerprint_bits }
    }

    /// Returns the byte in which `slot` begins, and its first bit there.
    #[inline(always)]
    fn place(&self, slot: u64) -> (usize, u32) {
        let bit = slot * u64::from(self.fingerprint_bits);
        ((bit / 8) as usize, (bit % 8) as u32)
    }

    /// Returns whether the sum of the four slots of `hash` is its fingerprint.
    #[inline(always)]
    fn may_contain(&self, payload: &[u8], hash: KeyHash) -> bool {
        match self.fingerprint_bits {
            8 => self.may_contain_in_bytes(payload, hash),
            _ => self.may_contain_called(payload, hash),
        }
    }

    /// Answers out of line: slots of whole bytes need few registers, so that none are saved for them.
    #[inline(never)]
    fn may_contain_called(&self, payload: &[u8], hash: KeyHash) -> bool {
        self.may_contain_in_bits(payload, hash)
    }

    /// Prefetches the lines in which the four slots of a hash begin, which is under the seed.
    #[inline(always)]
    fn prefetch(&self, payload: &[u8], seeded: u64) {
        self.slots.of(seeded).into_iter().for_each(|slot| prefetch(payload, self.place(slot).0));
    }

    /// Answers for slots of whole bytes.
    #[inline(always)]
    fn may_contain_in_bytes(&self, payload: &[u8], hash: KeyHash) -> bool {
        self.agrees_in_bytes(payload, self.slots.seeded(hash.get()))
    }

    #[inline(always)]
    fn agrees_in_bytes(&self, payload: &[u8], seeded: u64) -> bool {
        self.agrees(seeded, |slot| payload.get(slot as usize).copied().map(u32::from))
    }

    /// Answers for slots of any length.
    #[inline(always)]
    fn may_contain_in_bits(&self, payload: &[u8], hash: KeyHash) -> bool {
        self.agrees_in_bits(payload, self.slots.seeded(hash.get()))
    }

    #[inline(always)]
    fn agrees_in_bits(&self, payload: &[u8], seeded: u64) -> bool {
        self.agrees(seeded, |slot| {
            let (at, shift) = self.place(slot);
            // One comparison: the index is far from overflow.
            let word = payload.get(at..at + WORD_LEN as usize)?.first_chunk().copied()?;
            Some((bytes::u64_from(word) >> shift) as u32)
        })
    }

    /// Returns whether the contents that `read` returns for the four slots of a hash, which is under the seed, add up
    /// to its fingerprint, in the bits that count. Returns `true` if a slot is beyond the payload, which cannot be in
    /// one of the layout's length.
    #[inline(always)]
    fn agrees(&self, seeded: u64, read: impl Fn(u64) -> Option<u32>) -> bool {
        let sum = self.slots.of(seeded).into_iter().try_fold(fingerprint(seeded), |sum, slot| Some(sum ^ read(slot)?));
        sum.is_none_or(|sum| sum & self.fingerprint_mask == 0)
    }
}

/// For the builder.
impl Layout {
    /// Returns whether `payload` contains all `hashes`, which are under the seed.
    fn contains_all(&self, payload: &[u8], hashes: &[u64]) -> bool {
        match self.fingerprint_bits {
            8 => self.contains_all_by::<true>(payload, hashes),
            _ => self.contains_all_by::<false>(payload, hashes),
        }
    }

    #[inline(always)]
    fn contains_all_by<const IN_BYTES: bool>(&self, payload: &[u8], hashes: &[u64]) -> bool {
        let sum = |hash| {
            let read = |sum, slot| sum ^ self.read::<IN_BYTES>(payload, slot);
            self.slots.of(hash).into_iter().fold(fingerprint(hash), read)
        };
        hashes.iter().fold(0, |wrong, &hash| wrong | sum(hash)) & self.fingerprint_mask == 0
    }

    /// Returns the contents of `slot`, and bits that do not count. Slots of whole bytes are read in less time.
    #[inline(always)]
    fn read<const IN_BYTES: bool>(&self, payload: &[u8], slot: u64) -> u32 {
        if IN_BYTES {
            return payload[slot as usize].into();
        }
        let (at, shift) = self.place(slot);
        (bytes::u64_at(payload, at) >> shift) as u32
    }

    /// Sets the contents of `slot`, which are zero, in the bits that count.
    #[inline(always)]
    fn write<const IN_BYTES: bool>(&self, payload: &mut [u8], slot: u64, contents: u32) {
        if IN_BYTES {
            payload[slot as usize] = contents as u8;
            return;
        }
        let (at, shift) = self.place(slot);
        let word = bytes::u64_at(payload, at) | u64::from(contents & self.fingerprint_mask) << shift;
        bytes::put_u64(payload, at, word);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    layout: &'a Layout,
    payload: &'a [u8],
}

impl<'a> KindView<'a> for View<'a> {
    type Params = Params;
    type Layout = Layout;

    fn check(params: Params, payload: &[u8], base: u64) -> Result<Layout, DecodeError> {
        DecodeError::check_len(params.payload_len(), payload.len() as u64)?;
        // These are at most eight bytes; the first may contain bits of the last slot.
        let used = params.num_bits();
        let is_unused = |at: u64| payload[at as usize] >> if at == used / 8 { used % 8 } else { 0 } != 0;
        if let Some(at) = (used / 8..payload.len() as u64).find(|&at| is_unused(at)) {
            return Err(DecodeError::Padding { offset_bytes: base + at, found: payload[at as usize] });
        }
        Ok(Layout::new(params))
    }

    #[inline(always)]
    fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 == layout.payload_len, "the bytes of a filter changed their length");
        Self { layout, payload }
    }

    fn params(&self) -> &Params {
        &self.layout.params
    }

    #[inline(always)]
    fn may_contain(&self, hash: KeyHash) -> bool {
        self.layout.may_contain(self.payload, hash)
    }

    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        let (Self { layout, payload }, prefetch) = (*self, |hash| self.prefetch(hash));
        match layout.fingerprint_bits {
            8 => in_batches(payload, hashes, answers, prefetch, |hash| layout.may_contain_in_bytes(payload, hash)),
            _ => in_batches(payload, hashes, answers, prefetch, |hash| layout.may_contain_in_bits(payload, hash)),
        }
    }

    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        self.layout.prefetch(self.payload, self.layout.slots.seeded(hash.get()));
    }

    /// An absent hash agrees with a fingerprint of *f* bits with probability 2⁻ᶠ, as its fingerprint depends on no
    /// slot.
    fn predicted_fpr(&self) -> f64 {
        sizing::false_positive_rate(self.layout.fingerprint_bits)
    }

    /// The share of the slots' bits that are set.
    fn fill(&self) -> f64 {
        let num_set: u64 = self.payload.iter().map(|byte| u64::from(byte.count_ones())).sum();
        num_set as f64 / self.layout.params.num_bits() as f64
    }
}
