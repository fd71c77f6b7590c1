//! Groups hashes in other memory, in one pass over them.

use core::ops::Range;
use std::vec::Vec;

/// Hashes, group by group. The memory is kept from one grouping to the next.
#[derive(Default)]
pub(crate) struct Groups {
    hashes: Vec<u64>,
    /// The place of each group.
    places: Vec<Range<usize>>,
}

impl Groups {
    /// Replaces the contents by the hashes of `pieces`, which keep their order within a group. `group_of` returns a
    /// number below `num_groups`.
    ///
    /// Each group has the same room, which is enough for random hashes, even if the last group gets fewer than others. If
    /// one needs more, the hashes are grouped again, and each group has as much as it needs.
    pub(crate) fn group<'a, I: Iterator<Item = &'a [u64]>>(
        &mut self,
        pieces: impl Fn() -> I,
        num_groups: usize,
        group_of: impl Fn(u64) -> usize + Copy,
    ) {
        let mean = pieces().map(<[u64]>::len).sum::<usize>() / (num_groups - 1).max(1);
        // An odd number of cache lines, as groups that begin in the same sets of a cache would evict each other.
        let room = (mean + mean / 4 + 24) / 16 * 16 + 8;
        self.places.clear();
        self.places.extend((0..num_groups).map(|group| group * room..group * room));
        self.hashes.resize(num_groups * room, 0);
        pieces().for_each(|piece| scatter(piece, group_of, &mut self.hashes, &mut self.places));
        if self.places.iter().any(|place| place.len() > room) {
            let mut end = 0;
            for place in &mut self.places {
                (*place, end) = (end..end, end + place.len());
            }
            self.hashes.resize(end, 0);
            pieces().for_each(|piece| scatter(piece, group_of, &mut self.hashes, &mut self.places));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u64]> {
        self.places.iter().map(|place| &self.hashes[place.clone()])
    }

    /// Loses a hash in its turn.
    #[cfg(test)]
    pub(crate) fn strike(&mut self) {
        let place = self.places.iter_mut().find(|place| place.start < place.end);
        place.into_iter().for_each(|place| place.end -= usize::from(super::loss::strikes(place.len())));
    }

    pub(crate) fn get_mut(&mut self, group: usize) -> &mut [u64] {
        &mut self.hashes[self.places[group].clone()]
    }
}

/// Appends hashes to their groups; without room for them they are only counted. (In a function of its own, all that it
/// needs is in registers.)
#[inline(never)]
fn scatter(piece: &[u64], group_of: impl Fn(u64) -> usize, hashes: &mut [u64], places: &mut [Range<usize>]) {
    for &hash in piece {
        let place = &mut places[group_of(hash)];
        let at = place.end;
        place.end += 1;
        if let Some(slot) = hashes.get_mut(at) {
            *slot = hash;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;
    use crate::hash::mix;

    /// Each group gets its hashes in their order, if all are of equal size, the last is small, or one has nearly all; in
    /// memory that earlier groupings have left.
    #[test]
    fn groups_hold_their_hashes_in_order() {
        let mut groups = Groups::default();
        let group_ofs: [fn(u64, usize) -> usize; 4] = [
            |hash, num| hash as usize % num,
            |hash, num| if hash % 20 == 0 { num - 1 } else { hash as usize % num.max(2).div_ceil(2) },
            |hash, num| if hash % 100 > 0 { num / 2 } else { hash as usize % num },
            |_, num| num - 1,
        ];
        for len in [100_000, 0, 1, 30, 1_000] {
            let hashes: Vec<u64> = (0..len).map(mix).collect();
            for num_groups in [1, 2, 3, 32, 1_000] {
                for group_of in group_ofs.map(|group_of| move |hash| group_of(hash, num_groups)) {
                    groups.group(|| hashes.chunks(70), num_groups, group_of);
                    assert_eq!(groups.iter().count(), num_groups);
                    for (group, found) in groups.iter().enumerate() {
                        let expected = hashes.iter().filter(|&&hash| group_of(hash) == group);
                        assert!(expected.eq(found), "group {group} of {num_groups}, {len} hashes");
                    }
                    assert!(groups.get_mut(num_groups - 1).iter().all(|&hash| group_of(hash) == num_groups - 1));
                }
            }
        }
    }
}
