//! A row of a table of queries: keys drawn anew for each pass, a filter where a store would keep it, and a lower bound
//! of what an answer costs.

use crate::common::{Key, Keys, build};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Throughput};
use filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, KeyHash, OpenOptions};
use std::time::{Duration, Instant};

/// Keys of a pass: enough to make the clock's cost negligible, and to exceed the memory of branch predictors.
const PASS_LEN: usize = 8192;
const LINE_LEN: usize = 64;
/// Bits per key of every filter.
const BITS_PER_KEY: usize = 10;

/// Times `pass` over arrays that `draw` fills key by key, outside the measurement.
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

/// Seed of the stream of keys that filters are built from.
const MEMBERS: u64 = 1;

/// The first `count` keys of that stream.
pub fn members(count: usize) -> Vec<Key> {
    Keys::new(MEMBERS).take(count)
}

/// Keys that no filter holds.
pub fn absent() -> impl FnMut() -> Key {
    let mut absent = Keys::new(2);
    move || absent.key()
}

/// Some of `num_members` keys, in random order. They are recomputed: if they were picked from a list, the list would
/// evict the filter from the caches and its pages from the TLB, and these rows would seem slow.
pub fn present(num_members: usize) -> impl FnMut() -> Key {
    let mut pick = Keys::new(3);
    move || Keys::starting_at(MEMBERS, pick.number() % num_members as u64).key()
}

/// Half of the keys are among the `num_members`, in random order.
pub fn mixed(num_members: usize) -> impl FnMut() -> Key {
    let (mut absent, mut present, mut toss) = (absent(), present(num_members), Keys::new(5));
    move || if toss.number() % 2 == 0 { absent() } else { present() }
}

/// The filter of `members`, opened and kept in aligned bytes, as in a block cache.
pub fn filter(kind: FilterKind, members: &[Key]) -> FilterBlock<AlignedBytes> {
    let policy = FilterPolicy::with_bits_per_key(kind, BITS_PER_KEY as f64).expect("a legal size");
    let mut block = Vec::new();
    build(&mut FilterBlockBuilder::new(&policy), members, &mut block);
    OpenOptions::new().open_owned(AlignedBytes::copy_of(&block)).expect("a block just written")
}

/// The lines of a filter, in the same kind of memory: the cost of a query if nothing is computed.
pub struct Floor(AlignedBytes);

impl Floor {
    pub fn new(num_members: usize) -> Self {
        let mut lines = AlignedBytes::zeroed(num_members * BITS_PER_KEY / 8 / LINE_LEN * LINE_LEN);
        let mut numbers = Keys::new(4);
        // This also makes the kernel allocate the pages.
        lines.as_mut().fill_with(|| numbers.number() as u8);
        Self(lines)
    }

    pub fn lines(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// A byte of the line that `hash` selects.
#[inline(always)]
pub fn load(lines: &[u8], hash: KeyHash) -> u8 {
    let line = (u128::from(hash.get()) * (lines.len() / LINE_LEN) as u128) >> 64;
    lines[line as usize * LINE_LEN]
}

/// The same reference, of an origin that is hidden from the compiler, which would otherwise hash neighbouring keys
/// together in vectors: no store's read path does. Costs no instruction where possible; `black_box` costs a round trip
/// through memory.
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
