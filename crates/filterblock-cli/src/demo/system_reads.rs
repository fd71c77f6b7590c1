//! The operating system's own count of this process's reads.

use std::fs;
use std::ops::Add;

/// `/proc/self/io` at one moment. See proc_pid_io(5).
struct Snapshot {
    /// Bytes returned by read calls, cached or not.
    rchar: u64,
    /// Read calls.
    syscr: u64,
    /// Bytes fetched from devices.
    read_bytes: u64,
    /// Length of the file itself, because reading it counts too.
    text_len: u64,
}

impl Snapshot {
    /// `None` where the platform has no such file or does not let it be read.
    fn take() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/io").ok()?;
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
            value.trim().parse().ok()
        };
        Some(Self {
            rchar: field("rchar")?,
            syscr: field("syscr")?,
            read_bytes: field("read_bytes")?,
            text_len: text.len() as u64,
        })
    }
}

/// Reads between two moments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// Read calls.
    pub(super) calls: u64,
    /// Bytes: from devices with direct I/O, otherwise from files.
    pub(super) bytes: u64,
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { calls: self.calls + other.calls, bytes: self.bytes + other.bytes }
    }
}

/// Counts the reads of `work`, without those of the counting itself.
pub(super) fn count<T>(direct: bool, work: impl FnOnce() -> T) -> (T, Option<Count>) {
    // The cost of a snapshot, measured by taking two.
    let calls_of_counting = Snapshot::take().zip(Snapshot::take()).map(|(a, b)| b.syscr - a.syscr);
    let before = Snapshot::take();
    let result = work();
    let after = Snapshot::take();
    let count = before.zip(after).zip(calls_of_counting).map(|((before, after), calls_of_counting)| Count {
        calls: (after.syscr - before.syscr).saturating_sub(calls_of_counting),
        bytes: match direct {
            true => after.read_bytes - before.read_bytes,
            false => (after.rchar - before.rchar).saturating_sub(before.text_len),
        },
    });
    (result, count)
}
