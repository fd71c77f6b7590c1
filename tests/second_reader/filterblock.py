"""Reader and writer of filter blocks and compact frames, format version 1.

Written from format-spec.md alone, by someone who had not seen the library's source: where the two agree, it is by the
document. Keep it so: change it for the document, never for the library.

Numbers in brackets, as in [4.2], are sections of format-spec.md. Needs Python 3.11 and the package xxhash.
"""
from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Iterable, Iterator, Optional, Union

import xxhash

U32, U64 = 2**32 - 1, 2**64 - 1
MAGIC = bytes.fromhex("f146424c4b0d0a1a")
HEADER = struct.Struct("<8sBBBBHHQQQ12sQI")
BLOOM, BLOCKED, GOLOMB = 1, 2, 3
KINDS = {BLOOM: "bloom", BLOCKED: "blocked", GOLOMB: "golomb"}
ESTIMATE = 1  # bit 0 of `features` [4.4]


class FilterError(Exception):
    """Base of all exceptions of this module. The message of a reader's begins with the row [8, 9] that failed."""

    @property
    def row(self) -> str:
        return str(self).split(":")[0]


class Damaged(FilterError):
    """The bytes are not what a writer wrote [9]."""


class Newer(FilterError):
    """The header is intact, but says something beyond this reader [9]."""


class Mismatch(FilterError):
    """Intact, but not what the caller asked for [9]. `found_context` is set where the context differs [4.2]."""

    def __init__(self, message: str, found_context: Optional[int] = None) -> None:
        super().__init__(message)
        self.found_context = found_context


class Unwritable(FilterError):
    """The writer was given parameters or entries for which the format has no bytes, or that exceed its size limit."""


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


# ----------------------------------------------------------------------------------------- checksums [4.2]

def mix(z: int) -> int:
    z = ((z ^ z >> 33) * 0xFF51AFD7ED558CCD) & U64
    z = ((z ^ z >> 33) * 0xC4CEB9FE1A85EC53) & U64
    return z ^ z >> 33


def unmix(z: int) -> int:
    """The inverse of `mix`."""
    z = ((z ^ z >> 33) * 0x9CB4B2F8129337DB) & U64
    z = ((z ^ z >> 33) * 0x4F74430C22A54005) & U64
    return z ^ z >> 33


def masked_crc(head: bytes) -> int:
    """The field `crc` over the first 60 bytes, before the context is mixed in."""
    c = zlib.crc32(head)
    return ((c >> 15 | c << 17) + 0xA282EAD8) & U32


# ----------------------------------------------------------------------------- parameters of the kinds [5-7]

@dataclass(frozen=True)
class Bloom:
    num_probes: int
    num_bits: int


@dataclass(frozen=True)
class Blocked:
    num_probes: int
    salt_bits: int
    num_lines: int


