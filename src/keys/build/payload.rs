//! From hashes to a payload: the kind, its plan, and the repeated hashes.

#[cfg(test)]
use crate::build::loss;
use crate::build::{NoRoom, Output};
use crate::build::{Tally, Unbuilt};
use crate::error::BuildError;
use crate::frame::HEADER_LEN;
use crate::hash::SetSeed;
use crate::keys::kinds::size::{Bits, FilterSize, Target};
use crate::keys::kinds::{self, Hashes, Mode, Params, Planned, remaps};
use crate::keys::policy::{FilterPolicy, SizedKind, closer};
use std::vec::Vec;

impl From<NoRoom> for BuildError {
    fn from(NoRoom { needed_bytes, actual_bytes }: NoRoom) -> Self {
        Self::OutputTooShort { needed_bytes, actual_bytes }
    }
}

/// The hashes of one table, from which a payload is built.
pub(super) struct Payload<'a> {
    pub(super) policy: &'a FilterPolicy,
    pub(super) hashes: &'a mut Vec<u64>,
    /// The sum of the hashes as they were added, each plus one, except repeated ones that were dropped.
    pub(super) added: &'a mut u64,
    pub(super) parallel: bool,
}

/// A payload that was appended.
#[derive(Clone, Copy)]
pub(super) struct Built {
    pub(super) params: Params,
    pub(super) is_remapped: bool,
    /// See [`kinds::Built`].
    pub(super) is_checked: bool,
}

