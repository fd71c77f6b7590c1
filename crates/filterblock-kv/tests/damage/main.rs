//! Every byte of a store that is not what was written: the right answer or a typed error.
//!
//! Two small stores, one closed and one as a crash leaves it, have their files changed in every way that a disk, a copy
//! or a user may change them: each byte, bits, lengths, pages and files in place of others. The expected outcome of
//! each change is known from its location ([`layout`]), so that an undetected change fails the test as a wrong answer
//! does.

mod bytes;
mod case;
mod lengths;
mod places;
mod stores;

use testkit::extent;
use testkit::store::{layout, sim, state};
