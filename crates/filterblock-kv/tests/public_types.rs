//! What callers may do with the public types: send them to other threads, keep them across a caught panic, print, copy
//! and compare them.

use core::fmt::Debug;
use std::error::Error;
use std::sync::Arc;

fn shared<T: Send + Sync + Unpin + Debug>() {}

/// `each!(bound: Type, Type)`
macro_rules! each {
    ($bound:ident: $($Type:ty),+ $(,)?) => { $($bound::<$Type>();)+ };
}

#[test]
fn of_the_store() {
    use filterblock_kv::{
        Error as StoreError, FileStorage, RebuildOptions, RebuildReport, Scan, Snapshot, Stats, Storage, Store,
        StoreOptions, TableFile, VerifyReport, Warning, WriteBatch,
    };

    each!(shared: Store, Snapshot, StoreOptions, Stats, VerifyReport, WriteBatch, FileStorage, TableFile, StoreError);
    each!(shared: RebuildOptions, RebuildReport, Warning, Arc<dyn Storage>);
    fn sent<T: Send + Debug>() {}
    each!(sent: Scan);
    fn boxed<T: Error + Clone + Send + Sync + 'static>() {}
    each!(boxed: StoreError);
}
