//! What is measured: a peer builds filters, a filter is asked. And the loops that ask.

use crate::keys::Key;
use anyhow::Result;

/// One row: an implementation at one setting.
pub struct Peer {
    pub name: &'static str,
    pub kind: &'static str,
    pub size: Size,
    pub build: Build,
}

/// From a table's keys to a filter that can be stored and asked.
pub type Build = Box<dyn Fn(&[Key]) -> Result<Box<dyn Filter>>>;

#[derive(Clone, Copy, PartialEq)]
pub enum Size {
    /// Bits per key asked for. Rows of the same are compared with RocksDB's.
    Bits(u32),
    /// False-positive rate in per cent.
    Percent(f64),
    /// What the kind's name says.
    Named,
}

impl Peer {
    /// The kind with its size, as the tables show it.
    pub fn kind(&self) -> String {
        let kind = self.kind;
        match self.size {
            Size::Bits(bits) => format!("{kind} {bits} bits"),
            Size::Percent(percent) => format!("{kind} {percent} %"),
            Size::Named => kind.to_owned(),
        }
    }
}

/// What the caller does with an answer.
#[derive(Clone, Copy, PartialEq)]
pub enum Caller {
    /// Adds it up.
    Sums,
    /// Branches on it, as a store does that reads the table or not.
    Branches,
}

pub trait Filter {
    /// Length of the filter as it would be stored.
    fn num_bytes(&self) -> usize;

    /// Asks for each key by itself; how many passed. One call takes many keys so that what an engine prepares once for
    /// a filter is prepared once.
    fn ask(&self, keys: &[Key], caller: Caller) -> usize;

    /// Those that have a call for many keys.
    fn batches(&self) -> Option<&dyn Batches> {
        None
    }

    /// False of the floor, which answers nothing.
    fn answers(&self) -> bool {
        true
    }
}

pub trait Batches {
    /// Asks for batches of keys, each of [`BATCH_LEN`] or what the peer is made for.
    fn ask_batches(&self, keys: &[Key], answers: &mut [bool]);
}

/// The most that RocksDB's MultiGet asks for at once.
pub const BATCH_LEN: usize = 32;

/// The body of [`Filter::ask`].
#[inline(always)]
pub fn ask_each(keys: &[Key], caller: Caller, may_contain: impl Fn(&Key) -> bool) -> usize {
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

/// The same reference, from nowhere that the compiler knows: else it merges neighbouring questions into vector gathers
/// that no store's read path has. Costs no instruction, where `black_box` costs a trip through memory.
#[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written, here or through the address")]
#[inline(always)]
pub fn apart(key: &Key) -> &Key {
    let mut address: *const Key = key;
    // SAFETY: the assembly is empty, so the address is still that of `key`.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
        &*address
    }
}

/// The same number, from nowhere that the compiler knows: a branch around it stays a branch.
#[inline(always)]
fn kept(mut number: usize) -> usize {
    // SAFETY: the assembly is empty.
    unsafe { core::arch::asm!("/* {0} */", inout(reg) number, options(nomem, nostack, preserves_flags)) };
    number
}
