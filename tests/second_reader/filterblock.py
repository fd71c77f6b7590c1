"""Reader and writer of filter blocks and compact frames, format version 1.

Written from format-spec.md alone, by someone who had not seen the library's source (except ribbon.py and fuse.py, see
there): where the two agree, it is by the document. Keep it so: change it for the document, never for the library.

Numbers in brackets, as in [4.2], are sections of the format. Needs Python 3.11 and the package xxhash.
"""
from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Iterable, Optional

import xxhash

from kinds import (
    BLOCKED, BLOOM, Blocked, Bloom, Damaged, FUSE, Fuse, GOLOMB, Golomb, GolombReader, KIND_OF, Mismatch, Newer, Params,
    RIBBON, Ribbon, U32, U64, Unwritable, blocked_position, blocked_probes, bloom_probes, build_blocked, build_bloom,
    build_golomb, check_payload, mix, range_fault)
from fuse import FuseReader, build_fuse
from ribbon import RibbonReader, build_ribbon, num_blocks_of

MAGIC = bytes.fromhex("f146424c4b0d0a1a")
HEADER = struct.Struct("<8sBBBBHHQQQ12sQI")
KINDS = {BLOOM: "bloom", BLOCKED: "blocked", GOLOMB: "golomb", RIBBON: "ribbon", FUSE: "fuse"}
RANGE = 6  # of range filters [16], which are none of keys
ESTIMATE = 1  # bit 0 of `features` [4.4]
REMAPPED = 1 << 8  # bit 8 [4.5]
REMAPPED_COMPACT = 8  # of the tag [10]


# ---------------------------------------------------------------------------------------------- hash [3]

def xxh3(data: bytes, seed: int = 0) -> int:
    """XXH3-64 with seed [3.1]."""
    return xxhash.xxh3_64_intdigest(data, seed)


