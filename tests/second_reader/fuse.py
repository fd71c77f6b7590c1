"""Binary fuse filters [9], format/fuse.md: slots, answers, payloads.

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


def take_away(p: Fuse, hashes: Iterable[int]) -> Optional[tuple[list[tuple[int, int]], list[int]]]:
    """Step 1: each x with its own slot, in the order in which they are taken away, and each x that is set aside; None
    if a slot has too many."""
    xs = sorted(seeded(p, h) for h in hashes)
    counts, sums, owned = [0] * p.num_slots(), [0] * p.num_slots(), set()
    for x in xs:
        for slot in slots_of(p, x):
            counts[slot] += 1
            sums[slot] ^= x
    if max(counts) > 254:
        return None
    taken, aside, length = [], [], 1 << p.log2_segment_len

    def leave(x: int) -> list[int]:
        alone = []
        for slot in slots_of(p, x):
            counts[slot] -= 1
            sums[slot] ^= x
            if counts[slot] == 1:
                alone.append(slot)
        return alone

    def go_through(listed: list[int]) -> None:
        for own in listed:  # which grows
            if counts[own] == 1:
                x = sums[own]
                taken.append((x, own))
                owned.add(own)
                listed += leave(x)

    for segment in range(p.num_segments + 3):
        go_through([slot for slot in range(segment * length, (segment + 1) * length) if counts[slot] == 1])
    for x in xs:
        if owned.isdisjoint(slots_of(p, x)):
            aside.append(x)
            go_through(leave(x))
    return taken, aside


def unknowns_of(equations: list[int], num_unknowns: int) -> list[int]:
    """Step 3: of each equation, bit 32 + j is the coefficient of unknown j, and the lower 32 bits are the constant."""
    unknowns, solved = [0] * num_unknowns, 0
    for bit in range(32, 32 + num_unknowns):
        found = [i for i in range(solved, len(equations)) if equations[i] >> bit & 1]
        if found:
            pivot = equations.pop(found[0])
            equations = [equation ^ pivot if equation >> bit & 1 else equation for equation in equations]
            equations.insert(solved, pivot)
            solved += 1
    if solved < len(equations):
        raise Unwritable("equations that have no solution")
    for equation in equations:
        coefficients = equation >> 32
        unknowns[(coefficients & -coefficients).bit_length() - 1] = equation & 0xFFFFFFFF
    return unknowns


def build_fuse(p: Fuse, hashes: set[int]) -> bytes:
    """The payload, for the given dimensions and seed."""
    found = take_away(p, hashes)
    if found is None or len(found[1]) > 216:
        raise Unwritable("a slot with too many hashes, or too many set aside")
    taken, aside = found
    mask, contents, owned = (1 << p.fingerprint_bits) - 1, [0] * p.num_slots(), {own for _, own in taken}

    def fill() -> None:
        for x, own in reversed(taken):
            contents[own] = 0
            contents[own] = sum_of(x)

    def sum_of(x: int) -> int:
        a, b, c, d = (contents[slot] for slot in slots_of(p, x))
        return a ^ b ^ c ^ d ^ fingerprint_of(x)

    if aside:
        num_unknowns = 96 if len(aside) <= 88 else 224
        free = [slot for slot in range(p.num_slots()) if slot not in owned]
        for i, slot in enumerate(free):
            contents[slot] = 1 << 32 + i % num_unknowns
        fill()
        unknowns = unknowns_of([sum_of(x) for x in aside], num_unknowns)
        for i, slot in enumerate(free):
            contents[slot] = unknowns[i % num_unknowns]
    fill()
    text = "".join(format(content & mask, f"0{p.fingerprint_bits}b") for content in reversed(contents))
    return int(text, 2).to_bytes(p.payload_len(), "little")
