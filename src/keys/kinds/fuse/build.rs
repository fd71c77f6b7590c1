//! The builder: from hashes to slots.

use super::groups::Groups;
use super::peel::{Index, Peeling};
use super::sizing::TRIED_SEEDS;
use super::slots::Slots;
use super::{Layout, Params};
use crate::build::{Output, Tally, check_sorted, fault};
use crate::keys::kinds::seam::{Built, Hashes, Unbuilt};
use std::vec::Vec;

/// Appends the payload of `hashes`, in any order. Meanwhile it keeps 13 bytes for each slot (17 if there are more than
/// 2³²), 16 or 32 more if entries are set aside, and 8 for each entry if the first seed fails.
pub(super) fn build(
    plan: Params,
    hashes: Hashes<'_>,
    out: &mut Output<'_>,
    checks: bool,
) -> Result<Built<Params>, Unbuilt> {
    let payload = out.append_zeros(plan.payload_len() as usize)?;
    match u32::try_from(plan.num_slots()) {
        Ok(_) => solve::<u32>(plan, hashes, payload, checks),
        Err(_) => solve::<u64>(plan, hashes, payload, checks),
    }
}

/// Fills `payload`, which is zero, under the first seed by which all hashes get their sums. Hashes that were not remapped
/// have one attempt: for seeds that are known beforehand, hashes could be chosen such that all of them fail.
pub(super) fn solve<I: Index>(
    plan: Params,
    hashes: Hashes<'_>,
    payload: &mut [u8],
    checks: bool,
) -> Result<Built<Params>, Unbuilt> {
    let Hashes { hashes, are_remapped, all } = hashes;
    let num_seeds = if are_remapped { TRIED_SEEDS } else { 1 };
    let mut rehashed = Vec::new();
    for seed in 0..num_seeds as u8 {
        let params = Params { seed, ..plan };
        let slots = Slots::new(&params);
        let seeded = match seed {
            0 => &mut *hashes,
            _ => {
                rehashed.clear();
                rehashed.extend(hashes.iter().map(|&hash| slots.seeded(hash)));
                &mut rehashed[..]
            }
        };
        let all = if seed == 0 { all } else { Tally::of_each(seeded.iter().copied(), all) };
        let groups = Groups::new(seeded);
        let mut peeling = Peeling::<I>::new(slots, params.num_slots() as usize);
        let layout = Layout::new(params);
        if peeling.peel(&groups) && peeling.solve(&layout, payload) {
            fault::inject(payload);
            let (mut found, mut is_checked) = (Tally::default(), checks);
            if checks {
                groups.for_each(|hashes| {
                    found = found + Tally::of(hashes.iter().copied());
                    is_checked &= layout.contains_all(payload, hashes);
                });
            }
            return Ok(Built { params, is_checked: is_checked && found == all });
        }
        if !are_remapped {
            // The equations of two equal hashes depend on each other.
            check_sorted(hashes)?;
        }
    }
    Err(Unbuilt::Unsolved { num_seeds, num_entries: hashes.len() as u64 })
}
