//! The limit under any sequence of calls, and that nothing wrong is returned.

use super::{BlockCache, ENTRY_OVERHEAD, FileId, PinnedBytes};
use filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

type Filter = FilterBlock<AlignedBytes>;

/// Filters of 200 bytes to 20 KB.
static FILTERS: LazyLock<Vec<Arc<Filter>>> = LazyLock::new(|| {
    let filter = |entries: u32| {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0).unwrap();
        let mut builder = FilterBlockBuilder::new(&policy);
        (0..entries).for_each(|number| builder.add_key(format!("{number}").as_bytes()));
        let bytes = builder.finish().unwrap();
        Arc::new(OpenOptions::new().open_owned(AlignedBytes::copy_of(&bytes)).unwrap())
    };
    [100, 2_000, 5_000, 16_000].map(filter).into()
});

/// The contents of a data block at this location.
fn data(file: usize, offset: u64, len: usize) -> Arc<[u8]> {
    (0..len).map(|index| (file as u64 * 31 + offset * 7 + index as u64) as u8).collect()
}

#[derive(Clone, Debug)]
enum Op {
    InsertData { file: usize, offset: u64, len: usize },
    GetData { file: usize, offset: u64 },
    InsertFilter { file: usize, offset: u64, filter: usize },
    GetFilter { file: usize, offset: u64 },
    Reopen { file: usize },
    Pin { len_bytes: u64 },
    Unpin { pin: usize },
}

const FILES: usize = 4;

fn op() -> impl Strategy<Value = Op> {
    let (file, offset) = (0..FILES, 0..30u64);
    prop_oneof![
        8 => (file.clone(), offset.clone(), 0..9_000usize)
            .prop_map(|(file, offset, len)| Op::InsertData { file, offset, len }),
        8 => (file.clone(), offset.clone()).prop_map(|(file, offset)| Op::GetData { file, offset }),
        3 => (file.clone(), offset.clone(), 0..4usize)
            .prop_map(|(file, offset, filter)| Op::InsertFilter { file, offset, filter }),
        3 => (file.clone(), offset).prop_map(|(file, offset)| Op::GetFilter { file, offset }),
        1 => file.prop_map(|file| Op::Reopen { file }),
        1 => (0..60_000u64).prop_map(|len_bytes| Op::Pin { len_bytes }),
        1 => (0..8usize).prop_map(|pin| Op::Unpin { pin }),
    ]
}

/// The value that was last inserted at a location.
#[derive(Clone, Debug)]
enum Put {
    Data(Arc<[u8]>),
    Filter(usize),
}

struct Run {
    cache: Arc<BlockCache>,
    files: [FileId; FILES],
    put: HashMap<(FileId, u64), Put>,
    pins: Vec<PinnedBytes>,
    /// Lookups of data and filters, and those that found one.
    asked: [u64; 2],
    found: [u64; 2],
}

