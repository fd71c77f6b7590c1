//! [`Workload`]: the expected use of a table's filter, by which an automatic policy chooses its kind.

/// The level that is assumed for a table of unknown level.
const DEFAULT_LEVEL: u8 = 2;
/// A table of level 0 holds a byte for a minute. A gigabyte held for an hour is assumed to cost a sixth of a core for
/// an hour, which is 10 ns for a byte and a minute.
const BYTE_NS_AT_LEVEL_0: u32 = 10;
/// At this level a table lives for 190 years; no level below costs more.
const LONGEST_LIVED_LEVEL: u8 = 8;
/// The tables of these levels were written so lately that the system still has their blocks in memory.
const LAST_CACHED_LEVEL: u8 = 1;
/// A block of 4 KiB from the system's cache.
const CACHED_READ_NS: u32 = 1_000;
/// A block of 4 KiB from a solid-state disk.
const READ_NS: u32 = 30_000;

/// The expected use of a table's filter, and its costs in nanoseconds of one core: the inputs of
/// [`FilterPolicy::auto`](crate::FilterPolicy::auto).
///
/// Values that are not set follow from the table's level, 2 unless given, by the rules of leveled compaction with
/// levels ten times as large as those above:
///
/// | | level 0 | level 1 | level *i* ≥ 2 |
/// |---|---|---|---|
/// | absent keys looked up over the table's life | one for each entry | the same | the same |
/// | a wasted read | 1 µs, from the system's cache | the same | 30 µs, from a solid-state disk |
/// | a byte held over the table's life | 10 ns: a minute | 100 ns | 10ⁱ minutes, up to level 8 |
///
/// A lookup queries one table of a level, and a table is replaced when about as many entries as its level has were
/// written: a table of a deeper level is queried more rarely, and lives longer in proportion. So if lookups of absent
/// keys are about as frequent as writes, each table of every level is queried about once for each of its entries.
///
/// ```
/// use filterblock::Workload;
///
/// let young = Workload::default().with_level(0);
/// assert_eq!((young.num_queries(5_000), young.read_ns(), young.byte_ns()), (5_000, 1_000, 10));
/// // Ten million lookups, each false positive a read from object storage.
/// let remote = Workload::default().with_level(4).with_num_queries(10_000_000).with_read_ns(20_000_000);
/// assert_eq!((remote.num_queries(5_000), remote.byte_ns()), (10_000_000, 100_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    level: u8,
    queries: Option<u64>,
    read_ns: Option<u32>,
    byte_ns: Option<u32>,
}

impl Default for Workload {
    /// Returns the workload of a table of level 2.
    fn default() -> Self {
        Self { level: DEFAULT_LEVEL, queries: None, read_ns: None, byte_ns: None }
    }
}

impl Workload {
    /// Returns the same workload at another level: it changes the values that were not set.
    #[must_use]
    pub const fn with_level(self, level: u8) -> Self {
        Self { level, ..self }
    }

    /// Sets the number of absent keys for which the filter is queried over the table's life. Present keys cost the same
    /// with every kind, except the query itself.
    #[must_use]
    pub const fn with_num_queries(self, queries: u64) -> Self {
        Self { queries: Some(queries), ..self }
    }

    /// Sets the cost of a false positive, a wasted read, in nanoseconds.
    #[must_use]
    pub const fn with_read_ns(self, read_ns: u32) -> Self {
        Self { read_ns: Some(read_ns), ..self }
    }

    /// Sets the cost of a byte of filter that is held over the table's life, in nanoseconds; 0 if memory is free.
    #[must_use]
    pub const fn with_byte_ns(self, byte_ns: u32) -> Self {
        Self { byte_ns: Some(byte_ns), ..self }
    }

    /// Returns the level.
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Returns the number of queries of absent keys over the life of a table of `num_entries` entries.
    pub const fn num_queries(&self, num_entries: u64) -> u64 {
        match self.queries {
            Some(queries) => queries,
            None => num_entries,
        }
    }

    /// Returns the cost of a wasted read, in nanoseconds.
    pub const fn read_ns(&self) -> u32 {
        match self.read_ns {
            Some(read_ns) => read_ns,
            None if self.level <= LAST_CACHED_LEVEL => CACHED_READ_NS,
            None => READ_NS,
        }
    }

    /// Returns the cost of a byte that is held over the table's life, in nanoseconds.
    pub const fn byte_ns(&self) -> u32 {
        let level = if self.level < LONGEST_LIVED_LEVEL { self.level } else { LONGEST_LIVED_LEVEL };
        match self.byte_ns {
            Some(byte_ns) => byte_ns,
            None => BYTE_NS_AT_LEVEL_0 * 10u32.pow(level as u32),
        }
    }

    /// Returns the values that were set: queries, read_ns, byte_ns.
    pub(super) const fn set_values(&self) -> [Option<u64>; 3] {
        const fn wide(value: Option<u32>) -> Option<u64> {
            match value {
                Some(value) => Some(value as u64),
                None => None,
            }
        }
        [self.queries, wide(self.read_ns), wide(self.byte_ns)]
    }
}
