//! The portable search compiled for processors that count ones and shift by registers in one instruction.

use super::View;
use crate::hash::KeyHash;

/// Proof that this processor has POPCNT, BMI1 and BMI2: only [`Bmi2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bmi2(());

impl Bmi2 {
    pub(super) fn detect() -> Option<Self> {
        let all = std::is_x86_feature_detected!("popcnt")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2");
        all.then_some(Self(()))
    }

    /// As [`View::may_contain_portably`].
    #[inline]
    pub(super) fn may_contain(self, view: &View<'_>, hash: KeyHash) -> bool {
        // SAFETY: `self` proves the features.
        unsafe { may_contain(view, hash) }
    }
}

#[target_feature(enable = "popcnt,bmi1,bmi2")]
unsafe fn may_contain(view: &View<'_>, hash: KeyHash) -> bool {
    view.may_contain_portably(hash)
}