impl Run {
    fn new(limit_bytes: u64) -> Self {
        let cache = BlockCache::new(limit_bytes);
        let files = core::array::from_fn(|_| cache.open_file());
        Self { cache, files, put: HashMap::new(), pins: Vec::new(), asked: [0; 2], found: [0; 2] }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::InsertData { file, offset, len } => {
                let bytes = data(file, offset, len);
                self.put.insert((self.files[file], offset), Put::Data(Arc::clone(&bytes)));
                self.cache.insert_data(self.files[file], offset, bytes);
            }
            Op::InsertFilter { file, offset, filter } => {
                self.put.insert((self.files[file], offset), Put::Filter(filter));
                self.cache.insert_filter(self.files[file], offset, Arc::clone(&FILTERS[filter]));
            }
            Op::GetData { file, offset } => {
                self.asked[0] += 1;
                if let Some(bytes) = self.cache.data(self.files[file], offset) {
                    self.found[0] += 1;
                    let put = &self.put[&(self.files[file], offset)];
                    assert!(matches!(put, Put::Data(put) if *put == bytes), "another block");
                }
            }
            Op::GetFilter { file, offset } => {
                self.asked[1] += 1;
                if let Some(filter) = self.cache.filter::<Filter>(self.files[file], offset) {
                    self.found[1] += 1;
                    let put = &self.put[&(self.files[file], offset)];
                    assert!(matches!(put, Put::Filter(put) if Arc::ptr_eq(&FILTERS[*put], &filter)), "another filter");
                }
            }
            Op::Reopen { file } => {
                let gone = core::mem::replace(&mut self.files[file], self.cache.open_file());
                self.cache.remove_file(gone);
                for offset in 0..30 {
                    self.asked[0] += 1;
                    assert!(self.cache.data(gone, offset).is_none(), "a block of a file that is gone");
                }
            }
            Op::Pin { len_bytes } => self.pins.push(self.cache.pin(len_bytes)),
            Op::Unpin { pin } => {
                if pin < self.pins.len() {
                    self.pins.swap_remove(pin);
                }
            }
        }
    }

    fn check(&self, limit_bytes: u64) {
        let stats = self.cache.stats();
        assert_eq!(stats.max_bytes, limit_bytes);
        let left = limit_bytes.saturating_sub(stats.pinned_bytes);
        assert!(stats.held_bytes <= left, "{stats:?}");
        assert!(stats.held_bytes >= stats.num_blocks * ENTRY_OVERHEAD);
        assert_eq!([stats.data_hits, stats.filter_hits], self.found);
        assert_eq!(stats.data_hits + stats.data_misses, self.asked[0]);
        assert_eq!(stats.filter_hits + stats.filter_misses, self.asked[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_limit_holds_and_answers_are_right(
        limit_bytes in prop_oneof![Just(0), 1..2_000u64, 2_000..100_000u64, 100_000..2_000_000u64],
        ops in vec(op(), 1..300),
    ) {
        let mut run = Run::new(limit_bytes);
        for op in &ops {
            run.apply(op);
            run.check(limit_bytes);
        }
        run.pins.clear();
        prop_assert_eq!(run.cache.stats().pinned_bytes, 0);
        run.check(limit_bytes);
    }
}

#[test]
fn blocks_that_fit_stay_and_pins_take_their_place() {
    const LIMIT: u64 = 1 << 20;
    let cache = BlockCache::new(LIMIT);
    let file = cache.open_file();
    let held = || (0..200).filter(|&offset| cache.data(file, offset).is_some()).count();
    (0..200).for_each(|offset| cache.insert_data(file, offset, data(0, offset, 4096)));
    assert_eq!(held(), 200, "200 · 4352 bytes of 1 MiB");
    let pin = cache.pin(LIMIT / 2);
    let left = held();
    assert!((80..120).contains(&left), "{left}");
    assert!(!cache.fits_filter(LIMIT / 2) && cache.fits_filter(LIMIT / 4));
    let all = cache.pin(LIMIT);
    assert_eq!((held(), cache.fits_filter(1)), (0, false));
    drop((pin, all));
    (0..200).for_each(|offset| cache.insert_data(file, offset, data(0, offset, 4096)));
    assert_eq!(held(), 200, "the whole limit is back");
}

#[test]
fn a_filter_that_fits_is_held() {
    for limit_bytes in [500, 8_000, 20_000, 30_000, 60_000, 20 << 20] {
        let cache = BlockCache::new(limit_bytes);
        let file = cache.open_file();
        for (offset, filter) in (0..).zip(FILTERS.iter()) {
            cache.insert_filter(file, offset, Arc::clone(filter));
            let fits = cache.fits_filter(filter.as_bytes().len() as u64);
            assert!(!fits || cache.filter::<Filter>(file, offset).is_some(), "{limit_bytes} {offset}");
        }
        assert_eq!(cache.stats().filter_hits > 0, limit_bytes > 500);
    }
}

#[test]
fn a_scan_does_not_evict_blocks_in_use() {
    let cache = BlockCache::new(1 << 20);
    let (hot, cold) = (cache.open_file(), cache.open_file());
    for _ in 0..5 {
        for offset in 0..100 {
            if cache.data(hot, offset).is_none() {
                cache.insert_data(hot, offset, data(0, offset, 4096));
            }
        }
    }
    for offset in 0..10_000 {
        if cache.data(cold, offset).is_none() {
            cache.insert_data(cold, offset, data(1, offset, 4096));
        }
    }
    let kept = (0..100).filter(|&offset| cache.data(hot, offset).is_some()).count();
    println!("{kept} of 100 hot blocks are still held after a scan of 10 000");
    assert!(kept >= 90, "{kept}");
}

#[test]
fn threads_share_it() {
    const LIMIT: u64 = 40 << 20;
    let cache = BlockCache::new(LIMIT);
    assert_eq!(cache.blocks.as_ref().map(|blocks| blocks.num_shards()), Some(4));
    let files: Vec<FileId> = (0..4).map(|_| cache.open_file()).collect();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (cache, files) = (&cache, &files);
            scope.spawn(move || {
                for step in 0..20_000u64 {
                    let number = (step * 7_919 + thread * 104_729) % 40_000;
                    let (file, offset) = ((number % 4) as usize, number / 4);
                    let _pin = (step % 1_000 == 0).then(|| cache.pin(LIMIT / 8));
                    match cache.data(files[file], offset) {
                        Some(bytes) => assert_eq!(bytes, data(file, offset, 4096)),
                        None => cache.insert_data(files[file], offset, data(file, offset, 4096)),
                    }
                }
            });
        }
    });
    let stats = cache.stats();
    assert!(stats.held_bytes <= LIMIT && stats.pinned_bytes == 0, "{stats:?}");
    assert_eq!(stats.data_hits + stats.data_misses, 80_000);
}
