//! Which code answers: chosen once, when a view is opened.

#[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
use super::avx512::Avx512;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
use super::bmi2::Bmi2;
use super::{Params, View};
use crate::hash::KeyHash;

/// The implementations; each proves by its type that the processor has what it needs. The portable one is the definition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Engine {
    Portable,
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    Bmi2(Bmi2),
    #[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
    Avx512(Avx512),
}

impl Engine {
    /// The fastest that this processor has for `params`.
    pub(super) fn detect(params: &Params) -> Self {
        #[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
        if let Some(avx512) = Avx512::detect(params) {
            return Self::Avx512(avx512);
        }
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let Some(bmi2) = Bmi2::detect() {
            return Self::Bmi2(bmi2);
        }
        let _ = params;
        Self::Portable
    }

    /// As [`View::may_contain_portably`].
    #[inline]
    pub(super) fn may_contain(self, view: &View<'_>, hash: KeyHash) -> bool {
        match self {
            Self::Portable => view.may_contain_portably(hash),
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Self::Bmi2(bmi2) => bmi2.may_contain(view, hash),
            #[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
            Self::Avx512(avx512) => avx512.may_contain(view, hash),
        }
    }
}

#[cfg(all(test, feature = "std"))]
impl Engine {
    /// All that this processor has for `params`.
    pub(super) fn all(params: &Params) -> std::vec::Vec<Self> {
        let all = core::iter::once(Self::Portable);
        #[cfg(target_arch = "x86_64")]
        let all = all.chain(Bmi2::detect().map(Self::Bmi2));
        #[cfg(all(target_arch = "x86_64", avx512_intrinsics))]
        let all = all.chain(Avx512::detect(params).map(Self::Avx512));
        let _ = params;
        all.collect()
    }
}
