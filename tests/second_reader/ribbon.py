"""Ribbon filters [8], format/ribbon.md: equations, answers, payloads.

A part of filterblock.py, under its rule: changed for format-spec.md, never for the library. Unlike the rest it was
written together with its section of the document, with the library's source at hand.
"""
from __future__ import annotations

import struct
from typing import Iterable

from kinds import Damaged, Ribbon, U64, Unwritable

LIMITS = [128, 116, 96, 0]
CUT = 1 << 17


def num_blocks_of(payload: bytes, num_layers: int) -> tuple[int, ...]:
    """The directory. Its numbers are checked later, with all that follows from them."""
    if not 1 <= num_layers <= 8:
        raise Damaged("range: num_layers")
    if len(payload) < 4 * num_layers:
        raise Damaged("range: length of the payload")
    return struct.unpack(f"<{num_layers}I", payload[len(payload) - 4 * num_layers:])


def equation(x: int, num_starts: int) -> tuple[int, int, int]:
    """Start, coefficients and fingerprint."""
    product = x * 0xD1342543DE82EF95
    return x * num_starts >> 64, (product >> 64 ^ product & U64) | 1, (x * 0xA24BAED4963EE407 & U64) >> 32


class RibbonReader:
    """Answers from a payload that `check_payload` has passed."""

    def __init__(self, p: Ribbon, payload: bytes) -> None:
        self.p, self.payload = p, payload
        self.solutions, self.thresholds, _ = p.layout()

    def words(self, layer: int, block: int) -> int:
        """Offset of a block's words in the payload."""
        return self.solutions[layer] + 8 * (block * self.p.columns + min(block, self.p.num_stored(layer)))

    def has(self, h: int) -> bool:
        p, x, last = self.p, h, len(self.p.num_blocks) - 1
        for layer in range(last + 1):
            x = p.enter(layer, x)
            start, coefficients, fingerprint = equation(x, p.num_starts(layer))
            if layer == last:
                break
            bucket = start // 128
            threshold = self.payload[self.thresholds[layer] + bucket // 4] >> bucket % 4 * 2 & 3
            if 127 - start % 128 < LIMITS[threshold]:
                break
        block, shift = divmod(start, 64)
        count = p.columns + (block < p.num_wide(layer))
        first = struct.unpack_from(f"<{count}Q", self.payload, self.words(layer, block))
        second = struct.unpack_from(f"<{count}Q", self.payload, self.words(layer, block + 1))
        window = coefficients << shift
        for k, (u, v) in enumerate(zip(first, second)):
            if ((u | v << 64) & window).bit_count() & 1 != fingerprint >> k & 1:
                return False
        return True


class Rows:
    """Kept equations, each under its first slot."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, int]] = {}

    def keep(self, equations: Iterable[tuple[int, int, int]]) -> bool:
        """Adds equations that are consistent with those kept, all or none."""
        added: list[int] = []
        for start, coefficients, fingerprint in equations:
            while coefficients:
                shift = (coefficients & -coefficients).bit_length() - 1
                start, coefficients = start + shift, coefficients >> shift
                if start not in self.rows:
                    self.rows[start] = coefficients, fingerprint
                    added.append(start)
                    break
                row, of_row = self.rows[start]
                coefficients, fingerprint = coefficients ^ row, fingerprint ^ of_row
            else:
                if fingerprint:
                    for slot in added:
                        del self.rows[slot]
                    return False
        return True

    def solution(self, num_slots: int, num_columns: int) -> list[int]:
        """For each column an integer whose bit i is that of slot i."""
        columns = [0] * num_columns
        for k in range(num_columns):
            # Bit j of `later` is the bit of slot i + 1 + j, for the next slot i; 64 of them suffice.
            bits, later = ["0"] * num_slots, 0
            for slot in range(num_slots - 1, -1, -1):
                coefficients, fingerprint = self.rows.get(slot, (0, 0))
                bit = (coefficients >> 1 & later).bit_count() + (fingerprint >> k) & 1
                later = (later << 1 | bit) & U64
                bits[num_slots - 1 - slot] = "1" if bit else "0"
            columns[k] = int("".join(bits), 2)
        return columns


def crosses_a_cut(start: int, num_starts: int) -> bool:
    following = start // CUT * CUT + CUT
    return following < num_starts and following < start + 64


def equations_of(p: Ribbon, layer: int, entering: Iterable[int]) -> list[tuple[int, tuple[int, int, int]]]:
    """Pairs of x and equation in a layer, for what x was before it."""
    out = []
    for x in entering:
        x = p.enter(layer, x)
        start, coefficients, fingerprint = equation(x, p.num_starts(layer))
        out.append((x, (start, coefficients, fingerprint & (1 << p.most_columns()) - 1)))
    return out


def fill(p: Ribbon, layer: int, entering: Iterable[int]) -> tuple[Rows, list[int], list[int]]:
    """What a layer that bumps keeps, its thresholds, and the bumped x."""
    rows, num_starts = Rows(), p.num_starts(layer)
    thresholds, bumped = [], []
    buckets: list[list[tuple[int, tuple[int, int, int]]]] = [[] for _ in range(p.num_buckets(layer))]
    for x, row in equations_of(p, layer, entering):
        buckets[row[0] // 128].append((x, row))
    for members in buckets:
        for threshold, limit in enumerate(LIMITS):
            chosen = [row for _, row in members if 127 - row[0] % 128 < limit]
            if not any(crosses_a_cut(row[0], num_starts) for row in chosen) and rows.keep(chosen):
                thresholds.append(threshold)
                bumped += [x for x, row in members if 127 - row[0] % 128 >= limit]
                break
    return rows, thresholds, bumped


def build_ribbon(p: Ribbon, hashes: set[int]) -> bytes:
    """The payload, for the given numbers of blocks and seed."""
    solutions, all_thresholds, last = [], [], len(p.num_blocks) - 1
    entering = list(hashes)
    for layer, num_blocks in enumerate(p.num_blocks):
        if layer == last:
            rows = Rows()
            if not rows.keep(row for _, row in equations_of(p, layer, entering)):
                raise Unwritable("the last layer's equations contradict each other")
        else:
            rows, thresholds, entering = fill(p, layer, entering)
            field = sum(threshold << 2 * bucket for bucket, threshold in enumerate(thresholds))
            all_thresholds.append(field.to_bytes((len(thresholds) + 3) // 4, "little"))
        columns = [bits.to_bytes(8 * num_blocks, "little")
                   for bits in rows.solution(64 * num_blocks, p.most_columns())]
        for block in range(num_blocks):
            stored = p.columns + (block < p.num_stored(layer))
            solutions += [column[8 * block:8 * block + 8] for column in columns[:stored]]
    directory = struct.pack(f"<{last + 1}I", *p.num_blocks)
    return b"".join(solutions) + b"".join(all_thresholds) + directory
