//! A file: the bytes that a reader sees, and which of them a crash may lose.

use crate::random::Random;
use core::ops::Range;
use std::sync::Arc;

/// The unit that a disk writes as a whole or not at all.
pub const SECTOR_LEN: usize = 512;

/// Files only grow, so a file is its bytes and the ranges of them that no sync covers, in ascending order.
#[derive(Debug, Default)]
pub(super) struct Inode {
    /// Shared with crash images; copied on the next write.
    bytes: Arc<Vec<u8>>,
    unsynced: Vec<Extent>,
}

/// The bytes of one write.
#[derive(Clone, Debug)]
struct Extent {
    range: Range<usize>,
    /// The operation that wrote them.
    number: u64,
    /// A sync of them has failed: they will never be durable.
    lost: bool,
}

/// Which unsynced bytes of a file survive a crash. Lost bytes never survive; where later bytes do, zeros replace them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Survival {
    Nothing,
    Everything,
    /// All but the write with this number, which is the last one.
    AllBut(u64),
    /// The length, with zeros for the bytes.
    Length,
    /// Random sectors or a random prefix.
    Random,
}

impl Inode {
    /// A file that is durable as it is.
    pub(super) fn durable(bytes: Arc<Vec<u8>>) -> Self {
        Self { bytes, unsynced: Vec::new() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn append(&mut self, bytes: &[u8], number: u64) {
        let start = self.bytes.len();
        Arc::make_mut(&mut self.bytes).extend_from_slice(bytes);
        if !bytes.is_empty() {
            self.unsynced.push(Extent { range: start..start + bytes.len(), number, lost: false });
        }
    }

    /// Makes everything durable that a failed sync has not lost.
    pub(super) fn sync(&mut self) {
        self.unsynced.retain(|extent| extent.lost);
    }

    /// Loses what is not durable.
    pub(super) fn lose_unsynced(&mut self) {
        for extent in &mut self.unsynced {
            extent.lost = true;
        }
    }

    /// Copies bytes from `offset` on into `buf`; returns how many.
    pub(super) fn read_at(&self, buf: &mut [u8], offset: u64) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = self.bytes.get(start..).unwrap_or_default();
        let len = there.len().min(buf.len());
        buf[..len].copy_from_slice(&there[..len]);
        len
    }

    /// The number of the last write that may yet become durable.
    pub(super) fn last_unsynced(&self) -> Option<u64> {
        self.unsynced.last().filter(|extent| !extent.lost).map(|extent| extent.number)
    }

    /// The bytes that a crash leaves.
    pub(super) fn after_crash(&self, survival: Survival, random: &mut Random) -> Arc<Vec<u8>> {
        if self.unsynced.is_empty() {
            return Arc::clone(&self.bytes);
        }
        let mut bytes = self.bytes.to_vec();
        match survival {
            Survival::Everything => {
                self.zero(&mut bytes, |extent| extent.lost);
            }
            Survival::Nothing => {
                self.zero(&mut bytes, |_| true);
                bytes.truncate(self.durable_end());
            }
            Survival::AllBut(number) => {
                self.zero(&mut bytes, |extent| extent.lost);
                let last = self.unsynced.last().filter(|extent| extent.number == number);
                bytes.truncate(last.map_or(bytes.len(), |extent| extent.range.start));
            }
            Survival::Length => self.zero(&mut bytes, |_| true),
            Survival::Random => return self.torn(random),
        }
        Arc::new(bytes)
    }

    /// One of the ways in which a crash tears unsynced writes.
    fn torn(&self, random: &mut Random) -> Arc<Vec<u8>> {
        let cut = self.durable_end() + random.index(self.bytes.len() - self.durable_end() + 1);
        let mut bytes = match random.index(8) {
            0 => return self.after_crash(Survival::Nothing, random),
            1 => return self.after_crash(Survival::Everything, random),
            2 => return self.after_crash(Survival::Length, random),
            3 | 4 => self.after_crash(Survival::Everything, random).to_vec(),
            5 => self.reordered(random, |random| Fate::ALL[random.index(3)]),
            6 => {
                let mut bytes = self.reordered(random, |random| Fate::ALL[random.index(3)]);
                bytes.truncate(cut);
                return Arc::new(bytes);
            }
            // One bad sector among good ones is harder to detect than many.
            _ => {
                let bad = Fate::ALL[1 + random.index(2)];
                self.reordered(random, |random| if random.index(4) == 0 { bad } else { Fate::Written })
            }
        };
        if random.index(2) == 0 {
            bytes.truncate(cut);
        }
        Arc::new(bytes)
    }

    /// The file at full length, with a fate of its own for each sector's unsynced bytes.
    fn reordered(&self, random: &mut Random, fate: impl Fn(&mut Random) -> Fate) -> Vec<u8> {
        let mut bytes = self.bytes.to_vec();
        let mut current = None;
        for extent in &self.unsynced {
            let Range { mut start, end } = extent.range;
            while start < end {
                let sector = start / SECTOR_LEN;
                let piece = start..end.min((sector + 1) * SECTOR_LEN);
                // Two writes to one sector have the same fate.
                if current.is_none_or(|(of, _)| of != sector) {
                    current = Some((sector, fate(random)));
                }
                match current {
                    _ if extent.lost => bytes[piece.clone()].fill(0),
                    Some((_, Fate::Garbage)) => bytes[piece.clone()].fill_with(|| random.byte()),
                    Some((_, Fate::Zero)) => bytes[piece.clone()].fill(0),
                    Some((_, Fate::Written)) | None => {}
                }
                start = piece.end;
            }
        }
        bytes
    }

    fn zero(&self, bytes: &mut [u8], which: impl Fn(&Extent) -> bool) {
        for extent in self.unsynced.iter().filter(|extent| which(extent)) {
            bytes[extent.range.clone()].fill(0);
        }
    }

    /// The end of the last durable byte.
    fn durable_end(&self) -> usize {
        self.unsynced.iter().rev().fold(self.bytes.len(), |end, extent| match extent.range.end == end {
            true => extent.range.start,
            false => end,
        })
    }
}

/// What a crash does to a sector.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Written,
    Zero,
    Garbage,
}

impl Fate {
    const ALL: [Self; 3] = [Self::Written, Self::Zero, Self::Garbage];
}