def _sip_round(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    """`round` [3.2]."""
    v0 = (v0 + v1) & U64
    v1 = ((v1 << 13 | v1 >> 51) & U64) ^ v0
    v0 = (v0 << 32 | v0 >> 32) & U64
    v2 = (v2 + v3) & U64
    v3 = ((v3 << 16 | v3 >> 48) & U64) ^ v2
    v0 = (v0 + v3) & U64
    v3 = ((v3 << 21 | v3 >> 43) & U64) ^ v0
    v2 = (v2 + v1) & U64
    v1 = ((v1 << 17 | v1 >> 47) & U64) ^ v2
    return v0, v1, (v2 << 32 | v2 >> 32) & U64, v3


def siphash13(data: bytes, key: bytes) -> int:
    """SipHash-1-3 under a key of 16 bytes [3.2]."""
    k0, k1 = struct.unpack("<QQ", key)
    v = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    whole = len(data) // 8
    last = int.from_bytes(data[8 * whole:], "little") + ((len(data) & 255) << 56)
    for m in struct.unpack_from(f"<{whole}Q", data) + (last,):
        v0, v1, v2, v3 = _sip_round(v[0], v[1], v[2], v[3] ^ m)
        v = v0 ^ m, v1, v2, v3
    v0, v1, v2, v3 = _sip_round(*_sip_round(*_sip_round(v[0], v[1], v[2] ^ 0xFF, v[3])))
    return v0 ^ v1 ^ v2 ^ v3


@lru_cache(maxsize=4096)
def key_id(key: bytes) -> int:
    """What `seed` holds for hash id 2 [3.2]."""
    return siphash13(b"filterblock key id", key)


@dataclass(frozen=True)
class Hasher:
    """A hash id with its seed, or its key [3]. Make it with `xxh3_with` or `siphash_with`."""
    hash_id: int
    seed: int
    key: Optional[bytes] = None

    @staticmethod
    def xxh3_with(seed: int = 0) -> Hasher:
        return Hasher(1, seed)

    @staticmethod
    def siphash_with(key: bytes) -> Hasher:
        return Hasher(2, key_id(key), key)

    def hash(self, entry: bytes) -> int:
        return xxh3(entry, self.seed) if self.key is None else siphash13(entry, self.key)


# ------------------------------------------------------------------------------------------ remapped [4.5]

def remap(h: int, set_seed: int) -> int:
    return mix(h ^ set_seed)


def set_seed_of(hashes: set[int]) -> int:
    return siphash13(struct.pack(f"<{len(hashes)}Q", *sorted(hashes)), bytes(16)) or 1


def remapped_set(hashes: set[int]) -> tuple[set[int], bytes]:
    """The hashes in place of these, and the bytes that follow the kind's payload."""
    seed = set_seed_of(hashes)
    return {remap(h, seed) for h in hashes}, seed.to_bytes(8, "little")


def split_seed(payload: bytes) -> tuple[bytes, int]:
    """The kind's payload, and `set_seed`."""
    if len(payload) < 8:
        raise Damaged("range: no room for set_seed")
    seed = int.from_bytes(payload[-8:], "little")
    if not seed:
        raise Damaged("range: set_seed")
    return payload[:-8], seed


# ----------------------------------------------------------------------------------------- checksums [4.2]

def unmix(z: int) -> int:
    """The inverse of `mix`."""
    z = ((z ^ z >> 33) * 0x9CB4B2F8129337DB) & U64
    z = ((z ^ z >> 33) * 0x4F74430C22A54005) & U64
    return z ^ z >> 33


def masked_crc(head: bytes) -> int:
    """The field `crc` over the first 60 bytes, before the context is mixed in."""
    c = zlib.crc32(head)
    return ((c >> 15 | c << 17) + 0xA282EAD8) & U32


# ------------------------------------------------------------------------------------------- transforms [4.3]

def entry_of(transform: tuple[int, int], query: str, key: bytes, column: bytes = b"") -> Optional[bytes]:
    """The entry of a query: "key", "prefix", "row" or "cell", the last of which has a column too. None if it has none."""
    ident, length = transform
    if query in ("key", "prefix") and ident == 5:
        delimiter, levels = length & 255, length >> 8
        ends = [at + 1 for at, byte in enumerate(key) if byte == delimiter][:levels]
        return key[:ends[-1]] if ends else None
    if query == "key" and ident in (0, 4):
        return key
    if query == "key" and ident == 3 or query == "prefix" and ident in (3, 4):
        return key[:length] if len(key) >= length else None
    if query in ("row", "cell") and ident == 1:
        return key
    if query == "cell" and ident == 2:
        return key + column + (len(key) & U32).to_bytes(4, "little")
    return None


# ------------------------------------------------------------------------------------------------ opened frames

@dataclass
class Filter:
    """An opened frame. `kind` and `params` are None in a compact frame of no entries, `params` in any of none."""
    compact: bool
    kind: Optional[int]
    params: Optional[Params]
    payload: bytes
    hasher: Hasher
    transform: Optional[tuple[int, int]] = None
    num_entries: Optional[int] = None  # not stored in a compact frame of entries
    features: int = 0
    context: int = 0
    set_seed: Optional[int] = None  # of a remapped filter, whose `payload` is without it
    _golomb: Optional[GolombReader] = field(default=None, init=False, repr=False, compare=False)
    _ribbon: Optional[RibbonReader] = field(default=None, init=False, repr=False, compare=False)
    _fuse: Optional[FuseReader] = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.params, Golomb):
            self._golomb = GolombReader(self.params, self.payload)
        if isinstance(self.params, Ribbon):
            self._ribbon = RibbonReader(self.params, self.payload)
        if isinstance(self.params, Fuse):
            self._fuse = FuseReader(self.params, self.payload)

    def maybe_hash(self, h: int) -> bool:
        """True for *maybe*, False for *no*, for a 64-bit hash of an entry [4.1, 5, 6, 7, 8, 9]."""
        p, payload = self.params, self.payload
        if p is None:
            return False
        if self.set_seed is not None:
            h = remap(h, self.set_seed)
        if self._golomb:
            return self._golomb.has(h)
        if self._ribbon:
            return self._ribbon.has(h)
        if self._fuse:
            return self._fuse.has(h)
        assert isinstance(p, (Bloom, Blocked))
        if isinstance(p, Bloom):
            for bit in bloom_probes(h, p):
                if not payload[bit >> 3] >> (bit & 7) & 1:
                    return False
            return True
        upper = 64 - p.salt_bits
        words = struct.unpack_from("<8Q", payload, 64 * (h * p.num_lines >> 64))
        for w, x in blocked_probes(h, p.num_probes):
            if not words[w] >> blocked_position(x, w, words[w] >> upper, upper) & 1:
                return False
        return True

    def maybe(self, entry: bytes) -> bool:
        """The answer for an entry, to which the caller has applied the transform [4.3]."""
        return self.maybe_hash(self.hasher.hash(entry))


