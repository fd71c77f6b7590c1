//! The mathematics of filters: how large a filter must be, and how often it errs.
//!
//! An approximate-membership filter for *n* keys answers "maybe" for each of them and, with probability ε (the
//! *false-positive rate*), for a key it does not hold. No filter does so in fewer than log₂(1/ε) bits a key
//! ([`bits_lower_bound`]; Carter, Floyd, Gill, Markowsky, Wegman, *Exact and approximate membership testers*, STOC
//! 1978, §2). The kinds differ in what they pay above that:
//!
//! | kind | rate or size | module |
//! |---|---|---|
//! | classic Bloom | (1 − e^(−kn/m))^k, at best 1.4427 · log₂(1/ε) bits a key | [`bloom`] |
//! | blocked Bloom with word-wise choice | a Poisson mixture over the keys of a line | [`blocked`] |
//! | Golomb-Rice coded hashes | log₂(1/ε) + 1.47 to 1.56 bits a key, and a directory | [`golomb`] |
//! | bumped ribbon retrieval | log₂(1/ε) bits a key, and 0.4 to 8 % | [`ribbon`] |
//! | binary fuse | a whole number of bits above log₂(1/ε), and 7 % in tables of a million | [`fuse`] |
//!
//! # Conventions
//!
//! - A size per key is given in **thousandths of a bit** (`millibits: u32`; 10 bits a key is `10_000`): an integer is
//!   the same on every machine.
//! - A rate is an `f64` in 0 ..= 1. Everything here is computed with the IEEE-754 basic operations only, so the same
//!   arguments give the same result, to the last bit, on every machine.
//! - No function panics and none returns NaN: outside its stated range each returns the saturated value its
//!   documentation names.
//! - Nothing allocates; the functions of [`blocked`] need up to 112 KiB of stack (a test holds all to 128).
//!
//! ```
//! use filterblock::sizing::{blocked, bloom};
//!
//! // Ten bits a key, and the probes that a writer takes.
//! let classic = bloom::false_positive_rate(10_000_000, 1_000_000, 7);
//! let blocked = blocked::false_positive_rate(10_000, 8, 3);
//! assert!(blocked < classic, "word-wise choice beats the classic filter, inside one cache line");
//! ```

#[cfg(all(test, feature = "std"))]
mod set_tests;
#[cfg(all(test, feature = "std"))]
mod tests;

use crate::kind::kinds;

#[doc(inline)]
pub use crate::math::bits_lower_bound;

/// A module for each kind, from its folder.
macro_rules! modules {
    ({} $($(#[$doc:meta])* $Kind:ident, $module:ident, $tag:literal;)*) => {
        $(#[doc(inline)] pub use crate::keys::kinds::$module::sizing as $module;)*
    };
}
kinds!(modules);
