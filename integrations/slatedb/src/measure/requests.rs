//! [`CountingStore`]: an object store that records what is read of tables.

use super::watched::{Watch, Watched};
use slatedb::VersionedManifest;
use slatedb::object_store::path::Path;
use slatedb::object_store::{GetOptions, GetResult, ObjectStore, Result};
use std::collections::HashMap;
use std::ops::{AddAssign, Range};
use std::sync::{Arc, Mutex, PoisonError};

/// Requests, and the bytes that they fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Requests.
    pub num: u64,
    /// Bytes of their answers, without what a protocol adds.
    pub bytes: u64,
}

impl AddAssign for Requests {
    fn add_assign(&mut self, other: Self) {
        self.num += other.num;
        self.bytes += other.bytes;
    }
}

/// Requests for tables, by the part of the table that they begin in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The reads of filters.
    pub filters: Requests,
    /// The reads of indexes.
    pub indexes: Requests,
    /// The reads of data blocks.
    pub data: Requests,
    /// The reads of a table's other parts: metadata and statistics.
    pub others: Requests,
}

impl Parts {
    /// Returns the reads of all parts.
    pub fn sum(&self) -> Requests {
        let mut sum = self.filters;
        [self.indexes, self.data, self.others].into_iter().for_each(|part| sum += part);
        sum
    }
}

/// Passes everything on to another store, and records what is read of tables: the objects in a directory `compacted`.
pub type CountingStore = Watched<TableReads>;

/// Each read of a table.
type Reads = Vec<(Path, Range<u64>)>;

/// The ranges that were read of each table.
#[derive(Clone, Default)]
pub struct TableReads(Arc<Mutex<Reads>>);

#[async_trait::async_trait]
impl Watch for TableReads {
    async fn get(&self, store: &dyn ObjectStore, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        let result = store.get_opts(location, options).await?;
        if !head && location.parts().any(|part| part.as_ref() == "compacted") {
            let read = (location.clone(), result.range.clone());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(read);
        }
        Ok(result)
    }
}

impl CountingStore {
    /// Returns a recorder in front of `inner`, with nothing recorded.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner, watch: TableReads::default() }
    }

    /// Returns the reads since the last call, by the parts of the tables that `manifest` lists. Tables of another
    /// manifest count among the others.
    pub fn take(&self, manifest: &VersionedManifest) -> Parts {
        let reads = std::mem::take(&mut *self.watch.0.lock().unwrap_or_else(PoisonError::into_inner));
        let tables: HashMap<_, _> =
            manifest.all_sst_views().map(|view| (format!("{}.sst", view.sst.id.value()), &view.sst.info)).collect();
        let mut parts = Parts::default();
        for (path, range) in reads {
            let part = match path.filename().and_then(|name| tables.get(name)) {
                Some(info) if within(range.start, info.filter_offset, info.filter_len) => &mut parts.filters,
                Some(info) if within(range.start, info.index_offset, info.index_len) => &mut parts.indexes,
                // Blocks come first; a table without a filter has any offset for it.
                Some(info) if range.start < info.index_offset => &mut parts.data,
                _ => &mut parts.others,
            };
            *part += Requests { num: 1, bytes: range.end - range.start };
        }
        parts
    }
}

fn within(position: u64, offset: u64, len: u64) -> bool {
    (offset..offset + len).contains(&position)
}
