"""Tests of filterblock.py: `python3 -m unittest`, here. The golden files are in ../golden/v1, or in $GOLDEN."""
from __future__ import annotations

import json
import os
import random
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, Iterator, Optional

import filterblock as fb
import kinds
import fuse
import ribbon

GOLDEN = Path(os.environ.get("GOLDEN", Path(__file__).resolve().parent.parent / "golden" / "v1"))
SMALL = 220
SEEDLESS = fb.Hasher.xxh3_with(0)


def golden(frame: str) -> Iterator[tuple[dict[str, Any], bytes, fb.Hasher]]:
    for item in json.loads((GOLDEN / "index.json").read_text()):
        if item["frame"] == frame:
            key = item["hash_key"]
            hasher = fb.Hasher.siphash_with(bytes.fromhex(key)) if key else fb.Hasher.xxh3_with(int(item["seed"], 16))
            yield item, (GOLDEN / item["file"]).read_bytes(), hasher


def outcome(frame: str, data: bytes, context: int = 0, hasher: Optional[fb.Hasher] = None) -> str:
    """Opens, asks and rebuilds; any exception that is not the module's own passes through."""
    try:
        f = fb.open_block(data, context, hasher) if frame == "block" else fb.open_compact(data, hasher or SEEDLESS)
    except (fb.Damaged, fb.Newer, fb.Mismatch) as e:
        return type(e).__name__
    for h in (0, 1, 1 << 63, fb.U64, 0x0123456789ABCDEF):
        f.maybe_hash(h)
    try:
        fb.rebuild(f, [1, 1 << 40, 1 << 63, fb.U64])
    except fb.Unwritable:
        pass
    return "ok"


def repaired(data: bytes, context: int = 0) -> bytes:
    """The block with right checksums."""
    m, body = fb.mix(context), data[64:]
    head = data[:52] + (fb.xxh3(body) ^ m).to_bytes(8, "little")
    return head + (fb.masked_crc(head) ^ m & fb.U32).to_bytes(4, "little") + body


