//! The vectors of format/level-1.md: each is the library's, and of the blocks that its page reads.

use crate::assembled::{Header, Shape, raw_block, repair};
use crate::material::hex;
use crate::oracle::mix;
use crate::spec::{compare, entry};
use filterblock::{DecodeError, FilterBlock, KeyHasher, OpenOptions};

const CONTEXT: u64 = 0x1234;
const KEYS: [&[u8]; 8] = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b""];

/// The blocks: their names, contexts and bytes.
fn blocks() -> [(&'static str, u64, Vec<u8>); 4] {
    let of = |shape: Shape, header: &Header| {
        let hashes = [b"a", b"b", b"c"].map(|key| header.hasher.hash(key).get());
        shape.block(header, &hashes.into())
    };
    let blocked = Shape::Blocked { num_probes: 8, salt_bits: 3, num_lines: 1 };
    let ribbon = Shape::Ribbon { columns: 2, wide_share: 1 << 31, millislots: 995 };
    let seeded = Header { hasher: KeyHasher::new(7), context: CONTEXT, ..Header::default() };
    // Words of any bits, a threshold of 96, and a set_seed: no writer's, so that each step has an effect on answers.
    let words = (0..32).map(|i| (mix(i / 8 + 1) >> (8 * (i % 8))) as u8);
    let layers: Vec<u8> = words.chain([2, 2, 0, 0, 0, 2, 0, 0, 0]).chain([9, 0, 0, 0, 0, 0, 0, 0]).collect();
    let remapped = Header { features: 1 << 8, ..Header::default() };
    [
        ("none", 0, raw_block(2, &Header::default(), 0, [0; 12], &[])),
        ("blocked", 0, of(blocked, &Header::default())),
        ("ribbon", CONTEXT, of(ribbon, &seeded)),
        ("layers", 0, raw_block(4, &remapped, 9, [1, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0], &layers)),
    ]
}

fn open(block: &[u8], context: u64) -> Result<FilterBlock<Vec<u8>>, DecodeError> {
    OpenOptions::new().with_context(context).open_owned(block.to_vec())
}

#[test]
fn level_1_vectors() {
    let mut lines = Vec::new();
    for (len, seed) in [(0, 0), (1, 0), (8, 1), (16, 0), (17, 0), (128, 1), (240, 1), (241, 0), (1025, 1)] {
        lines.push(format!("hash {len} {seed:#x} {:#018x}", KeyHasher::new(seed).hash(&entry(len)).get()));
    }
    lines.push(format!("mix {CONTEXT:#x} {:#018x}", mix(CONTEXT)));
    let blocks = blocks();
    for (name, context, block) in &blocks {
        lines.push(format!("block {name} {context:#x} {}", hex(block)));
        let opened = open(block, *context).expect("a block");
        for key in KEYS.into_iter().take(if *name == "none" { 1 } else { KEYS.len() }) {
            let key_shown = if key.is_empty() { "-".into() } else { hex(key) };
            let answer = if opened.may_contain(key) { "maybe" } else { "no" };
            lines.push(format!("ask {name} {key_shown} {answer}"));
        }
    }
    let class = |block: &[u8], context| open(block, context).expect_err("refused").class().to_string();
    let named = |name: &str| blocks.iter().find(|block| block.0 == name).expect("a block");
    for (name, offset, byte) in [
        ("blocked", 8, 2),
        ("blocked", 13, 2),
        ("blocked", 13, 1),
        ("blocked", 24, 0),
        ("blocked", 32, 63),
        ("blocked", 40, 17),
        ("blocked", 42, 1),
        ("ribbon", 14, 1),
        ("ribbon", 42, 32),
        ("ribbon", 43, 2),
        ("layers", 96, 6),
    ] {
        let (_, context, block) = named(name);
        let mut changed = block.clone();
        changed[offset] = byte;
        repair(&mut changed, *context);
        lines.push(format!("change {name} {offset} {byte} {}", class(&changed, *context)));
    }
    let (name, context, block) = named("ribbon");
    for len in [63, block.len() - 1] {
        lines.push(format!("cut {name} {len} {}", class(&block[..len], *context)));
    }
    for offset in [0, 60, 64] {
        let mut flipped = block.clone();
        flipped[offset] ^= 1;
        lines.push(format!("flip {name} {offset} {}", class(&flipped, *context)));
    }
    compare("level-1", &lines);
}