impl Payload<'_> {
    /// Sorts the hashes and drops repeated ones. Returns whether there were any.
    fn sort(&mut self) -> bool {
        let num_hashes = self.hashes.len();
        #[cfg(feature = "rayon")]
        if self.parallel {
            rayon::slice::ParallelSliceMut::par_sort_unstable(&mut self.hashes[..]);
        }
        // This takes linear time if they are sorted already.
        self.hashes.sort_unstable();
        let repeated = self.hashes.windows(2).filter(|pair| pair[0] == pair[1]);
        *self.added = repeated.fold(*self.added, |sum, pair| sum.wrapping_sub(pair[1]).wrapping_sub(1));
        self.hashes.dedup();
        #[cfg(test)]
        loss::strike(self.hashes);
        self.hashes.len() < num_hashes
    }

    /// The error for hashes that were added and are not there.
    fn lost(&self) -> BuildError {
        let (hash, num_missing) = (self.hashes.first().copied().unwrap_or(0), self.hashes.len().max(1) as u64);
        BuildError::SelfCheck { hash, num_missing }
    }

    /// Appends the payload; without entries it appends nothing and returns `None`. It assumes that the hashes are
    /// distinct until a build finds one twice, or they are too many for a size; then it starts again with the distinct
    /// ones.
    pub(super) fn build(&mut self, out: &mut Output<'_>, header_len: usize) -> Result<Option<Built>, BuildError> {
        #[cfg(test)]
        loss::strike(self.hashes);
        if self.hashes.is_empty() {
            return if *self.added == 0 { Ok(None) } else { Err(self.lost()) };
        }
        let (first, others) = match self.policy.kinds_for(self.hashes.len() as u64) {
            Ok(kinds) => kinds,
            Err(error) => return if self.sort() { self.build(out, header_len) } else { Err(error) },
        };
        let (start, capacity) = (out.len(), out.capacity());
        let mut built = self.build_kind(&first, out, header_len);
        for of_kind in &others {
            // Hashes that do not fit under one kind may fit under the next.
            let Err(Some(refusal @ (BuildError::ByteCap { .. } | BuildError::Unsolved { .. }))) = built else { break };
            out.truncate(start, capacity);
            if self.sort() {
                return self.build(out, header_len);
            }
            built =
                self.build_kind(of_kind, out, header_len).map_err(|error| error.map(|error| closer(refusal, error)));
        }
        match built {
            Ok(built) => Ok(Some(built)),
            Err(Some(error @ BuildError::SelfCheck { .. })) => Err(error),
            Err(error) => {
                // A plan that counts repeated hashes may be many times too large, or of another kind.
                out.truncate(start, capacity);
                match (self.sort(), error) {
                    (false, Some(error)) => Err(error),
                    _ => self.build(out, header_len),
                }
            }
        }
    }

    /// Appends the payload of one kind, remapped if the hashes are not spread as evenly as the kind needs them. The
    /// error is `None` after repeated hashes were found and dropped.
    fn build_kind(
        &mut self,
        of_kind: &SizedKind,
        out: &mut Output<'_>,
        header_len: usize,
    ) -> Result<Built, Option<BuildError>> {
        let (kind, num_entries) = (of_kind.kind(), self.hashes.len() as u64);
        let (start, capacity) = (out.len(), out.capacity());
        of_kind.check_cap(num_entries)?;
        let (mut target, mut cut_bits) = (of_kind.target(num_entries, header_len), 0);
        let mut remapped: Option<Remapped> = None;
        loop {
            let Planned { plan, payload_bytes } = of_kind.plan(target, num_entries)?;
            let plan = if header_len == 0 { plan.in_compact_frame() } else { plan };
            if of_kind.settings.len_depends_on_keys() {
                // Room for nearly all sets: a vector that is too short by a byte doubles.
                let margin = of_kind.settings.max_overhead(num_entries, 1);
                out.reserve(payload_bytes.saturating_add(margin) as usize);
            }
            let all = Tally::of_successors(self.hashes.len(), *self.added);
            let hashes = match &mut remapped {
                None => Hashes { hashes: self.hashes, are_remapped: false, all },
                Some(Remapped { hashes, all, .. }) => Hashes { hashes, are_remapped: true, all: *all },
            };
            let mode = Mode { parallel: self.parallel, checks: self.policy.self_check() };
            let built = plan.build(hashes, out, mode);
            let is_proved = built.as_ref().is_ok_and(|built| built.is_checked);
            // The frame can only be queried for the hashes that are left, so none may be lost since they were added.
            if mode.checks && !is_proved && Tally::of(self.hashes.iter().copied()) != all {
                return Err(Some(self.lost()));
            }
            let kinds::Built { params, is_checked } = match built {
                Ok(built) => built,
                Err(Unbuilt::Repeated) => return Err(None),
                Err(Unbuilt::NoRoom(no_room)) => return Err(Some(no_room.into())),
                Err(Unbuilt::Unsolved { .. }) if remapped.is_none() && remaps(kind) => {
                    out.truncate(start, capacity);
                    if self.sort() {
                        return Err(None);
                    }
                    remapped = Some(Remapped::new(self.hashes, all));
                    continue;
                }
                Err(Unbuilt::Unsolved { num_seeds, num_entries }) => {
                    return Err(Some(BuildError::Unsolved { kind, num_seeds, num_entries }));
                }
            };
            if let Some(Remapped { seed, .. }) = remapped {
                out.append(&seed.to_bytes()).map_err(|no_room| Some(no_room.into()))?;
            }
            let frame_bytes = (out.len() - start + HEADER_LEN) as u64;
            let cap_bytes = match of_kind.size {
                FilterSize::MaxBytes(cap_bytes) if frame_bytes > cap_bytes => cap_bytes,
                _ => return Ok(Built { params, is_remapped: remapped.is_some(), is_checked }),
            };
            // The length depends on the keys: aim lower by the excess, and by more each time, so that few rounds reach
            // a fit or nothing.
            out.truncate(start, capacity);
            cut_bits = ((frame_bytes - cap_bytes) * 8).max(cut_bits * 2);
            target = match target {
                Target::Bits(Bits { total, is_cap, .. }) if total > 0 => {
                    Target::Bits(Bits::new(total.saturating_sub(cut_bits), num_entries, is_cap))
                }
                _ => {
                    let min_bytes = frame_bytes;
                    return Err(Some(BuildError::ByteCap { kind, cap_bytes, min_bytes, num_entries }));
                }
            };
        }
    }
}

/// A set of hashes in which each is replaced by another.
struct Remapped {
    seed: SetSeed,
    hashes: Vec<u64>,
    all: Tally,
}

impl Remapped {
    /// Remaps `hashes`, which are sorted and distinct, and should have this tally.
    fn new(hashes: &[u64], tally: Tally) -> Self {
        let seed = SetSeed::of(hashes);
        #[cfg_attr(not(test), expect(unused_mut, reason = "tests lose a hash"))]
        let mut hashes: Vec<u64> = hashes.iter().map(|&hash| seed.remap(hash)).collect();
        #[cfg(test)]
        loss::strike(&mut hashes);
        Self { seed, all: Tally::of_each(hashes.iter().copied(), tally), hashes }
    }
}
