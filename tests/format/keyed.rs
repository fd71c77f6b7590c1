//! Blocks hashed under a secret key.

use crate::*;
use filterblock::DecodeErrorClass;

const KEY: [u8; 16] = *b"0123456789abcdef";

fn block(kind: FilterKind, hasher: KeyHasher) -> Vec<u8> {
    builder_of(&sized(kind, 12.0).with_hasher(hasher), keys(8, 400)).finish().expect("a block")
}

#[test]
fn a_keyed_block_opens_only_with_its_key() {
    let hasher = KeyHasher::keyed(KEY);
    for &kind in FilterKind::ALL {
        let block = block(kind, hasher.clone());
        let reader = OpenOptions::new().expect_hasher(&hasher).open(&block).expect("an intact block");
        assert_eq!((reader.entry_hasher().hasher(), reader.entry_hasher().hasher().hash_id()), (&hasher, 2));
        for key in keys(8, 400) {
            assert!(reader.may_contain(&key) && reader.may_contain_hash(hasher.hash(&key)));
        }
        // The block does not contain any part of the key; its header has the key's id.
        assert!(!block.windows(8).any(|window| window == &KEY[..8] || window == &KEY[8..]));
        let refused = |options: OpenOptions| {
            let error = options.open(&block).expect_err("no or another hasher");
            assert_eq!(error.class(), DecodeErrorClass::Mismatch, "{error}");
            error
        };
        assert_eq!(refused(OpenOptions::new()), DecodeError::KeyNeeded { key_id: hasher.seed() });
        let trusted = OpenOptions::new().with_digest_check(false);
        assert_eq!(refused(trusted), DecodeError::KeyNeeded { key_id: hasher.seed() });
        // A seed that happens to equal the key's id still selects another hash function.
        let by_seed = refused(OpenOptions::new().expect_hasher(&KeyHasher::new(hasher.seed())));
        assert_eq!(by_seed, DecodeError::WrongHash { expected: 1, found: 2 });
        for bit in 0..128 {
            let mut key = KEY;
            key[bit / 8] ^= 1 << (bit % 8);
            let other = KeyHasher::keyed(key);
            let expected = DecodeError::WrongKey { expected: other.seed(), found: hasher.seed() };
            assert_eq!(refused(OpenOptions::new().expect_hasher(&other)), expected);
        }
    }
    let by_seed = block(FilterKind::Bloom, KeyHasher::new(5));
    let error = OpenOptions::new().expect_hasher(&hasher).open(&by_seed).expect_err("another hash");
    assert_eq!(error, DecodeError::WrongHash { expected: 2, found: 1 });
}

#[test]
fn keyed_frames_and_unions_work_like_others() {
    let hasher = KeyHasher::keyed(KEY);
    let policy = capped(FilterKind::Bloom, 512).with_hasher(hasher.clone());
    let frame = frame_of(&mut builder_of(&policy, [b"framed"]));
    let reader = CompactFrameReader::open(&frame, &policy).expect("a frame");
    assert!(reader.may_contain(b"framed"));

    let block_of = |hasher: KeyHasher, key: &[u8]| {
        builder_of(&policy.clone().with_hasher(hasher), [key]).finish().expect("a block")
    };
    let options = OpenOptions::new().expect_hasher(&hasher);
    let (a, b) = (block_of(hasher.clone(), b"a"), block_of(hasher.clone(), b"b"));
    let (a, b) = (options.open(&a).expect("intact"), options.open(&b).expect("intact"));
    let union = a.union(&b, 0).expect("a block");
    let union = options.open(&union).expect("a keyed block, as its parts were");
    assert!(union.may_contain(b"a") && union.may_contain(b"b"));
    let other = block_of(KeyHasher::new(0), b"a");
    let other = OpenOptions::new().open(&other).expect("intact");
    assert_eq!(a.union(&other, 0), Err(CombineError::Entries(DecodeError::WrongHash { expected: 2, found: 1 })));
    let other_key = KeyHasher::keyed([0; 16]);
    let other = block_of(other_key.clone(), b"a");
    let other = OpenOptions::new().expect_hasher(&other_key).open(&other).expect("intact");
    let (expected, found) = (hasher.seed(), other_key.seed());
    assert_eq!(a.union(&other, 0), Err(CombineError::Entries(DecodeError::WrongKey { expected, found })));
}
