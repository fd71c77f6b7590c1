"""Range filters of integers [16.8], format/ranges.md: reader and writer.

A part of ranges.py, under its rule: changed for format-spec.md, never for the library. The numbers between two bounds are
found by bisection over keys, where the document and the library have rules by the length of bounds.
"""
from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterable, Optional

import filterblock as fb
from kinds import Damaged, Golomb, GolombReader, Newer, U32, U64, Unwritable, check_payload, golomb_place

IS_INTEGERS = 4
PARAMS = struct.Struct("<BBBBBBHI")
MOST_BLOCKS, MOST_BITS = 33, 8 * 512  # bits for each r + 2


def least(end: int, holds: Callable[[int], bool]) -> int:
    """The least number below `end` for which something holds that holds for all above it, too; else `end`."""
    first = 0
    while first < end:
        middle = (first + end) // 2
        first, end = (first, middle) if holds(middle) else (middle + 1, end)
    return first


def are_ordered(lower: Any, upper: Any) -> bool:
    """Whether two bounds of ranges.py are in order [16]; those of a prefix are."""
    if lower.key is None or upper.key is None or upper.is_prefix:
        return True
    return lower.key < upper.key or lower.key == upper.key and not lower.is_excluded and not upper.is_excluded


def is_above(key: bytes, lower: Any) -> bool:
    return lower.key is None or key > lower.key or key == lower.key and not lower.is_excluded


def is_below(key: bytes, upper: Any) -> bool:
    return upper.key is None or key < upper.key or key == upper.key and not upper.is_excluded or (
        upper.is_prefix and key.startswith(upper.key))


