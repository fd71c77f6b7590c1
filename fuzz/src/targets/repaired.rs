use super::Reached;
use crate::blocks::{Portable, ask};
use crate::oracle::Oracle;
use crate::repair::{Repair, repair};
use filterblock::{DecodeError, HEADER_LEN, OpenOptions};

/// A block damaged by who can compute checksums: what stands behind them must hold alone.
pub fn repaired(input: &[u8]) -> Reached {
    let Some((&mode, damaged)) = input.split_first() else { return Reached::Nothing };
    if damaged.len() < HEADER_LEN {
        return Reached::Nothing;
    }
    let mode = Repair::from_mode(mode);
    let mut block = damaged.to_vec();
    repair(&mut block, mode);

    let options = OpenOptions::new().context(mode.context);
    let mut reached = Reached::Refused;
    for options in [options, options.trusted(true)] {
        match options.open(&block) {
            Ok(reader) => {
                ask(&reader, &Portable::open(&block, mode.context), &Oracle::open(&block), &block);
                reached = Reached::Compared;
            }
            Err(DecodeError::Magic { .. } | DecodeError::HeaderChecksum { .. } | DecodeError::WrongContext { .. }) => {
                panic!("repaired in vain: {mode:?}")
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    reached
}