def open_block(data: bytes, context: int = 0, hasher: Optional[Hasher] = None,
               transform: Optional[tuple[int, int]] = None) -> Filter:
    """Opens a block with every check of [11], in that order. `hasher` and `transform` say what the caller expects."""
    data = bytes(data)
    if len(data) < 64:
        raise Damaged("length: shorter than a header")
    (magic, version, kind, hash_id, transform_id, features, transform_param, seed, num_entries, payload_len,
     params, digest, crc) = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise Damaged("magic: not a block")
    payload, m = data[64:], mix(context)
    c = crc ^ masked_crc(data[:60])
    d = digest ^ xxh3(payload)
    if c != m & U32:
        if c == d & U32:  # [4.2]
            raise Mismatch("crc: another context", unmix(d))
        raise Damaged("crc")
    if version != 1:
        raise Newer("version") if version else Damaged("version: 0")
    if kind not in KINDS:
        raise Mismatch("kind: a range filter") if kind == RANGE else Newer("kind")
    if hash_id not in (1, 2):
        raise Newer("hash_id")
    if features >> 9:
        raise Newer("features")
    if 6 <= transform_id <= 127 or (transform_id <= 2 and transform_param):
        raise Newer("transform")
    if payload_len != len(payload):
        raise Damaged("payload_len")
    if d != m:
        raise Damaged("digest")
    if hasher is not None and (hasher.hash_id, hasher.seed) != (hash_id, seed):
        raise Mismatch("expected: hash, seed or key")
    if transform is not None and tuple(transform) != (transform_id, transform_param):
        raise Mismatch("expected: transform")
    if hasher is None:
        if hash_id == 2:
            raise Mismatch("key: not given")
        hasher = Hasher.xxh3_with(seed)
    if features & ESTIMATE and (kind != BLOOM or num_entries == 0):
        raise Damaged("estimate")
    if features & REMAPPED and (kind not in (GOLOMB, RIBBON, FUSE) or num_entries == 0):
        raise Damaged("remapped")
    p: Optional[Params] = None
    set_seed: Optional[int] = None
    if num_entries == 0:  # [4.1]
        if payload_len:
            raise Damaged("empty-len")
        if any(params):
            raise Newer("empty-params")
    else:
        a, b, per_bucket, number = params[0], params[1], params[2], int.from_bytes(params[4:], "little")
        reserved = {BLOOM: params[1:4], BLOCKED: params[2:], GOLOMB: params[3:4], RIBBON: params[8:],
                    FUSE: params[3:4] + params[8:]}
        if any(reserved[kind]):
            raise Newer("reserved")
        if features & REMAPPED:
            payload, set_seed = split_seed(payload)
        if kind == BLOOM:
            p = Bloom(a, number)
        elif kind == BLOCKED:
            if len(payload) % 64:
                raise Damaged("range: length of the payload")
            p = Blocked(a, b, len(payload) // 64)
        elif kind == RIBBON:
            p = Ribbon(a, number & U32, per_bucket, num_blocks_of(payload, b), params[3])
        elif kind == FUSE:
            p = Fuse(a, b, per_bucket, number & U32)
        else:
            p = Golomb(a, number, -(-num_entries // max(per_bucket, 1)), b, per_bucket)
        check_payload(p, payload)
    return Filter(False, kind, p, payload, hasher, (transform_id, transform_param), num_entries, features, context,
                  set_seed)


def open_compact(data: bytes, hasher: Hasher, transform: Optional[tuple[int, int]] = None) -> Filter:
    """Opens a compact frame [10]. The caller vouches for the bytes, the hash and the transform."""
    data = bytes(data)
    if not data:
        raise Damaged("tag")
    version, kind = data[-1] >> 4, data[-1] & 15
    if version in (0, 15):
        raise Damaged("version: of erased bytes")
    if version != 1:
        raise Newer("version")
    remapped = kind - REMAPPED_COMPACT in (GOLOMB, RIBBON, FUSE)
    if remapped:
        kind -= REMAPPED_COMPACT
    if kind not in (0, *KINDS):
        raise Newer("kind")
    if kind == 0:
        if len(data) > 1:
            raise Damaged("empty")
        return Filter(True, None, None, b"", hasher, transform, 0)
    short = kind == GOLOMB and len(data) > 1 and 0 < data[-2] < 16
    if len(data) < (3 if short else 4 if kind in (GOLOMB, RIBBON, FUSE) else 2):
        raise Damaged("trailer")
    byte, payload = data[-2], data[:-2]
    set_seed: Optional[int] = None
    p: Params
    if kind == BLOOM:
        p = Bloom(byte, 8 * len(payload))
    elif kind == BLOCKED:
        if len(payload) % 64:
            raise Damaged("range: length of the payload")
        p = Blocked((byte >> 4) + 1, byte & 15, len(payload) // 64)
    elif kind == RIBBON:
        thinned = byte & 15 == 15
        j = 1 if thinned else byte & 15
        at = len(data) - 4 - j
        if at < 0:
            raise Damaged("trailer")
        if j > 8:
            raise Damaged("integers")
        last, payload = data[at:-4], data[:at]
        if last and not last[-1]:
            raise Damaged("integers")
        if remapped:
            payload, set_seed = split_seed(payload)
        share, thinned_from = (0, last[0]) if thinned else (int.from_bytes(last, "little"), 0)
        p = Ribbon(data[-3], share, data[-4], num_blocks_of(payload, byte >> 4), thinned_from)
    elif kind == FUSE:
        at = len(data) - 4 - (byte & 7)
        if at < 0:
            raise Damaged("trailer")
        segments, payload = data[at:-4], data[:at]
        if not segments or not segments[-1]:
            raise Damaged("integers")
        p = Fuse(data[-3], byte >> 3, data[-4], int.from_bytes(segments, "little"))
    elif short:
        if not data[-3]:
            raise Damaged("integers")
        p, payload = Golomb(byte, data[-3] << byte - 1, 1, 0), data[:-3]
    else:
        i, j = byte >> 4, byte & 15
        at = len(data) - 4 - i - j
        if at < 0:
            raise Damaged("trailer")
        buckets, bucket_range = data[at:at + i], data[at + i:at + i + j]
        if not (1 <= i <= 8 and 1 <= j <= 8 and buckets[-1] and bucket_range[-1]):
            raise Damaged("integers")
        p = Golomb(data[-4], int.from_bytes(bucket_range, "little"), int.from_bytes(buckets, "little"), data[-3])
        payload = data[:at]
    if remapped and set_seed is None:
        payload, set_seed = split_seed(payload)
    check_payload(p, payload)
    return Filter(True, kind, p, payload, hasher, transform, set_seed=set_seed)


# ------------------------------------------------------------------------------------------------------ writer

def build_payload(p: Params, hashes: set[int], limit: int = 2**32) -> tuple[Params, bytes]:
    """Payload and final parameters for a set of at least one hash [5-9]; Unwritable if longer than `limit` bytes."""
    if isinstance(p, Golomb) and p.entries_per_bucket:
        p = replace(p, num_buckets=-(-len(hashes) // p.entries_per_bucket))
    if fault := range_fault(replace(p, directory_bits=0) if isinstance(p, Golomb) else p):
        raise Unwritable(fault)
    least = (p.num_bits + 7) // 8 if isinstance(p, Bloom) else 64 * p.num_lines if isinstance(p, Blocked) \
        else p.layout()[2] if isinstance(p, Ribbon) else p.payload_len() if isinstance(p, Fuse) \
        else replace(p, directory_bits=0).layout()[1]
    if least > limit:
        raise Unwritable(f"payload of {least} bytes")
    if isinstance(p, Bloom):
        return p, build_bloom(p, hashes)
    if isinstance(p, Blocked):
        return p, build_blocked(p, hashes)
    if isinstance(p, Ribbon):
        return p, build_ribbon(p, hashes)
    if isinstance(p, Fuse):
        return p, build_fuse(p, hashes)
    p, payload = build_golomb(p, hashes, limit)
    if fault := range_fault(p):
        raise Unwritable(fault)
    return p, payload


def write_block(kind: int, p: Optional[Params], hashes: Iterable[int], hasher: Hasher, context: int = 0,
                transform: tuple[int, int] = (0, 0), estimate: Optional[int] = None, limit: int = 2**32,
                remapped: bool = False) -> bytes:
    """A block [4] of the entries with these hashes. `estimate` is the entry count to state with bit 0 of `features`."""
    distinct, params, payload = set(hashes), bytes(12), b""
    if estimate is not None and (kind != BLOOM or not distinct or estimate < 1):
        raise Unwritable("an estimate is at least 1, and a bloom filter's")
    if distinct:
        if p is None or KIND_OF[type(p)] != kind or isinstance(p, Golomb) and not p.entries_per_bucket:
            raise Unwritable("parameters do not fit")
        own, seed = remapped_set(distinct) if remapped else (distinct, b"")
        p, payload = build_payload(p, own, limit)
        payload += seed
        if isinstance(p, Bloom):
            params = struct.pack("<B3xQ", p.num_probes, p.num_bits)
        elif isinstance(p, Blocked):
            params = struct.pack("<BB10x", p.num_probes, p.salt_bits)
        elif isinstance(p, Ribbon):
            params = struct.pack("<BBBBI4x", p.columns, len(p.num_blocks), p.last_seed, p.thinned_from, p.wide_share)
        elif isinstance(p, Fuse):
            params = struct.pack("<BBBxI4x", p.fingerprint_bits, p.log2_segment_len, p.seed, p.num_segments)
        else:
            params = struct.pack("<BBBxQ", p.remainder_bits, p.directory_bits, p.entries_per_bucket, p.bucket_range)
    count, features = (len(distinct), 0) if estimate is None else (estimate, ESTIMATE)
    features |= REMAPPED if remapped else 0
    m = mix(context)
    head = HEADER.pack(MAGIC, 1, kind, hasher.hash_id, transform[0], features, transform[1], hasher.seed, count,
                       len(payload), params, xxh3(payload) ^ m, 0)[:60]
    return head + (masked_crc(head) ^ m & U32).to_bytes(4, "little") + payload


def write_compact(p: Optional[Params], hashes: Iterable[int], limit: int = 2**32, remapped: bool = False) -> bytes:
    """A compact frame [10] of the entries with these hashes."""
    distinct, seed = set(hashes), b""
    if remapped:
        distinct, seed = remapped_set(distinct)
    if not distinct:
        return b"\x10"
    if p is None or isinstance(p, Bloom) and p.num_bits % 8:
        raise Unwritable("no compact frame for these parameters")
    p, payload = build_payload(p, distinct, limit)
    payload, mark = payload + seed, REMAPPED_COMPACT if remapped else 0
    if isinstance(p, Bloom):
        return payload + bytes([p.num_probes, 0x11])
    if isinstance(p, Blocked):
        return payload + bytes([16 * (p.num_probes - 1) + p.salt_bits, 0x12])
    if isinstance(p, Ribbon):
        j = (p.wide_share.bit_length() + 7) // 8
        integer, j = (bytes([p.thinned_from]), 15) if p.thinned_from else (p.wide_share.to_bytes(j, "little"), j)
        return payload + integer + bytes([p.last_seed, p.columns, 16 * len(p.num_blocks) + j, 0x14 + mark])
    if isinstance(p, Fuse):
        j = (p.num_segments.bit_length() + 7) // 8
        return (payload + p.num_segments.to_bytes(j, "little")
                + bytes([p.seed, p.fingerprint_bits, 8 * p.log2_segment_len + j, 0x15 + mark]))
    unit = 1 << p.remainder_bits >> 1
    if (p.num_buckets == 1 and p.directory_bits == 0 and 1 <= p.remainder_bits <= 15
            and p.bucket_range % unit == 0 and p.bucket_range // unit < 256):
        return payload + bytes([p.bucket_range // unit, p.remainder_bits, 0x13 + mark])
    i, j = ((n.bit_length() + 7) // 8 for n in (p.num_buckets, p.bucket_range))
    return (payload + p.num_buckets.to_bytes(i, "little") + p.bucket_range.to_bytes(j, "little")
            + bytes([p.remainder_bits, p.directory_bits, 16 * i + j, 0x13 + mark]))


def rebuild(f: Filter, hashes: Iterable[int]) -> bytes:
    """The frame that a writer makes of these hashes with an opened frame's parameters [14], no longer than that."""
    limit, remapped = len(f.payload), f.set_seed is not None
    if f.compact:
        return write_compact(f.params, hashes, limit, remapped)
    estimate = f.num_entries if f.features & ESTIMATE else None
    return write_block(f.kind or 0, f.params, hashes, f.hasher, f.context, f.transform or (0, 0), estimate, limit,
                       remapped)
