"""Reader of partitioned filters [15], format/partition.md."""
from __future__ import annotations

import struct
from bisect import bisect_left
from dataclasses import dataclass
from typing import Callable, Optional

import filterblock as fb
from kinds import Damaged, Mismatch, Newer, U32, U64

MAGIC = bytes.fromhex("f246424c490d0a1a")
HEADER = struct.Struct("<8sBBBBHHQQQI8sQI")
RECORD = struct.Struct("<QII")


def partition_context(context: int, i: int) -> int:
    """[15.2]"""
    return (fb.mix(context ^ 0x9E3779B97F4A7C15) + i) & U64


def pair_order_key(row: bytes, column: bytes) -> bytes:
    """The order key of transform 2 [15.1]."""
    return row.replace(b"\0", b"\0\1") + b"\0\0" + column


def order_key_of(transform: tuple[int, int], query: str, key: bytes, column: bytes = b"") -> Optional[bytes]:
    """Where the entry of a query is [15.1]; None if it has none."""
    if transform[0] == 2 and query == "cell":
        return pair_order_key(key, column)
    return fb.entry_of(transform, query, key, column)


@dataclass
class Index:
    """An opened index [15.3]."""
    records: list[tuple[int, int]]  # offset, length
    separators: list[bytes]
    hasher: fb.Hasher
    transform: tuple[int, int]
    context: int
    num_entries: int

    def find(self, order_key: bytes) -> Optional[int]:
        i = bisect_left(self.separators, order_key)
        return i if i < len(self.separators) else None

    def open_partition(self, i: int, block: bytes) -> fb.Filter:
        return fb.open_block(block, partition_context(self.context, i), self.hasher, self.transform)

    def maybe(self, order_key: bytes, entry: bytes, load: Callable[[int, int], bytes]) -> bool:
        """The answer for an entry at its order key [15.4]."""
        i = self.find(order_key)
        return i is not None and self.open_partition(i, load(*self.records[i])).maybe(entry)


def open_index(data: bytes, context: int = 0, hasher: Optional[fb.Hasher] = None,
               transform: Optional[tuple[int, int]] = None, kind: int = 0) -> Index:
    """Opens an index with every check of [15.4], in that order; with those of [15.5] if `kind` is 6."""
    if len(data) < 64:
        raise Damaged("length: shorter than a header")
    (magic, version, found, hash_id, transform_id, features, transform_param, seed, num_entries, payload_len, count,
     zeros, digest, crc) = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise Damaged("magic: not an index")
    payload, m = data[64:], fb.mix(context)
    c, d = crc ^ fb.masked_crc(data[:60]), digest ^ fb.xxh3(payload)
    if c != m & U32:
        if c == d & U32:
            raise Mismatch("crc: another context", fb.unmix(d))
        raise Damaged("crc")
    if version != 1:
        raise Newer("version") if version else Damaged("version: 0")
    if found != kind:
        raise Mismatch("kind: of the other family") if found in (0, 6) else Newer("kind")
    if hash_id not in (1, 2):
        raise Newer("hash_id")
    if features >> 8:
        raise Newer("features")
    if 6 <= transform_id <= 127 or (transform_id <= 2 and transform_param):
        raise Newer("transform")
    if any(zeros):
        raise Newer("reserved")
    if payload_len != len(payload):
        raise Damaged("payload_len")
    if d != m:
        raise Damaged("digest")
    if hasher is not None and (hasher.hash_id, hasher.seed) != (hash_id, seed):
        raise Mismatch("expected: hash, seed or key")
    if transform is not None and transform != (transform_id, transform_param):
        raise Mismatch("expected: transform")
    if hasher is None:
        if hash_id == 2:
            raise Mismatch("key: not given")
        hasher = fb.Hasher.xxh3_with(seed)
    if 16 * count > payload_len:
        raise Damaged("records")
    if num_entries < count or count == 0 and num_entries:
        raise Damaged("entries")
    heap, records, separators, end, start = payload[16 * count:], [], [], 0, 0
    for offset, length, separator_end in RECORD.iter_unpack(payload[:16 * count]):
        if offset < end or offset + length > U64 or length < 64 or not start <= separator_end <= len(heap):
            raise Damaged("record")
        records.append((offset, length))
        separators.append(heap[start:separator_end])
        end, start = offset + length, separator_end
    if start != len(heap):
        raise Damaged("record: the last separator's end")
    if any(a >= b for a, b in zip(separators, separators[1:])):
        raise Damaged("order")
    return Index(records, separators, hasher, (transform_id, transform_param), context, num_entries)
