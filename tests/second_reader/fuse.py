"""Binary fuse filters [9] of format-spec.md: slots, answers, payloads.

A part of filterblock.py, under its rule: changed for format-spec.md, never for the library. Unlike the rest it was
written together with its section of the document, with the library's source at hand.
"""
from __future__ import annotations

from typing import Iterable, Optional

from kinds import Fuse, U64, Unwritable, mix


def seeded(p: Fuse, h: int) -> int:
    """x."""
    return mix(h ^ (p.seed * 0x9E3779B97F4A7C15 & U64)) if p.seed else h


def slots_of(p: Fuse, x: int) -> tuple[int, int, int, int]:
    """slot(0) to slot(3)."""
    length = 1 << p.log2_segment_len
    product = x * 0xD1342543DE82EF95
    offsets, start, mask = product >> 64 ^ product & U64, x * (p.num_segments * length) >> 64, length - 1
    return (start, start + length ^ offsets & mask, start + 2 * length ^ offsets >> 18 & mask,
            start + 3 * length ^ offsets >> 36 & mask)


def fingerprint_of(x: int) -> int:
    return (x * 0xA24BAED4963EE407 & U64) >> 32


class FuseReader:
    """Answers from a payload that `check_payload` has passed."""

    def __init__(self, p: Fuse, payload: bytes) -> None:
        self.p, self.payload, self.mask = p, payload, (1 << p.fingerprint_bits) - 1

    def content(self, slot: int) -> int:
        bit = slot * self.p.fingerprint_bits
        return int.from_bytes(self.payload[bit // 8:bit // 8 + 8], "little") >> bit % 8 & self.mask

    def has(self, h: int) -> bool:
        x = seeded(self.p, h)
        a, b, c, d = (self.content(slot) for slot in slots_of(self.p, x))
        return a ^ b ^ c ^ d == fingerprint_of(x) & self.mask


def take_away(p: Fuse, hashes: Iterable[int]) -> Optional[list[tuple[int, int]]]:
    """Step 1: each x with its own slot, in the order in which they are taken away; None if one remains."""
    xs = [seeded(p, h) for h in hashes]
    counts, sums = [0] * p.num_slots(), [0] * p.num_slots()
    for x in xs:
        for slot in slots_of(p, x):
            counts[slot] += 1
            sums[slot] ^= x
    taken, length = [], 1 << p.log2_segment_len
    for segment in range(p.num_segments + 3):
        listed = [slot for slot in range(segment * length, (segment + 1) * length) if counts[slot] == 1]
        for own in listed:  # which grows
            if counts[own] != 1:
                continue
            x = sums[own]
            taken.append((x, own))
            for slot in slots_of(p, x):
                counts[slot] -= 1
                sums[slot] ^= x
                if counts[slot] == 1:
                    listed.append(slot)
    return taken if len(taken) == len(xs) else None


def build_fuse(p: Fuse, hashes: set[int]) -> bytes:
    """The payload, for the given dimensions and seed."""
    taken = take_away(p, hashes)
    if taken is None:
        raise Unwritable("a hash remains")
    mask, contents = (1 << p.fingerprint_bits) - 1, [0] * p.num_slots()
    for x, own in reversed(taken):
        a, b, c, d = (contents[slot] for slot in slots_of(p, x))
        contents[own] = a ^ b ^ c ^ d ^ fingerprint_of(x) & mask
    text = "".join(format(content, f"0{p.fingerprint_bits}b") for content in reversed(contents))
    return int(text, 2).to_bytes(p.payload_len(), "little")
