//! The interface of a peer, which builds filters that are queried, and the loops that query them.

use crate::keys::Key;
use anyhow::Result;

/// One row: an implementation at one setting.
pub struct Peer {
    pub name: &'static str,
    pub kind: &'static str,
    pub size: Size,
    pub build: Build,
}

/// Builds from a table's keys a filter that can be stored and queried.
pub type Build = Box<dyn Fn(&[Key]) -> Result<Box<dyn Filter>>>;

#[derive(Clone, Copy, PartialEq)]
pub enum Size {
    /// Requested bits per key. Rows of the same size are compared with RocksDB's.
    Bits(u32),
    /// False-positive rate in per cent.
    Percent(f64),
    /// The rate of a Bloom filter of as many bits per key.
    #[cfg(feature = "engines")]
    Like(u32),
    /// Stated in the kind's name.
    Named,
}

impl Peer {
    /// The kind with its size, as the tables show it.
    pub fn kind(&self) -> String {
        let kind = self.kind;
        match self.size {
            Size::Bits(bits) => format!("{kind} {bits} bits"),
            Size::Percent(percent) => format!("{kind} {percent} %"),
            #[cfg(feature = "engines")]
            Size::Like(bits) => format!("{kind} like {bits} bits"),
            Size::Named => kind.to_owned(),
        }
    }
}

/// The use that the caller makes of an answer.
#[derive(Clone, Copy, PartialEq)]
pub enum Caller {
    /// Sums the answers.
    Sums,
    /// Branches on the answer, as a store does that reads the table or not.
    Branches,
}

pub trait Filter {
    /// Length of the filter as it would be stored.
    fn num_bytes(&self) -> usize;

    /// Queries each key by itself, and returns how many passed. One call takes many keys, but the filter is
    /// [`apart`] for each, as it is in a store that finds it anew for each lookup.
    fn query(&self, keys: &[Key], caller: Caller) -> usize;

    /// The filter's call for many keys, if it has one.
    fn batches(&self) -> Option<&dyn Batches> {
        None
    }

    /// False for the floor, which answers nothing.
    fn answers(&self) -> bool {
        true
    }
}

pub trait Batches {
    /// Queries keys in batches of [`BATCH_LEN`], or of the length that the peer is made for.
    fn query_batches(&self, keys: &[Key], answers: &mut [bool]);
}

/// The largest batch that RocksDB's MultiGet queries.
pub const BATCH_LEN: usize = 32;

/// The body of [`Filter::query`].
#[inline(always)]
pub fn query_each(keys: &[Key], caller: Caller, may_contain: impl Fn(&Key) -> bool) -> usize {
    match caller {
        Caller::Sums => keys.iter().map(|key| usize::from(may_contain(apart(key)))).sum(),
        Caller::Branches => {
            let mut passed = 0;
            for key in keys {
                if may_contain(apart(key)) {
                    passed = kept(passed) + 1;
                }
            }
            passed
        }
    }
}

/// The same reference, of an origin that is hidden from the compiler. Of a key, because it would otherwise merge
/// neighbouring queries into vector gathers; of a filter, because it would read the filter's fields once before the
/// loop: no store's read path does either. Costs no instruction, where `black_box` costs a round trip through memory.
#[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written, here or through the address")]
#[inline(always)]
pub fn apart<T>(value: &T) -> &T {
    let mut address: *const T = value;
    // SAFETY: the assembly is empty, so the address is still that of `value`.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
        &*address
    }
}

/// The same number, of an origin that is hidden from the compiler: a branch around it stays a branch.
#[inline(always)]
fn kept(mut number: usize) -> usize {
    // SAFETY: the assembly is empty.
    unsafe { core::arch::asm!("/* {0} */", inout(reg) number, options(nomem, nostack, preserves_flags)) };
    number
}
