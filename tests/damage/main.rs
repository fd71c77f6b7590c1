//! Every byte of a store that is not what was written: the right answer or a typed error.
//!
//! Two small stores, one closed and one as a crash leaves it, have their files changed in every way that a disk, a
//! copy or a hand may change them: each byte, bits, lengths, pages and files in each other's place. What must come of
//! each change is known beforehand from the place that it hits ([`layout`]), so that a change nobody notices fails the
//! test as well as a wrong answer does.

mod bytes;
mod case;
#[path = "../extent/mod.rs"]
mod extent;
mod layout;
mod lengths;
mod places;
mod state;
mod stores;
