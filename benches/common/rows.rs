//! A row of a table of questions: keys drawn anew for each pass, a filter where a store would keep it, and the least that
//! any answer costs.

use crate::common::{Key, Keys, build};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Throughput};
use filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, KeyHash, OpenOptions};
use std::time::{Duration, Instant};

/// Keys of a pass: enough to drown the clock, and the predictors' memory.
const PASS_LEN: usize = 8192;
const LINE_LEN: usize = 64;
/// Of every filter.
const BITS_PER_KEY: usize = 10;

/// Times `pass` over arrays that `draw` fills, one key at a time, outside the measurement.
pub fn row(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    mut draw: impl FnMut() -> Key,
    mut pass: impl FnMut(&[Key]),
) {
    let mut keys = vec![Key::default(); PASS_LEN];
    group.throughput(Throughput::Elements(PASS_LEN as u64));
    group.bench_function(id, |b| {
        b.iter_custom(|iterations| {
            let mut elapsed = Duration::ZERO;
            for _ in 0..iterations {
                keys.fill_with(&mut draw);
                let start = Instant::now();
                pass(&keys);
                elapsed += start.elapsed();
            }
            elapsed
        });
    });
}

/// The stream that filters are made of.
const MEMBERS: u64 = 1;

/// Keys for filters.
pub fn members(count: usize) -> Vec<Key> {
    Keys::new(MEMBERS).take(count)
}

/// Keys that no filter holds.
pub fn absent() -> impl FnMut() -> Key {
    let mut strangers = Keys::new(2);
    move || strangers.key()
}

/// Some of `num_members` keys, in no order. They are computed anew: picked from a list, they would push the filter out of
/// the caches and its pages out of the processor's reach, and rows with them would seem slow.
pub fn present(num_members: usize) -> impl FnMut() -> Key {
    let mut pick = Keys::new(3);
    move || Keys::starting_at(MEMBERS, pick.number() % num_members as u64).key()
}

/// One key in two from `num_members`, in no order.
pub fn mixed(num_members: usize) -> impl FnMut() -> Key {
    let (mut absent, mut present, mut toss) = (absent(), present(num_members), Keys::new(5));
    move || if toss.number() % 2 == 0 { absent() } else { present() }
}

/// The filter of `members`, opened and kept in aligned bytes, as a cache of blocks does.
pub fn filter(kind: FilterKind, members: &[Key]) -> FilterBlock<AlignedBytes> {
    let policy = FilterPolicy::with_bits_per_key(kind, BITS_PER_KEY as f64).expect("a legal size");
    let mut block = Vec::new();
    build(&mut FilterBlockBuilder::new(policy), members, &mut block);
    OpenOptions::new().open_owned(AlignedBytes::copy_of(&block)).expect("a block just written")
}

/// Lines as many as a filter's, in the same kind of memory: what is left of a question if nothing is computed.
pub struct Floor(AlignedBytes);

impl Floor {
    pub fn new(num_members: usize) -> Self {
        let mut lines = AlignedBytes::zeroed(num_members * BITS_PER_KEY / 8 / LINE_LEN * LINE_LEN);
        let mut numbers = Keys::new(4);
        // Also makes the pages the program's own.
        lines.as_mut().fill_with(|| numbers.number() as u8);
        Self(lines)
    }

    pub fn lines(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// A byte of the line that belongs to `hash`.
#[inline(always)]
pub fn load(lines: &[u8], hash: KeyHash) -> u8 {
    let line = (u128::from(hash.get()) * (lines.len() / LINE_LEN) as u128) >> 64;
    lines[line as usize * LINE_LEN]
}

/// The same reference, from nowhere that the compiler knows: else it hashes neighbouring keys together in vectors, which
/// no store's read path has. Costs no instruction where it can, as `black_box` costs a trip through memory.
#[inline(always)]
pub fn apart(key: &Key) -> &Key {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[expect(unsafe_code, reason = "a barrier for the compiler")]
    #[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written, here or through the address")]
    {
        let mut address: *const Key = key;
        // SAFETY: the assembly is empty, so the address is still that of `key`.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
            &*address
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(key)
}
