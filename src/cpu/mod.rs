//! The features of the processor, and hints to it.
//!
//! A *proof* is a zero-sized type that only detection makes: a function that holds an [`Avx2`] runs on a processor with
//! AVX2. Each proof has a macro of the same name in snake case, which compiles functions for its features. They take
//! the proof as their first argument and are safe to call. The features are spelled once, so the compiler uses what was
//! detected, and checks that helpers with `target_feature` of their own need no more.
//!
//! A kind lists its engines with [`engines`]. A new engine costs a file with the kind's functions, and a line in the
//! list.

#[cfg(all(test, feature = "std", target_os = "linux"))]
#[expect(unsafe_code, reason = "mapped memory; each block names the check that pays for it")]
mod guarded;
#[cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(unsafe_code, reason = "a hint to the processor; each block names why any address will do")
)]
mod prefetch;

#[cfg(all(test, feature = "std", target_os = "linux"))]
pub(crate) use guarded::Guarded;
pub(crate) use prefetch::prefetch;

/// The proof of nothing: for code that runs on every processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Portable {
    pub(crate) const fn detect() -> Option<Self> {
        Some(Self)
    }
}

/// `proof!($ Proof, macro, is_x86_feature_detected: "feature", ...)` declares a proof and its macro. The dollar sign is
/// an argument because a macro cannot write the dollar signs of a macro that it declares.
#[cfg(any(simd_x86_64, simd_neon))]
macro_rules! proof {
    ($d:tt $(#[$doc:meta])* $proof:ident, $compile:ident, $is_detected:ident: $($feature:tt),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $proof(());

        impl $proof {
            pub(crate) fn detect() -> Option<Self> {
                let all = $(std::arch::$is_detected!($feature))&&+;
                all.then_some(Self(()))
            }
        }

        #[doc = concat!("Compiles functions for the features of [`", stringify!($proof), "`], their first argument.")]
        macro_rules! $compile {
            ($d(
                $d(#[$d attribute:meta])*
                $d visibility:vis fn $d name:ident($d proof:ident $d(, $d argument:ident: $d type:ty)* $d(,)?)
                $d(-> $d result:ty)? $d body:block
            )+) => {$d(
                $d(#[$d attribute])*
                #[inline(always)]
                $d visibility fn $d name($d proof: $crate::cpu::$proof $d(, $d argument: $d type)*) $d(-> $d result)? {
                    // `unsafe` only because compilers before 1.86 know no safe functions with features.
                    #[target_feature($(enable = $feature),+)]
                    unsafe fn run($d proof: $crate::cpu::$proof $d(, $d argument: $d type)*) $d(-> $d result)? $d body
                    // SAFETY: `run` requires the features that `detect` found before it made the proof.
                    unsafe { run($d proof $d(, $d argument)*) }
                }
            )+};
        }
        pub(crate) use $compile;
    };
}

#[cfg(simd_x86_64)]
proof! {
    $
    Avx2, avx2, is_x86_feature_detected: "avx2", "bmi1", "bmi2", "popcnt"
}

#[cfg(simd_x86_64)]
proof! {
    $
    Bmi2, bmi2, is_x86_feature_detected: "popcnt", "bmi1", "bmi2"
}

#[cfg(simd_avx512)]
proof! {
    $
    /// The proof of AVX-512 since Ice Lake and Zen 4: its extensions came together, and processors that lack some of
    /// them also lower their clock for wide vectors.
    Avx512Bitalg, avx512_bitalg, is_x86_feature_detected:
    "avx512f", "avx512bw", "avx512ifma", "avx512bitalg", "avx512vpopcntdq", "bmi1", "bmi2"
}

#[cfg(simd_avx512)]
proof! {
    $
    /// The proof of other extensions of the same processors.
    Avx512Vbmi2, avx512_vbmi2, is_x86_feature_detected:
    "avx512f", "avx512bw", "avx512vl", "avx512vbmi", "avx512vbmi2", "popcnt", "bmi1", "bmi2"
}

#[cfg(simd_neon)]
proof! {
    $
    Neon, neon, is_aarch64_feature_detected: "neon"
}

/// Returns the names of the code paths that this build has and this processor can run, the portable one first.
///
/// Each kind of filter uses the best of them that it has code for. All give the same bytes and the same answers.
pub fn detected_engines() -> impl Iterator<Item = &'static str> {
    let engines = [
        Portable::detect().map(|_| "portable"),
        #[cfg(simd_x86_64)]
        Bmi2::detect().map(|_| "bmi2"),
        #[cfg(simd_x86_64)]
        Avx2::detect().map(|_| "avx2"),
        #[cfg(simd_avx512)]
        Avx512Bitalg::detect().map(|_| "avx512bitalg"),
        #[cfg(simd_avx512)]
        Avx512Vbmi2::detect().map(|_| "avx512vbmi2"),
        #[cfg(simd_neon)]
        Neon::detect().map(|_| "neon"),
    ];
    engines.into_iter().flatten()
}

/// Declares a kind's `Engine`: the type of the parameters by which it is chosen; a line for each engine, the portable
/// one first and the best last; and the functions that the engines' modules have.
///
/// A line is `Proof => module`, with `if condition` where an engine suits some parameters only. The functions take the
/// proof as their first argument; the methods made from them take `self` instead.
macro_rules! engines {
    (
        $params:ty: $engines:tt
        $($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)+
    ) => {
        $crate::cpu::engines!(@enum $params: $engines);

        impl Engine {$(
            $(#[$attribute])*
            pub(crate) fn $name(self $(, $argument: $type)*) $(-> $result)? {
                $crate::cpu::engines!(@match self $engines $name ($($argument),*))
            }
        )+}
    };
    (@enum $params:ty: {$($(#[$cfg:meta])* $proof:ident => $module:ident $(if $suits:path)?,)+}) => {
        /// The code that builds and answers, chosen once, when a filter is built or opened. The portable code is the
        /// definition; the others give the same bytes and answers.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Engine {
            $($(#[$cfg])* $proof($crate::cpu::$proof),)+
        }

        impl Engine {
            /// Returns all engines that this processor has for `params`, the best last.
            pub(crate) fn all(params: &$params) -> impl DoubleEndedIterator<Item = Self> + use<> {
                let _ = params;
                let engines = [$(
                    $(#[$cfg])*
                    $crate::cpu::$proof::detect()$(.filter(|_| $suits(params)))?.map(Self::$proof),
                )+];
                engines.into_iter().flatten()
            }

            /// Returns the best engine that this processor has for `params`.
            pub(crate) fn best(params: &$params) -> Self {
                Self::all(params).next_back().expect("the portable one")
            }
        }
    };
    (
        @match $engine:ident {$($(#[$cfg:meta])* $proof:ident => $module:ident $(if $suits:path)?,)+}
        $name:ident $arguments:tt
    ) => {
        match $engine {
            $($(#[$cfg])* Self::$proof(proof) => $crate::cpu::engines!(@call $module::$name proof $arguments),)+
        }
    };
    (@call $module:ident::$name:ident $proof:ident ($($argument:ident),*)) => {
        $module::$name($proof $(, $argument)*)
    };
}
pub(crate) use engines;