@dataclass(frozen=True)
class Golomb:
    """`directory_bits` is the reader's; a writer works it out. A compact frame has no `entries_per_bucket`,
    a block no `num_buckets` of its own: that follows from the number of entries."""
    remainder_bits: int
    bucket_range: int
    num_buckets: int = 0
    directory_bits: int = 0
    entries_per_bucket: Optional[int] = None

    def layout(self) -> tuple[int, int]:
        """Offsets of the directory and of the codes in the payload [7]."""
        if self.num_buckets == 1:
            return 0, 0
        anchors = 8 * ((self.num_buckets + 63) // 64 - 1)
        return anchors, anchors + (self.num_buckets * self.directory_bits + 7) // 8


Params = Union[Bloom, Blocked, Golomb]
KIND_OF = {Bloom: BLOOM, Blocked: BLOCKED, Golomb: GOLOMB}


def range_fault(p: Params) -> Optional[str]:
    """What is out of its range in the tables of [5], [6], [7] and [10], if anything is."""
    if isinstance(p, Bloom):
        ok = 1 <= p.num_probes <= 64 and 1 <= p.num_bits <= 2**56
    elif isinstance(p, Blocked):
        ok = 1 <= p.num_probes <= 16 and 0 <= p.salt_bits <= 6 and 1 <= p.num_lines <= 2**32
    else:
        ok = (0 <= p.remainder_bits <= 48 and 0 <= p.directory_bits <= 57 and p.bucket_range >= 1
              and (p.entries_per_bucket is None or 1 <= p.entries_per_bucket <= 255)
              and p.num_buckets >= 1 and p.num_buckets * p.bucket_range <= U64)
    return None if ok else f"range: {p}"


def check_payload(p: Params, payload: bytes) -> None:
    """Ranges, length and unused bits: the last two rows of [9], and together the last of [8]."""
    if fault := range_fault(p):
        raise Damaged(fault)
    if isinstance(p, Bloom):
        if len(payload) != (p.num_bits + 7) // 8:
            raise Damaged("range: length of the payload")
        if p.num_bits % 8 and payload[-1] >> p.num_bits % 8:
            raise Damaged("unused: bits of the last byte")
    elif isinstance(p, Blocked):
        if len(payload) != 64 * p.num_lines:
            raise Damaged("range: length of the payload")
    else:
        _, codes = p.layout()
        if len(payload) <= codes or len(payload) >= 2**61:
            raise Damaged("range: length of the payload")
        used = p.num_buckets * p.directory_bits % 8
        if p.num_buckets > 1 and used and payload[codes - 1] >> used:
            raise Damaged("unused: bits of the directory")


# ------------------------------------------------------------------------------------------------- bloom [5]

def bloom_probes(h: int, p: Bloom) -> Iterator[int]:
    """The bits of a hash."""
    for _ in range(p.num_probes):
        yield h * p.num_bits >> 64
        h = h * 0xF1357AEA2E62A9C5 & U64


def build_bloom(p: Bloom, hashes: set[int]) -> bytes:
    payload = bytearray((p.num_bits + 7) // 8)
    for h in hashes:
        for bit in bloom_probes(h, p):
            payload[bit >> 3] |= 1 << (bit & 7)
    return bytes(payload)


# ----------------------------------------------------------------------------------------------- blocked [6]

MULTS = [0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D, 0xFD7046C5, 0xB55A4F09]


def blocked_mult(w: int, salt: int) -> int:
    return (MULTS[w] + salt * 0xD1B54A32) & U32


def blocked_probes(h: int, num_probes: int) -> Iterator[tuple[int, int]]:
    """Pairs of word and x, for the probes of a hash: those of x1, then those of x2."""
    x1, x2 = h & U32, (h * 0xD1342543DE82EF95 & U64) >> 32
    first = (x1 * 0x8CB92BA7 & U32) >> 29
    for i in range(num_probes):
        yield (first + i) & 7, x1 if i < 8 else x2


def blocked_position(x: int, w: int, salt: int, positions: int) -> int:
    """The bit of word w, where `positions` is R."""
    return (x * blocked_mult(w, salt) & U32) * positions >> 32


def build_blocked(p: Blocked, hashes: set[int]) -> bytes:
    """Sorts hashes into lines and chooses each word's salt.

    For each word and salt the positions of all probes of all lines are computed at once, as lanes of 64 bits of one
    long integer: the upper half of a lane is the position, and fits in one byte.
    """
    upper = 64 - p.salt_bits
    xs: list[list[int]] = [[] for _ in range(8)]
    ends: list[list[int]] = [[] for _ in range(8)]  # by word: end of each finished line in xs
    for h in sorted(hashes):  # and so by line, as range() is monotonic
        line = h * p.num_lines >> 64
        while len(ends[0]) < line:
            for w in range(8):
                ends[w].append(len(xs[w]))
        for w, x in blocked_probes(h, p.num_probes):
            xs[w].append(x)
    words = [0] * (8 * p.num_lines)
    for w in range(8):
        n = len(xs[w])
        lanes = int.from_bytes(struct.pack(f"<{n}Q", *xs[w]), "little")
        mask = int.from_bytes(b"\xff\xff\xff\xff\0\0\0\0" * n, "little")
        by_salt = [((lanes * blocked_mult(w, s) & mask) * upper).to_bytes(8 * n, "little")[4::8]
                   for s in range(1 << p.salt_bits)]
        begin = 0
        for line, end in enumerate(ends[w] + [n]):
            sets = [set(positions[begin:end]) for positions in by_salt] if end > begin else [set()]
            salt = min(range(len(sets)), key=lambda s: len(sets[s]))  # the first of the smallest
            words[8 * line + w] = salt << upper | sum(1 << bit for bit in sets[salt])
            begin = end
    return struct.pack(f"<{len(words)}Q", *words)


# ------------------------------------------------------------------------------------------------ golomb [7]

def golomb_place(h: int, num_buckets: int, bucket_range: int) -> tuple[int, int]:
    """Bucket and value of a hash."""
    product = h * num_buckets
    return product >> 64, (product & U64) * bucket_range >> 64


class GolombReader:
    """Finds and decodes buckets of a payload that `check_payload` has passed."""

    CACHED_VALUES = 1 << 20

    def __init__(self, p: Golomb, payload: bytes) -> None:
        self.p, self.payload = p, payload
        self.directory, self.codes = p.layout()
        self.end = 8 * (len(payload) - self.codes)  # C
        self.slope = (256 * self.end // p.num_buckets) & U64
        self.cache: dict[int, Optional[set[int]]] = {}
        self.cached = 0

    def start(self, b: int) -> int:
        """start(b)."""
        p, payload = self.p, self.payload
        if b == p.num_buckets:
            return self.end
        if p.num_buckets == 1:
            return 0
        anchor = int.from_bytes(payload[b // 64 * 8 - 8:b // 64 * 8], "little") if b >= 64 else 0
        deviation, d = 0, p.directory_bits
        if d:
            bit = 8 * self.directory + b * d
            bits = int.from_bytes(payload[bit // 8:(bit + d + 7) // 8], "little")
            deviation = (bits >> bit % 8 & (1 << d) - 1) - (1 << d - 1)
        return (anchor + ((self.slope * (b % 64) & U64) >> 8) + deviation) & U64

    def values(self, b: int) -> Optional[set[int]]:
        """Values of bucket b, or None if it is unreadable. Work is linear in the bits of the bucket."""
        s, e, r = self.start(b), self.start(b + 1), self.p.remainder_bits
        if s > e or e > self.end:
            return None
        first = s // 8
        bits = int.from_bytes(self.payload[self.codes + first:self.codes + (e + 7) // 8], "little")
        n = e - 8 * first
        text = format(bits & (1 << n) - 1, f"0{n}b") if n else ""  # bit i of the bucket's bytes is text[n - 1 - i]
        out: set[int] = set()
        unary, remainders, following = s - 8 * first, n, 0
        while True:
            remainders -= r
            if remainders <= unary:
                return out
            at = text.rfind("1", n - remainders, n - unary)
            if at < 0:
                return out
            one = n - 1 - at
            low = int(text[n - remainders - r:n - remainders], 2) if r else 0
            value = following + ((one - unary) << r) + low & U64
            out.add(value)
            following, unary = value + 1 & U64, one + 1

    def has(self, h: int) -> bool:
        bucket, value = golomb_place(h, self.p.num_buckets, self.p.bucket_range)
        if bucket not in self.cache:
            if self.cached > self.CACHED_VALUES:
                self.cache, self.cached = {}, 0
            found = self.cache[bucket] = self.values(bucket)
            self.cached += 1 + len(found or ())
        values = self.cache[bucket]
        return values is None or value in values


def build_golomb(p: Golomb, hashes: set[int], limit: int) -> tuple[Golomb, bytes]:
    """The payload, and the parameters with the least `directory_bits`."""
    r, count = p.remainder_bits, p.num_buckets
    buckets: list[list[int]] = [[] for _ in range(count)]
    for bucket, value in sorted({golomb_place(h, count, p.bucket_range) for h in hashes}):
        buckets[bucket].append(value)
    starts, position = [], 0
    gaps: list[list[int]] = []
    for values in buckets:
        starts.append(position)
        gaps.append([v - u - 1 for u, v in zip([-1] + values, values)])
        position += sum((g >> r) + 1 + r for g in gaps[-1])
    size = (position + 7) // 8
    if size > limit:
        raise Unwritable(f"codes of {size} bytes")
    # Strings of bits, the highest first; so remainders stand before quotients, and later buckets before earlier ones.
    texts = []
    for b, gs in enumerate(gaps):
        padding = "0" * (8 * size - position if b == count - 1 else 0)
        texts.append("".join(format(g & (1 << r) - 1, f"0{r}b") for g in gs) * bool(r) + padding
                     + "".join("1" + "0" * (g >> r) for g in reversed(gs)))
    codes = int("".join(reversed(texts)), 2).to_bytes(size, "little")
    if count == 1:
        return replace(p, directory_bits=0), codes
    slope = (256 * 8 * size // count) & U64
    anchors = starts[64::64]
    deviations = [start - starts[b // 64 * 64] - ((slope * (b % 64) & U64) >> 8) for b, start in enumerate(starts)]
    d = 0 if not any(deviations) else 1 + max((v if v >= 0 else ~v).bit_length() for v in deviations)
    p = replace(p, directory_bits=d)
    fields = "".join(format(v + (1 << d - 1), f"0{d}b") for v in reversed(deviations)) if d else ""
    directory = int(fields or "0", 2).to_bytes((count * d + 7) // 8, "little")
    return p, struct.pack(f"<{len(anchors)}Q", *anchors) + directory + codes


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
    _golomb: Optional[GolombReader] = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.params, Golomb):
            self._golomb = GolombReader(self.params, self.payload)

    def maybe_hash(self, h: int) -> bool:
        """True for *maybe*, False for *no*, for a 64-bit hash of an entry [4.1, 5, 6, 7]."""
        p, payload = self.params, self.payload
        if p is None:
            return False
        if self._golomb:
            return self._golomb.has(h)
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
    """Opens a block with every check of [9], in that order. `hasher` and `transform` say what the caller expects."""
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
        raise Newer("kind")
    if hash_id not in (1, 2):
        raise Newer("hash_id")
    if features >> 8:
        raise Newer("features")
    if 4 <= transform_id <= 127 or (transform_id <= 2 and transform_param):
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
    p: Optional[Params] = None
    if num_entries == 0:  # [4.1]
        if payload_len:
            raise Damaged("empty-len")
        if any(params):
            raise Newer("empty-params")
    else:
        a, b, per_bucket, number = params[0], params[1], params[2], int.from_bytes(params[4:], "little")
        if any({BLOOM: params[1:4], BLOCKED: params[2:], GOLOMB: params[3:4]}[kind]):
            raise Newer("reserved")
        if kind == BLOOM:
            p = Bloom(a, number)
        elif kind == BLOCKED:
            if len(payload) % 64:
                raise Damaged("range: length of the payload")
            p = Blocked(a, b, len(payload) // 64)
        else:
            p = Golomb(a, number, -(-num_entries // max(per_bucket, 1)), b, per_bucket)
        check_payload(p, payload)
    return Filter(False, kind, p, payload, hasher, (transform_id, transform_param), num_entries, features, context)


def open_compact(data: bytes, hasher: Hasher, transform: Optional[tuple[int, int]] = None) -> Filter:
    """Opens a compact frame [8]. The caller vouches for the bytes, the hash and the transform."""
    data = bytes(data)
    if not data:
        raise Damaged("tag")
    version, kind = data[-1] >> 4, data[-1] & 15
    if version in (0, 15):
        raise Damaged("version: of erased bytes")
    if version != 1:
        raise Newer("version")
    if kind not in (0, *KINDS):
        raise Newer("kind")
    if kind == 0:
        if len(data) > 1:
            raise Damaged("empty")
        return Filter(True, None, None, b"", hasher, transform, 0)
    if len(data) < (4 if kind == GOLOMB else 2):
        raise Damaged("trailer")
    byte, payload = data[-2], data[:-2]
    p: Params
    if kind == BLOOM:
        p = Bloom(byte, 8 * len(payload))
    elif kind == BLOCKED:
        if len(payload) % 64:
            raise Damaged("range: length of the payload")
        p = Blocked((byte >> 4) + 1, byte & 15, len(payload) // 64)
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
    check_payload(p, payload)
    return Filter(True, kind, p, payload, hasher, transform)


# ------------------------------------------------------------------------------------------------------ writer

def build_payload(p: Params, hashes: set[int], limit: int = 2**32) -> tuple[Params, bytes]:
    """Payload and final parameters for a set of at least one hash [5-7]; Unwritable if longer than `limit` bytes."""
    if isinstance(p, Golomb) and p.entries_per_bucket:
        p = replace(p, num_buckets=-(-len(hashes) // p.entries_per_bucket))
    if fault := range_fault(replace(p, directory_bits=0) if isinstance(p, Golomb) else p):
        raise Unwritable(fault)
    least = (p.num_bits + 7) // 8 if isinstance(p, Bloom) else 64 * p.num_lines if isinstance(p, Blocked) \
        else replace(p, directory_bits=0).layout()[1]
    if least > limit:
        raise Unwritable(f"payload of {least} bytes")
    if isinstance(p, Bloom):
        return p, build_bloom(p, hashes)
    if isinstance(p, Blocked):
        return p, build_blocked(p, hashes)
    p, payload = build_golomb(p, hashes, limit)
    if fault := range_fault(p):
        raise Unwritable(fault)
    return p, payload


def write_block(kind: int, p: Optional[Params], hashes: Iterable[int], hasher: Hasher, context: int = 0,
                transform: tuple[int, int] = (0, 0), estimate: Optional[int] = None, limit: int = 2**32) -> bytes:
    """A block [4] of the entries with these hashes. `estimate` is the entry count to state with bit 0 of `features`."""
    distinct, params, payload = set(hashes), bytes(12), b""
    if estimate is not None and (kind != BLOOM or not distinct or estimate < 1):
        raise Unwritable("an estimate is at least 1, and a bloom filter's")
    if distinct:
        if p is None or KIND_OF[type(p)] != kind or isinstance(p, Golomb) and not p.entries_per_bucket:
            raise Unwritable("parameters do not fit")
        p, payload = build_payload(p, distinct, limit)
        if isinstance(p, Bloom):
            params = struct.pack("<B3xQ", p.num_probes, p.num_bits)
        elif isinstance(p, Blocked):
            params = struct.pack("<BB10x", p.num_probes, p.salt_bits)
        else:
            params = struct.pack("<BBBxQ", p.remainder_bits, p.directory_bits, p.entries_per_bucket, p.bucket_range)
    count, features = (len(distinct), 0) if estimate is None else (estimate, ESTIMATE)
    m = mix(context)
    head = HEADER.pack(MAGIC, 1, kind, hasher.hash_id, transform[0], features, transform[1], hasher.seed, count,
                       len(payload), params, xxh3(payload) ^ m, 0)[:60]
    return head + (masked_crc(head) ^ m & U32).to_bytes(4, "little") + payload


def write_compact(p: Optional[Params], hashes: Iterable[int], limit: int = 2**32) -> bytes:
    """A compact frame [8] of the entries with these hashes."""
    distinct = set(hashes)
    if not distinct:
        return b"\x10"
    if p is None or isinstance(p, Bloom) and p.num_bits % 8:
        raise Unwritable("no compact frame for these parameters")
    p, payload = build_payload(p, distinct, limit)
    if isinstance(p, Bloom):
        return payload + bytes([p.num_probes, 0x11])
    if isinstance(p, Blocked):
        return payload + bytes([16 * (p.num_probes - 1) + p.salt_bits, 0x12])
    i, j = ((n.bit_length() + 7) // 8 for n in (p.num_buckets, p.bucket_range))
    return (payload + p.num_buckets.to_bytes(i, "little") + p.bucket_range.to_bytes(j, "little")
            + bytes([p.remainder_bits, p.directory_bits, 16 * i + j, 0x13]))


def rebuild(f: Filter, hashes: Iterable[int]) -> bytes:
    """The frame that a writer makes of these hashes with an opened frame's parameters [12], no longer than that."""
    limit = len(f.payload)
    if f.compact:
        return write_compact(f.params, hashes, limit)
    estimate = f.num_entries if f.features & ESTIMATE else None
    return write_block(f.kind or 0, f.params, hashes, f.hasher, f.context, f.transform or (0, 0), estimate, limit)
