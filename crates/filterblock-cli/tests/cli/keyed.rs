//! Blocks hashed under a secret key.

use crate::*;

const HEX: &str = "000102030405060708090a0b0c0d0e0f\n";

#[test]
fn the_block_never_contains_the_hash_key() {
    let place = Place::new();
    place.write("keys.txt", lines("key", 1000));
    place.write("secret", HEX);
    place.write("raw", (0..16).collect::<Vec<u8>>());
    for kind in crate::KINDS {
        place.expect(0, &format!("build --kind {kind} --hash-key-file secret --output a.fb keys.txt"));
        place.expect(0, &format!("build --kind {kind} --hash-key-file raw --output b.fb keys.txt"));
        assert!(place.read("a.fb") == place.read("b.fb"), "both notations are the same key");
        place.expect(0, "query a.fb --hash-key-file raw key-7");
        place.expect(1, "query a.fb --hash-key-file raw nobody-has-this");
        place.expect(0, "verify a.fb --hash-key-file raw --keys keys.txt");
        let shown = place.json(0, "inspect a.fb --hash-key-file raw --json");
        assert_eq!((&shown["hash"], &shown["hash_key_id"]), (&"siphash-1-3".into(), &"0x26fcfdd03ca2c5ba".into()));
        for question in ["query a.fb key-7", "inspect a.fb"] {
            let message = place.expect_failure(3, question);
            assert!(message.contains("secret key 0x26fcfdd03ca2c5ba, which was not given"), "{message}");
            assert!(message.contains("`filterblock inspect --hash-key-file KEY a.fb`"), "{message}");
        }
        let message = stderr(&place.run("verify a.fb"));
        assert!(message.contains("which was not given"), "{message}");
    }
    place.expect(0, "build --kind bloom --output seeded.fb keys.txt");
    let message = place.expect_failure(3, "query seeded.fb --hash-key-file raw key-7");
    assert!(message.contains("hash function expected SipHash under a secret key, found XXH3 with a seed"), "{message}");
    assert!(message.contains("hashed without a secret key"), "{message}");
}
