//! The probe that is compiled into the caller's loop instead of being called.
//!
//! It is assembly on x86-64, because a function with `target_feature` is not inlined into a caller without, and its
//! call costs as much as the probe.

#[cfg(simd_x86_64)]
use super::avx2;
#[cfg(simd_avx512)]
use super::avx512;
use super::engine::Engine;
#[cfg(simd_neon)]
use super::neon;
use super::{LINE_LEN, Params, WORDS};
use crate::cpu::prefetch;
use crate::hash::{KeyHash, fast_range};

/// The probe for one set of parameters, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inlined {
    /// The payload's length, a multiple of [`LINE_LEN`]; [`NO_PROBE`] if, and only if, there is no probe.
    payload_len: u64,
    probe: Probe,
}

#[derive(Clone, Copy, Debug)]
enum Probe {
    None,
    #[cfg(simd_x86_64)]
    Avx2(avx2::Probe),
    #[cfg(simd_avx512)]
    Avx512Bitalg(avx512::Probe),
    #[cfg(simd_neon)]
    Neon(neon::Probe),
}

/// A length that no payload has, so that one comparison suffices.
const NO_PROBE: u64 = 1 << 63;

impl Inlined {
    /// No probe: every query is a call.
    pub(crate) const NONE: Self = Self { payload_len: NO_PROBE, probe: Probe::None };

    /// Returns the probe that `engine` has for `params`.
    pub(super) fn new(engine: Engine, params: Params) -> Self {
        let num_probes = params.num_probes() as usize;
        let probe = match engine {
            #[cfg(simd_x86_64)]
            Engine::Avx2(proof) if num_probes == WORDS => Probe::Avx2(avx2::Probe::new(proof, params)),
            #[cfg(simd_avx512)]
            Engine::Avx512Bitalg(proof) if num_probes == WORDS => {
                Probe::Avx512Bitalg(avx512::Probe::new(proof, params))
            }
            #[cfg(simd_neon)]
            Engine::Neon(proof) if num_probes <= WORDS => Probe::Neon(neon::Probe::new(proof, params)),
            _ => return Self::NONE,
        };
        Self { payload_len: params.payload_len(), probe }
    }

    /// Returns the offset of the line of `hash` in a frame of `frame_len` bytes whose lines begin at `start`. Returns
    /// `None` if the number of lines differs from the parameters, or there is no probe.
    #[inline(always)]
    fn offset(&self, frame_len: usize, start: u32, hash: KeyHash) -> Option<usize> {
        // If the frame is shorter than `start`, the difference is above all lengths of payloads.
        if (frame_len as u64).wrapping_sub(start.into()) != self.payload_len {
            return None;
        }
        // This is the start of line `fast_range(hash, num_lines)`: a fast range over `LINE_LEN · num_lines`, rounded
        // down.
        Some(start as usize + (fast_range(hash.get(), self.payload_len) as usize & !(LINE_LEN - 1)))
    }

    /// Returns whether all bits of `hash` are set in its line, in a `frame` whose lines begin at `start`; `None` as for
    /// [`Inlined::offset`].
    #[inline(always)]
    pub(crate) fn may_contain(&self, frame: &[u8], start: u32, hash: KeyHash) -> Option<bool> {
        let offset = self.offset(frame.len(), start, hash)?;
        // SAFETY: `offset + LINE_LEN <= frame.len()`, because
        // - `start + payload_len == frame.len()`: the comparison of `offset` says so. The difference did not wrap, or
        //   it would be above `u64::MAX - u32::MAX`; and it is not NO_PROBE, as no slice is so long; so `payload_len`
        //   belongs to legal parameters and is at most 2^38;
        // - `offset - start + LINE_LEN <= payload_len`: both are multiples of LINE_LEN, and `offset - start` is less,
        //   by the fast range over `payload_len`, which is not 0.
        let line = unsafe { &*frame.as_ptr().add(offset).cast::<[u8; LINE_LEN]>() };
        match &self.probe {
            // SAFETY: here `payload_len` is not NO_PROBE, which it is without a probe.
            Probe::None => unsafe { core::hint::unreachable_unchecked() },
            #[cfg(simd_x86_64)]
            Probe::Avx2(probe) => Some(probe.all_hit_inlined(line, hash)),
            #[cfg(simd_avx512)]
            Probe::Avx512Bitalg(probe) => Some(probe.all_hit_inlined(line, hash)),
            #[cfg(simd_neon)]
            Probe::Neon(probe) => Some(probe.all_hit_inlined(line, hash)),
        }
    }

    /// Prefetches the line of `hash`, or returns `None` as [`Inlined::offset`] does, without a prefetch.
    #[inline(always)]
    pub(crate) fn prefetch(&self, frame: &[u8], start: u32, hash: KeyHash) -> Option<()> {
        self.offset(frame.len(), start, hash).map(|offset| prefetch(frame, offset))
    }

    /// Returns whether the probe is so short that a processor has ten of them in flight.
    #[inline]
    pub(crate) fn is_shortest(&self) -> bool {
        match self.probe {
            #[cfg(simd_avx512)]
            Probe::Avx512Bitalg(_) => true,
            _ => false,
        }
    }
}