def literal_values(p: fb.Golomb, payload: bytes, b: int) -> Optional[set[int]]:
    """The pseudocode of section 7, line by line, on one long integer of bits."""
    two64 = 2**64
    B, d, r = p.num_buckets, p.directory_bits, p.remainder_bits
    anchors_len = 0 if B == 1 else 8 * (-(-B // 64) - 1)
    directory_len = 0 if B == 1 else -(-B * d // 8)
    directory = int.from_bytes(payload[anchors_len:anchors_len + directory_len], "little")
    code_bytes = payload[anchors_len + directory_len:]
    codes, C = int.from_bytes(code_bytes, "little"), 8 * len(code_bytes)
    slope = 256 * C // B % two64

    def start(b: int) -> int:
        if b == B:
            return C
        if B == 1:
            return 0
        anchor = 0 if b < 64 else int.from_bytes(payload[8 * (b // 64 - 1):8 * (b // 64)], "little")
        bias = 0 if d == 0 else 2 ** (d - 1)
        return (anchor + (slope * (b % 64) % two64 >> 8) + (directory >> (b * d)) % 2**d - bias) % two64

    s, e = start(b), start(b + 1)
    if s > e or e > C:
        return None
    unary, remainders, following, found = s, e, 0, set()
    while True:
        remainders -= r
        if remainders < 0:
            return found
        one = next((i for i in range(unary, remainders) if codes >> i & 1), None)
        if one is None:
            return found
        gap = (((one - unary) << r) + (codes >> remainders) % 2**r) % two64
        found.add((following + gap) % two64)
        following, unary = (following + gap + 1) % two64, one + 1


def literal_ribbon(p: fb.Ribbon, payload: bytes, h: int) -> bool:
    """The pseudocode of section 8, line by line."""
    c, L, x = p.columns, len(p.num_blocks), h
    word_at, byte_at = 0, 8 * sum(p.num_words(i) for i in range(L))
    for i, N in enumerate(p.num_blocks):
        S = 64 * (N - 1)
        num_wide = ((N - 1) * p.wide_share + 2**32 - 1) // 2**32
        num_stored = 0 if num_wide == 0 else num_wide + 1
        stored = [c + 1 if b < num_stored else c for b in range(N)]
        steps = (1 if i > 0 else 0) + (p.last_seed if i == L - 1 else 0)
        if steps > 0:
            x = fb.mix(x ^ steps * 0x9E3779B97F4A7C15 % 2**64)
        start = x * S >> 64
        bit = 8 * byte_at + 2 * (start // 128)
        threshold = (int.from_bytes(payload, "little") >> bit) % 4
        if i == L - 1 or 127 - start % 128 < [128, 116, 96, 0][threshold]:
            break
        word_at += sum(stored)
        byte_at += -(-(-(-S // 128)) // 4)
    product = x * 0xD1342543DE82EF95
    coefficients = ((product >> 64) ^ (product % 2**64)) | 1
    fingerprint = x * 0xA24BAED4963EE407 % 2**64 >> 32
    b, s = start // 64, start % 64
    for k in range(c + 1 if b < num_wide else c):
        at = 8 * (word_at + sum(stored[:b]) + k)
        u = int.from_bytes(payload[at:at + 8], "little")
        at = 8 * (word_at + sum(stored[:b + 1]) + k)
        v = int.from_bytes(payload[at:at + 8], "little")
        w = (u & (coefficients << s) % 2**64) ^ (v & (coefficients >> 64 - s if s else 0))
        if bin(w).count("1") % 2 != (fingerprint >> k) % 2:
            return False
    return True


def literal_fuse(p: fb.Fuse, payload: bytes, h: int) -> bool:
    """The pseudocode of section 9, line by line."""
    f, L, S = p.fingerprint_bits, 2**p.log2_segment_len, p.num_segments
    x = h if p.seed == 0 else fb.mix(h ^ p.seed * 0x9E3779B97F4A7C15 % 2**64)
    start = x * (S * L) // 2**64
    product = x * 0xD1342543DE82EF95
    offsets = (product >> 64) ^ (product % 2**64)
    slots = [start] + [(start + k * L) ^ ((offsets >> 18 * (k - 1)) & (L - 1)) for k in (1, 2, 3)]
    fingerprint = x * 0xA24BAED4963EE407 % 2**64 >> 32
    total = 0
    for slot in slots:
        total ^= (int.from_bytes(payload, "little") >> slot * f) % 2**f
    return total == fingerprint % 2**f


def literal_blocked(p: fb.Blocked, hashes: set[int]) -> bytes:
    """The text of section 6, line by line."""
    R, words = 64 - p.salt_bits, []
    for line in range(p.num_lines):
        inside = [h for h in hashes if h * p.num_lines >> 64 == line]
        for w in range(8):
            best: Optional[tuple[int, int, set[int]]] = None
            for salt in range(2**p.salt_bits):
                mult, positions = (kinds.MULTS[w] + salt * 0xD1B54A32) % 2**32, set()
                for h in inside:
                    x1, x2 = h % 2**32, h * 0xD1342543DE82EF95 % 2**64 >> 32
                    first = x1 * 0x8CB92BA7 % 2**32 >> 29
                    n1 = min(p.num_probes, 8)
                    if (w - first) % 8 < n1:
                        positions.add(x1 * mult % 2**32 * R >> 32)
                    if (w - first) % 8 < p.num_probes - n1:
                        positions.add(x2 * mult % 2**32 * R >> 32)
                if best is None or len(positions) < best[0]:
                    best = len(positions), salt, positions
            assert best is not None
            words.append(best[1] << R | sum(1 << position for position in best[2]))
    return b"".join(word.to_bytes(8, "little") for word in words)


def random_params(rng: random.Random, kind: int, hashes: set[int]) -> fb.Params:
    n = len(hashes)
    if kind == fb.BLOOM:
        return fb.Bloom(rng.randint(1, 64), rng.randint(1, 12 * n + 8))
    if kind == fb.BLOCKED:
        return fb.Blocked(rng.randint(1, 16), rng.randint(0, 6), rng.randint(1, 1 + n // 20))
    if kind == fb.RIBBON:
        columns = rng.randint(1, 32)
        share = 0 if columns == 32 else rng.choice([0, 0, 1, rng.randrange(2**32), fb.U32])
        p = ribbon.choose_layers(columns, share, rng.randint(950, 1200), hashes)
        most = p.most_columns()
        if most == 1 or rng.random() < 0.7:
            return p
        return fb.Ribbon(rng.randint(1, most - 1), 0, p.last_seed, p.num_blocks, most)
    if kind == fb.FUSE:
        log2_segment_len = rng.randint(0, 8)
        least = -(-(2 * n + 30) // 2**log2_segment_len)
        # With more slots where segments are short: two hashes must not share all four.
        num_segments = least * rng.randint(1, 4) + (n * n if log2_segment_len < 4 else 0)
        return fuse.choose_seed(rng.randint(1, 32), log2_segment_len, num_segments, hashes)
    r = rng.choice([0, 1, 3, 8, 20, 48])
    per_bucket = rng.choice([1, 2, 7, 64, 255])
    most = fb.U64 // max(1, -(-n // per_bucket))
    return fb.Golomb(r, max(1, min(most, (per_bucket << r) * rng.choice([1, 2, 5]))), 0, 0, per_bucket)


class Golden(unittest.TestCase):
    def test_damage_of_every_byte(self) -> None:
        for item, data, hasher in golden("block"):
            if len(data) > SMALL:
                continue
            context = int(item["context"], 16)
            for i in range(len(data)):
                for flip in (1, 0x80, 0xFF):
                    bad = data[:i] + bytes([data[i] ^ flip]) + data[i + 1:]
                    self.assertEqual(outcome("block", bad, context, hasher), "Damaged", (item["file"], i, flip))

    def test_truncated_and_longer(self) -> None:
        for item, data, hasher in golden("block"):
            if len(data) > SMALL:
                continue
            context = int(item["context"], 16)
            for bad in [data[:n] for n in range(len(data))] + [data + b"\0", b"\0" + data, data + data]:
                self.assertEqual(outcome("block", bad, context, hasher), "Damaged", item["file"])

    def test_compact_frames_hold_no_checksum(self) -> None:
        """Damage may pass (section 10); it must not raise anything else."""
        for item, data, hasher in golden("compact"):
            if len(data) > SMALL:
                continue
            for i in range(len(data)):
                for flip in (1, 0x10, 0x80, 0xFF):
                    outcome("compact", data[:i] + bytes([data[i] ^ flip]) + data[i + 1:], 0, hasher)
                outcome("compact", data[:i], 0, hasher)
            self.assertEqual(outcome("compact", b""), "Damaged")

    def test_wrong_context_is_told(self) -> None:
        for item, data, hasher in golden("block"):
            context = int(item["context"], 16)
            with self.assertRaises(fb.Mismatch) as caught:
                fb.open_block(data, context ^ 0x5000000000000001, hasher)
            self.assertEqual(caught.exception.found_context, context)
            bad = bytearray(data)
            bad[20] ^= 1
            self.assertEqual(outcome("block", bytes(bad), context ^ 1, hasher), "Damaged")

    def test_other_hash_or_transform(self) -> None:
        for item, data, hasher in golden("block"):
            context = int(item["context"], 16)
            for other in (fb.Hasher.xxh3_with(hasher.seed ^ 1), fb.Hasher.siphash_with(bytes(16))):
                self.assertEqual(outcome("block", data, context, other), "Mismatch")
            with self.assertRaises(fb.Mismatch):
                fb.open_block(data, context, hasher, (item["transform_id"], item["transform_param"] + 1))


class Checks(unittest.TestCase):
    """Rows of section 11, each alone, in blocks with right checksums."""

    def changed(self, block: bytes, **at: int) -> str:
        bad = bytearray(block)
        for name, value in at.items():
            bad[int(name[1:])] = value
        return outcome("block", repaired(bytes(bad)))

    def test_rows(self) -> None:
        hashes = [SEEDLESS.hash(bytes([i])) for i in range(3)]
        bloom = fb.write_block(fb.BLOOM, fb.Bloom(5, 21), hashes, SEEDLESS)
        blocked = fb.write_block(fb.BLOCKED, fb.Blocked(9, 3, 1), hashes, SEEDLESS)
        golomb = fb.write_block(fb.GOLOMB, fb.Golomb(3, 100, 0, 0, 1), hashes, SEEDLESS)
        three = fb.write_block(fb.RIBBON, fb.Ribbon(5, 0, 0, (2,)), hashes, SEEDLESS)
        four = fb.write_block(fb.FUSE, fb.Fuse(5, 2, 0, 2), hashes, SEEDLESS)
        none = fb.write_block(fb.GOLOMB, None, [], SEEDLESS)
        for block in (bloom, blocked, golomb, three, four, none):
            self.assertEqual(outcome("block", block), "ok")
            for wanted, changes in [
                ("Damaged", {"_8": 0}), ("Newer", {"_8": 2}), ("Newer", {"_9": 0}), ("Newer", {"_9": 6}),
                ("Newer", {"_10": 0}), ("Mismatch", {"_10": 2}), ("Newer", {"_10": 3}), ("Newer", {"_11": 5}),
                ("Newer", {"_11": 127}), ("ok", {"_11": 128}), ("ok", {"_11": 255, "_14": 9}),
                ("ok", {"_11": 3, "_14": 9}), ("Newer", {"_11": 2, "_15": 9}), ("ok", {"_12": 0xFE}),
                ("Newer", {"_13": 1}), ("Newer", {"_13": 0x80}), ("Damaged", {"_32": 99}), ("Damaged", {"_39": 1}),
            ]:
                self.assertEqual(self.changed(block, **changes), wanted, changes)
        for block, wanted, changes in [
            (bloom, "ok", {"_12": 1}), (none, "Damaged", {"_12": 1}), (blocked, "Damaged", {"_12": 1}),
            (golomb, "Damaged", {"_12": 1}), (none, "Newer", {"_51": 1}), (none, "Newer", {"_40": 1}), (none, "Damaged", {"_24": 1}),
            (bloom, "Damaged", {"_24": 0}), (bloom, "Newer", {"_43": 1}), (bloom, "Damaged", {"_40": 0}),
            (bloom, "Damaged", {"_40": 65}), (bloom, "ok", {"_40": 64}), (bloom, "Damaged", {"_66": 0x20}),
            (bloom, "Damaged", {"_51": 1}), (bloom, "Damaged", {"_44": 25}), (blocked, "Newer", {"_42": 1}),
            (blocked, "Newer", {"_51": 1}), (blocked, "Damaged", {"_40": 17}), (blocked, "Damaged", {"_40": 0}),
            (blocked, "Damaged", {"_41": 7}), (golomb, "Newer", {"_43": 1}), (golomb, "Damaged", {"_40": 49}),
            (golomb, "Damaged", {"_41": 58}), (golomb, "Damaged", {"_42": 0}), (golomb, "Damaged", {"_51": 0xFF}),
            (golomb, "Damaged", {"_44": 0}), (golomb, "Damaged", {"_31": 0xFF}), (three, "Damaged", {"_12": 1}),
            (three, "ok", {"_24": 9}), (three, "Damaged", {"_43": 5}), (three, "Newer", {"_48": 1}),
            (three, "ok", {"_43": 6}), (three, "ok", {"_43": 32}), (three, "Damaged", {"_43": 33}),
            (three, "Damaged", {"_43": 6, "_44": 1}),
            (three, "Newer", {"_51": 1}), (three, "Damaged", {"_40": 0}), (three, "Damaged", {"_40": 33}),
            (three, "Damaged", {"_40": 4}), (three, "Damaged", {"_41": 0}), (three, "Damaged", {"_41": 2}),
            (three, "Damaged", {"_41": 9}), (three, "ok", {"_42": 31}), (three, "Damaged", {"_42": 32}),
            (three, "Damaged", {"_44": 1}), (three, "Damaged", {"_144": 1}), (three, "Damaged", {"_147": 1}),
            (four, "Damaged", {"_12": 1}), (four, "ok", {"_24": 9}), (four, "Newer", {"_43": 1}),
            (four, "Newer", {"_48": 1}), (four, "Newer", {"_51": 1}), (four, "Damaged", {"_40": 0}),
            (four, "Damaged", {"_40": 33}), (four, "Damaged", {"_40": 4}), (four, "Damaged", {"_41": 1}),
            (four, "Damaged", {"_41": 19}), (four, "ok", {"_42": 63}), (four, "Damaged", {"_42": 64}),
            (four, "Damaged", {"_44": 0}), (four, "Damaged", {"_47": 1}), (four, "Damaged", {"_76": 0x10}),
            (four, "Damaged", {"_82": 0x80}),
        ]:
            self.assertEqual(self.changed(block, **changes), wanted, (block.hex(), changes))
        self.assertEqual(outcome("block", repaired(blocked + b"\0")), "Damaged")

    def test_compact_rows(self) -> None:
        for wanted, text in [
            ("Damaged", ""), ("ok", "10"), ("Damaged", "0010"), ("Damaged", "00"), ("Damaged", "01"), ("Newer", "20"),
            ("Damaged", "ff"), ("Newer", "ef"), ("Newer", "16"), ("Newer", "001f"), ("Damaged", "11"), ("Damaged", "0711"),
            ("ok", "000711"), ("Damaged", "000011"), ("Damaged", "004111"), ("Damaged", "12"), ("Damaged", "0012"),
            ("ok", "00" * 64 + "f612"), ("Damaged", "00" * 64 + "f712"), ("Damaged", "00" * 63 + "f012"),
            ("Damaged", "13"), ("ok", "02500175010800" + "1213"), ("Damaged", "0250" + "017501" + "3100" + "1213"),
            ("Damaged", "0250" + "017500" + "0800" + "1213"), ("Damaged", "0250" + "007501" + "0800" + "1213"),
            ("Damaged", "0250" + "7501" + "0800" + "0213"), ("Damaged", "0250" + "01" + "0800" + "1013"),
            ("Damaged", "017501" + "0800" + "1213"), ("Damaged", "0250" + "01" * 17 + "0800" + "9813"),
            ("Damaged", "14"), ("ok", "00" * 16 + "02000000" + "00011014"),
            ("ok", "00" * 16 + "02000000" + "0200011f14"), ("Damaged", "00" * 16 + "02000000" + "0100011f14"),
            ("Damaged", "00" * 16 + "02000000" + "0000011f14"), ("Damaged", "00011f14"),
            ("Damaged", "00" * 16 + "02000000" + "20011014"),
            ("Damaged", "00" * 16 + "02000000" + "0000" + "011114"), ("ok", "00" * 32 + "02000000" + "01" + "00011114"),
            ("Damaged", "00" * 32 + "02000000" + "0100000001" + "00011514"), ("Damaged", "00" * 40 + "00011914"),
            ("Damaged", "15"), ("ok", "00" * 8 + "01000101" + "15"), ("Damaged", "00" * 8 + "01000100" + "15"),
            ("Damaged", "00" * 8 + "0100000102" + "15"), ("Damaged", "00" * 8 + "01400101" + "15"),
            ("Damaged", "00" * 8 + "01000199" + "15"), ("Damaged", "00" * 7 + "8001000101" + "15"),
            ("Damaged", "00" * 8 + "0000000001000105" + "15"),
        ]:
            self.assertEqual(outcome("compact", bytes.fromhex(text)), wanted, text)


class Writer(unittest.TestCase):
    def test_round_trips(self) -> None:
        rng = random.Random(1)
        for trial in range(200):
            kind, n = rng.choice([1, 2, 3, 4, 5]), rng.choice([1, 2, 3, 20, 70, 300])
            hasher = rng.choice([SEEDLESS, fb.Hasher.xxh3_with(trial), fb.Hasher.siphash_with(rng.randbytes(16))])
            hashes = {hasher.hash(rng.randbytes(rng.randint(0, 20))) for _ in range(n)}
            p, context = random_params(rng, kind, hashes), rng.getrandbits(64)
            block = fb.write_block(kind, p, hashes, hasher, context, (rng.choice([0, 1, 2, 128]), 0))
            f = fb.open_block(block, context, hasher)
            self.assertTrue(all(f.maybe_hash(h) for h in hashes))
            self.assertEqual(fb.rebuild(f, hashes), block)
            if kind == fb.BLOCKED:
                self.assertEqual(f.payload, literal_blocked(p, hashes))
            if not (kind == fb.BLOOM and p.num_bits % 8):
                g = fb.open_compact(fb.write_compact(f.params if kind != fb.GOLOMB else
                                                     replace(f.params, entries_per_bucket=None), hashes), hasher)
                self.assertEqual(g.payload, f.payload)
                self.assertTrue(all(g.maybe_hash(h) for h in hashes))
            if isinstance(f.params, fb.Ribbon):
                for h in [*hashes, *(rng.getrandbits(64) for _ in range(20))]:
                    self.assertEqual(f.maybe_hash(h), literal_ribbon(f.params, f.payload, h))
            if isinstance(f.params, fb.Fuse):
                for h in [*hashes, *(rng.getrandbits(64) for _ in range(20))]:
                    self.assertEqual(f.maybe_hash(h), literal_fuse(f.params, f.payload, h))
            if isinstance(f.params, fb.Golomb):
                exact = {kinds.golomb_place(h, f.params.num_buckets, f.params.bucket_range) for h in hashes}
                decoded = {(b, v) for b in range(f.params.num_buckets)
                           for v in literal_values(f.params, f.payload, b) or ()}
                self.assertEqual(decoded, exact)

    def test_unwritable(self) -> None:
        for call in (lambda: fb.write_compact(fb.Bloom(3, 9), [1]), lambda: fb.write_compact(None, [1]),
                     lambda: fb.write_compact(fb.Golomb(0, 1 << 62, 1), [1 << 63]),
                     lambda: fb.write_compact(fb.Bloom(3, 1 << 56), [1]),
                     lambda: fb.write_block(fb.GOLOMB, fb.Golomb(0, 9, 1), [1], SEEDLESS),
                     lambda: fb.write_block(fb.RIBBON, fb.Ribbon(8, 0, 0, (2,)), range(100), SEEDLESS),
                     lambda: fb.write_block(fb.RIBBON, fb.Ribbon(32, 1, 0, (2,)), [1], SEEDLESS),
                     lambda: fb.write_block(fb.RIBBON, fb.Ribbon(8, 0, 0, (2,), 8), [1], SEEDLESS),
                     lambda: fb.write_block(fb.RIBBON, fb.Ribbon(8, 1, 0, (2,), 9), [1], SEEDLESS),
                     lambda: fb.write_block(fb.FUSE, fb.Fuse(8, 2, 0, 2), range(100), SEEDLESS),
                     lambda: fb.write_block(fb.FUSE, fb.Fuse(8, 19, 0, 2), [1], SEEDLESS),
                     lambda: fb.write_block(fb.GOLOMB, None, [], SEEDLESS, estimate=1)):
            with self.assertRaises(fb.Unwritable):
                call()


class Hostile(unittest.TestCase):
    def test_random_bytes(self) -> None:
        rng = random.Random(2)
        for _ in range(3000):
            data = rng.randbytes(rng.randint(0, 150))
            outcome("block", data)
            outcome("block", fb.MAGIC + data)
            outcome("compact", data + bytes([rng.choice([0x11, 0x12, 0x13, 0x14])]))

    def test_random_headers_and_payloads(self) -> None:
        """Right checksums over fields drawn from edges."""
        rng, counts = random.Random(3), {"ok": 0, "Damaged": 0, "Newer": 0, "Mismatch": 0}
        edges = [0, 1, 2, 63, 64, 65, 2**32, 2**56, 2**63, fb.U64]
        for _ in range(6000):
            kind, payload = rng.choice([1, 2, 3, 3, 4]), rng.randbytes(rng.choice([0, 1, 5, 64, 100, 128]))
            a, b = rng.choice([0, 1, 7, 16, 48, 64]), rng.choice([0, 0, 1, 6, 57])
            params = {1: bytes([a, 0, 0, 0]) + rng.choice([8 * len(payload), *edges]).to_bytes(8, "little"),
                      2: bytes([a, b]) + bytes(10),
                      3: bytes([a, b, rng.choice([0, 1, 64, 255]), 0]) + rng.choice(edges).to_bytes(8, "little"),
                      4: bytes([a, min(b, 2), rng.choice([0, 31, 32]), 0])
                      + rng.choice(edges).to_bytes(8, "little")}[kind]
            if kind == 4:
                payload += b"\2\0\0\0" * min(b, 2)
            n = rng.choice(edges + [3, 9, 100])
            head = fb.HEADER.pack(fb.MAGIC, 1, kind, 1, 0, 0, 0, 0, n, len(payload), params, 0, 0)
            counts[outcome("block", repaired(head + payload))] += 1
        self.assertTrue(counts["ok"] > 300 and counts["Damaged"] > 300, counts)

    def test_hostile_golomb_payloads(self) -> None:
        """The reader decodes any payload as the pseudocode does."""
        rng, readable = random.Random(4), 0
        for _ in range(1500):
            buckets = rng.choice([1, 1, 2, 3, 65, 130])
            p = fb.Golomb(rng.choice([0, 1, 5, 20, 48]), rng.choice([1, 50, 2**50]), buckets,
                          rng.choice([0, 1, 3, 6, 57]))
            anchors, codes = p.layout()
            payload = bytearray(rng.randbytes(codes + rng.randint(1, 40)))
            for i in range(7, anchors, 8):  # anchors that may lie inside
                payload[i - 7:i + 1] = rng.choice([0, rng.randrange(300), fb.U64]).to_bytes(8, "little")
            reader = fb.GolombReader(p, bytes(payload))
            for b in range(buckets):
                got = reader.values(b)
                readable += got is not None
                self.assertEqual(got, literal_values(p, bytes(payload), b))
        self.assertGreater(readable, 1000)

    def test_thinned_ribbon(self) -> None:
        """The filter that is written of fewer columns is a copy of them, by its definition in section 8."""
        rng = random.Random(6)
        for count in [1, 30, 300]:
            hashes = {rng.getrandbits(64) for _ in range(count)}
            p = ribbon.choose_layers(5, rng.choice([0, 1 << 31]), 995, hashes)
            whole = ribbon.build_ribbon(p, hashes)
            solution, columns = whole[:p.layout()[0][0]], rng.randint(1, p.most_columns() - 1)
            for layer, num_blocks in enumerate(p.num_blocks):
                for block in range(num_blocks):
                    at = p.layout()[0][layer] + 8 * (block * p.columns + min(block, p.num_stored(layer)))
                    solution += whole[at:at + 8 * columns]
            thinned = fb.Ribbon(columns, 0, p.last_seed, p.num_blocks, p.most_columns())
            rest = whole[(p.layout()[1] or [p.layout()[2]])[0]:]
            self.assertEqual(ribbon.build_ribbon(thinned, hashes), solution + rest)
            self.assertTrue(all(fb.RibbonReader(thinned, solution + rest).has(h) for h in hashes))

    def test_hostile_ribbon_payloads(self) -> None:
        """The reader answers from any payload as the pseudocode does."""
        rng, answers = random.Random(5), [0, 0]
        for _ in range(300):
            num_blocks = tuple(rng.randint(2, 12) for _ in range(rng.randint(1, 8)))
            columns = rng.choice([1, 1, 2, 5, 31])
            p = fb.Ribbon(columns, rng.choice([0, 1, rng.randrange(2**32), fb.U32]), rng.randint(0, 31), num_blocks)
            payload = rng.randbytes(p.layout()[2])
            reader = fb.RibbonReader(p, payload)
            for h in [0, fb.U64, 1 << 63, *(rng.getrandbits(64) for _ in range(30))]:
                got = reader.has(h)
                answers[got] += 1
                self.assertEqual(got, literal_ribbon(p, payload, h))
        self.assertGreater(min(answers), 500)

    def test_hostile_fuse_payloads(self) -> None:
        """The reader answers from any payload as the pseudocode does."""
        rng, answers = random.Random(6), [0, 0]
        for _ in range(300):
            p = fb.Fuse(rng.choice([1, 1, 2, 5, 9, 32]), rng.randint(0, 6), rng.randint(0, 63), rng.randint(1, 40))
            payload = rng.randbytes(p.payload_len())
            reader = fb.FuseReader(p, payload)
            for h in [0, fb.U64, 1 << 63, *(rng.getrandbits(64) for _ in range(30))]:
                got = reader.has(h)
                answers[got] += 1
                self.assertEqual(got, literal_fuse(p, payload, h))
        self.assertGreater(min(answers), 500)


if __name__ == "__main__":
    unittest.main()