@dataclass
class IntegerFilter:
    """An opened filter of at least one key."""
    num_entries: int
    context: int
    prefix: bytes
    width: int
    log_block: int
    ends: tuple[int, int]
    p: Golomb
    codes: bytes
    _values: dict[int, Optional[set[int]]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _reader: Optional[GolombReader] = field(default=None, init=False, repr=False, compare=False)

    @property
    def num_leaves(self) -> int:
        return self.num_entries

    def key(self, x: int) -> bytes:
        return self.prefix + x.to_bytes(self.width, "big")

    def reader(self) -> GolombReader:
        self._reader = self._reader or GolombReader(self.p, self.codes)
        return self._reader

    def values(self, bucket: int) -> Optional[set[int]]:
        if bucket not in self._values:
            self._values[bucket] = self.reader().values(bucket)
        return self._values[bucket]

    def bits(self, bucket: int) -> int:
        return self.reader().start(bucket + 1) - self.reader().start(bucket)

    def has(self, bucket: int, first: int, last: int) -> bool:
        values = self.values(bucket)
        return values is None or any(first <= value <= last for value in values)

    def code(self, x: int) -> tuple[int, int]:
        """Bucket and value of a number."""
        number = x >> self.log_block
        bucket, value = golomb_place(fb.xxh3(number.to_bytes(16, "little")), self.p.num_buckets, self.p.bucket_range)
        carry, value = divmod(value + x - (number << self.log_block), self.p.bucket_range)
        return (bucket + carry) % self.p.num_buckets, value

    def between(self, is_above: Callable[[bytes], bool], is_below: Callable[[bytes], bool]) -> bool:
        """The answer for the keys that are above a lower bound and below an upper one."""
        end = 1 << 8 * self.width
        x = least(end, lambda number: is_above(self.key(number)))
        y = least(end, lambda number: not is_below(self.key(number))) - 1
        if x > y or y < self.ends[0] or x > self.ends[1]:
            return False
        if x <= self.ends[0] or y >= self.ends[1]:
            return True
        blocks = range(x >> self.log_block, (y >> self.log_block) + 1)
        if blocks.stop - blocks.start > MOST_BLOCKS:
            return True
        pieces = [piece for number in blocks for piece in self.pieces(number, x, y)]
        is_unreadable = any(self.values(bucket) is None for bucket, _, _ in pieces)
        if is_unreadable or sum(self.bits(bucket) for bucket, _, _ in pieces) > MOST_BITS * (self.p.remainder_bits + 2):
            return True
        return any(self.has(*piece) for piece in pieces)

    def pieces(self, number: int, x: int, y: int) -> list[tuple[int, int, int]]:
        """The codes of a block's numbers from x to y: buckets with the first and the last value of each."""
        start = number << self.log_block
        first, last = max(x, start), min(y, start + (1 << self.log_block) - 1)
        (bucket, value), (last_bucket, last_value) = self.code(first), self.code(last)
        if bucket == last_bucket and value <= last_value:
            return [(bucket, value, last_value)]
        return [(bucket, value, self.p.bucket_range - 1), (last_bucket, 0, last_value)]

    def may_contain(self, lower: Any, upper: Any) -> bool:
        """The answer for a range between two bounds of ranges.py."""
        return not are_ordered(lower, upper) or self.between(
            lambda key: is_above(key, lower), lambda key: is_below(key, upper))

    def may_contain_prefix(self, prefix: bytes) -> bool:
        n = len(prefix)
        return n <= len(self.prefix) + self.width and self.between(
            lambda key: key[:n] >= prefix, lambda key: key[:n] <= prefix)

    def rebuild(self, keys: Iterable[bytes]) -> bytes:
        """The block that a writer makes of these keys with this filter's choices."""
        distinct = sorted(set(keys))
        prefix = os.path.commonprefix((distinct[0], distinct[-1]))
        if prefix != self.prefix or any(len(key) != len(prefix) + self.width for key in distinct):
            raise Unwritable("keys of another prefix or another length")
        numbers = [int.from_bytes(key[len(prefix):], "big") for key in distinct]
        return replace(self, ends=(numbers[0], numbers[-1])).write(len(distinct), set(map(self.code, numbers)))

    def write(self, num_entries: int, codes: set[tuple[int, int]]) -> bytes:
        """The block of these codes."""
        p, payload = build_codes(self.p, codes)
        params = PARAMS.pack(self.width, IS_INTEGERS, self.log_block, p.remainder_bits, p.directory_bits,
                             p.bucket_range >> 32, len(self.prefix), p.bucket_range & U32)
        payload = self.prefix + b"".join(end.to_bytes(self.width, "big") for end in self.ends) + payload
        m = fb.mix(self.context)
        head = fb.HEADER.pack(fb.MAGIC, 1, 6, 1, 0, 0, 0, 0, num_entries, len(payload), params,
                              fb.xxh3(payload) ^ m, 0)[:60]
        return head + (fb.masked_crc(head) ^ m & U32).to_bytes(4, "little") + payload


def open_integers(params: bytes, num_entries: int, context: int, payload: bytes) -> IntegerFilter:
    """The checks of the last rows of [11]."""
    width, flags, log_block, r, d, high, prefix_len, low = PARAMS.unpack(params)
    if flags != IS_INTEGERS:
        raise Newer("reserved")
    p = Golomb(r, high << 32 | low, -(-num_entries // 64), d, 64)
    if width > 16 or log_block > 39 or 1 << log_block > p.bucket_range:
        raise Damaged("range: params")
    codes_at = prefix_len + 2 * width
    check_payload(p, payload[codes_at:])
    ends = [int.from_bytes(payload[codes_at - size:][:width]) for size in (2 * width, width)]
    return IntegerFilter(num_entries, context, payload[:prefix_len], width, log_block, (ends[0], ends[1]), p,
                         payload[codes_at:])


def build_codes(p: Golomb, codes: set[tuple[int, int]]) -> tuple[Golomb, bytes]:
    """The payload of codes [7], and the parameters with the least `directory_bits`. Strings of bits, the lowest first."""
    r, count = p.remainder_bits, p.num_buckets
    buckets: list[list[int]] = [[] for _ in range(count)]
    for bucket, value in sorted(codes):
        buckets[bucket].append(value)
    starts, texts, position = [], [], 0
    for values in buckets:
        gaps = [v - u - 1 for u, v in zip([-1] + values, values)]
        unary = "".join("0" * (gap >> r) + "1" for gap in gaps)
        remainders = "".join(low_first(gap & (1 << r) - 1, r) for gap in reversed(gaps))
        starts.append(position)
        position += len(unary) + len(remainders)
        texts += [unary, remainders]
    texts.insert(-1, "0" * (-position % 8))
    size = -(-position // 8)
    stored = bytes_of("".join(texts), size)
    if count == 1:
        return replace(p, directory_bits=0), stored
    slope = (256 * 8 * size // count) & U64
    deviations = [start - starts[b // 64 * 64] - ((slope * (b % 64) & U64) >> 8) for b, start in enumerate(starts)]
    d = 0 if not any(deviations) else 1 + max((v if v >= 0 else ~v).bit_length() for v in deviations)
    fields = "".join(low_first(v + (1 << d - 1), d) for v in deviations) if d else ""
    anchors = b"".join(start.to_bytes(8, "little") for start in starts[64::64])
    return replace(p, directory_bits=d), anchors + bytes_of(fields, -(-count * d // 8)) + stored


def low_first(number: int, width: int) -> str:
    return format(number | 1 << width, "b")[:0:-1]


def bytes_of(bits: str, size: int) -> bytes:
    return int("0" + bits[::-1], 2).to_bytes(size, "little")
