//! filterblock itself.

use crate::keys::Key;
use crate::peer::{BATCH_LEN, Batches, Caller, Filter, Peer, Size, apart, query_each};
use ::filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, KeyHash, OpenOptions};
use anyhow::Result;

/// Keeps a block in memory as a database would.
pub type Buffer = AlignedBytes;

/// Builds with the library's defaults.
pub fn policy(kind: FilterKind, size: Size) -> FilterPolicy {
    match size {
        Size::Bits(bits) => FilterPolicy::with_bits_per_key(kind, f64::from(bits)),
        Size::Percent(percent) => FilterPolicy::with_false_positive_rate(kind, percent / 100.0),
        _ => unreachable!("blocks are sized by bits or rate"),
    }
    .expect("a legal size")
}

/// From keys to a block in memory. It is opened as trusted, because the peers verify no digest either.
pub fn build(policy: &FilterPolicy, keys: &[Key]) -> Result<FilterBlock<Buffer>> {
    let mut builder = FilterBlockBuilder::new(policy);
    builder.try_reserve(keys.len())?;
    keys.iter().for_each(|key| builder.add_key(key));
    let block = Buffer::copy_of(&builder.finish()?);
    Ok(OpenOptions::new().with_digest_check(false).expect(policy).open_owned(block)?)
}

impl Filter for FilterBlock<Buffer> {
    fn num_bytes(&self) -> usize {
        self.as_bytes().len()
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        query_each(keys, caller, |key| apart(self).may_contain(key))
    }

    fn batches(&self) -> Option<&dyn Batches> {
        Some(self)
    }
}

impl Batches for FilterBlock<Buffer> {
    fn query_batches(&self, keys: &[Key], answers: &mut [bool]) {
        let hasher = self.entry_hasher().hasher();
        let mut hashes = [KeyHash::from_raw(0); BATCH_LEN];
        for (keys, answers) in keys.chunks(BATCH_LEN).zip(answers.chunks_mut(BATCH_LEN)) {
            let hashes = &mut hashes[..keys.len()];
            // A store's keys have many lengths and lie apart: no vectorized loop hashes them.
            hashes.iter_mut().zip(keys).for_each(|(hash, key)| *hash = hasher.hash(apart::<Key>(key)));
            apart(self).may_contain_hashes(hashes, answers);
        }
    }
}

/// A reader that is made once and kept over all queries. It should gain nothing over lookups in a filter.
struct Kept(FilterBlock<Buffer>);

impl Filter for Kept {
    fn num_bytes(&self) -> usize {
        self.0.num_bytes()
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        let reader = self.0.reader();
        query_each(keys, caller, |key| reader.may_contain(key))
    }
}

fn kept_peer(kind: &'static str, size: Size, policy: FilterPolicy) -> Peer {
    let build = move |keys: &[Key]| Ok(Box::new(Kept(build(&policy, keys)?)) as Box<dyn Filter>);
    Peer { name: "filterblock", kind, size, build: Box::new(build) }
}

fn peer(kind: &'static str, size: Size, policy: FilterPolicy) -> Peer {
    let build = move |keys: &[Key]| Ok(Box::new(build(&policy, keys)?) as Box<dyn Filter>);
    Peer { name: "filterblock", kind, size, build: Box::new(build) }
}

/// The kinds that take bits per key, with default settings. Separate rows are without the self-check: the peers check
/// nothing.
pub fn with_bits(bits: u32) -> Vec<Peer> {
    let size = Size::Bits(bits);
    let (bloom, blocked) = (policy(FilterKind::Bloom, size), policy(FilterKind::Blocked, size));
    let salted = |salt_bits| blocked.clone().with_salt_bits(salt_bits).expect("a legal choice");
    vec![
        peer("bloom", size, bloom.clone()),
        kept_peer("bloom, kept reader", size, bloom.clone()),
        peer("bloom unchecked", size, bloom.with_self_check(false)),
        peer("blocked", size, blocked.clone()),
        kept_peer("blocked, kept reader", size, blocked.clone()),
        peer("blocked unchecked", size, blocked.clone().with_self_check(false)),
        peer("blocked no choice", size, salted(0)),
        peer("blocked 16 salts", size, salted(4)),
    ]
}

/// The kinds that are sized by rate. Ribbon's other rows are its smallest and its fastest to build. Fuse's rates are
/// powers of two, of which it takes the next below; that below 0.4 % is xorf's of 8 bits.
pub fn with_rates() -> Vec<Peer> {
    let mut peers = Vec::new();
    for size in [Size::Percent(1.0), Size::Percent(0.1)] {
        let golomb = policy(FilterKind::Golomb, size);
        peers.extend([
            peer("golomb", size, golomb.clone()),
            kept_peer("golomb, kept reader", size, golomb.clone()),
            peer("golomb unchecked", size, golomb.with_self_check(false)),
        ]);
    }
    for size in [Size::Percent(1.0), Size::Percent(0.1)] {
        let ribbon = policy(FilterKind::Ribbon, size);
        let sized = |slots_per_key| ribbon.clone().with_slots_per_key(slots_per_key).expect("a legal number of slots");
        peers.extend([
            peer("ribbon", size, ribbon.clone()),
            kept_peer("ribbon, kept reader", size, ribbon.clone()),
            peer("ribbon unchecked", size, ribbon.clone().with_self_check(false)),
            peer("ribbon smallest", size, sized(0.965)),
            peer("ribbon fast build", size, sized(1.075)),
        ]);
    }
    for size in [Size::Percent(1.0), Size::Percent(0.4), Size::Percent(0.1)] {
        let fuse = policy(FilterKind::Fuse, size);
        peers.extend([
            peer("fuse", size, fuse.clone()),
            kept_peer("fuse, kept reader", size, fuse.clone()),
            peer("fuse unchecked", size, fuse.with_self_check(false)),
        ]);
    }
    peers
}
