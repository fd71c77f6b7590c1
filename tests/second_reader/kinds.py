"""The kinds of filters, format version 1: their parameters, what a payload must be, how it is asked and built.

A part of filterblock.py, under its rule: changed for format-spec.md, never for the library.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Iterator, Optional, Union

U32, U64 = 2**32 - 1, 2**64 - 1
BLOOM, BLOCKED, GOLOMB, RIBBON, FUSE = 1, 2, 3, 4, 5


class FilterError(Exception):
    """Base of all exceptions of this module. The message of a reader's begins with the row [10, 11] that failed."""

    @property
    def row(self) -> str:
        return str(self).split(":")[0]


class Damaged(FilterError):
    """The bytes are not what a writer wrote [11]."""


class Newer(FilterError):
    """The header is intact, but says something beyond this reader [11]."""


class Mismatch(FilterError):
    """Intact, but not what the caller asked for [11]. `found_context` is set where the context differs [4.2]."""

    def __init__(self, message: str, found_context: Optional[int] = None) -> None:
        super().__init__(message)
        self.found_context = found_context


class Unwritable(FilterError):
    """The writer was given parameters or entries for which the format has no bytes, or that exceed its size limit."""


# ----------------------------------------------------------------------------- parameters of the kinds [5-9]

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


@dataclass(frozen=True)
class Ribbon:
    """`num_blocks` has a number for each layer; a payload ends with them."""
    columns: int
    wide_share: int
    last_seed: int
    num_blocks: tuple[int, ...]
    thinned_from: int = 0

    def most_columns(self) -> int:
        """most_columns [8]."""
        return self.thinned_from or self.columns + (self.wide_share > 0)

    def num_wide(self, layer: int) -> int:
        return ((self.num_blocks[layer] - 1) * self.wide_share + U32) >> 32

    def num_stored(self, layer: int) -> int:
        """Blocks of c + 1 columns [8]."""
        wide = self.num_wide(layer)
        return wide + 1 if wide else 0

    def num_starts(self, layer: int) -> int:
        """num_starts of a layer [8]."""
        return 64 * (self.num_blocks[layer] - 1)

    def num_words(self, layer: int) -> int:
        """num_words of a layer [8]."""
        return self.num_blocks[layer] * self.columns + self.num_stored(layer)

    def num_buckets(self, layer: int) -> int:
        return (self.num_starts(layer) + 127) // 128

    def layout(self) -> tuple[list[int], list[int], int]:
        """Offsets in the payload: of each layer's solution, of the thresholds of each layer but the last, of the
        directory [8]."""
        at, solutions, thresholds = 0, [], []
        for layer in range(len(self.num_blocks)):
            solutions.append(at)
            at += 8 * self.num_words(layer)
        for layer in range(len(self.num_blocks) - 1):
            thresholds.append(at)
            at += (self.num_buckets(layer) + 3) // 4
        return solutions, thresholds, at

    def enter(self, layer: int, x: int) -> int:
        """What x is in a layer."""
        steps = (layer > 0) + (self.last_seed if layer == len(self.num_blocks) - 1 else 0)
        return mix(x ^ (steps * 0x9E3779B97F4A7C15 & U64)) if steps else x


@dataclass(frozen=True)
class Fuse:
    fingerprint_bits: int
    log2_segment_len: int
    seed: int
    num_segments: int

    def num_slots(self) -> int:
        """num_slots [9]."""
        return (self.num_segments + 3) << self.log2_segment_len

    def payload_len(self) -> int:
        return (self.num_slots() - 1) * self.fingerprint_bits // 8 + 8


Params = Union[Bloom, Blocked, Golomb, Ribbon, Fuse]
KIND_OF = {Bloom: BLOOM, Blocked: BLOCKED, Golomb: GOLOMB, Ribbon: RIBBON, Fuse: FUSE}


def mix(z: int) -> int:
    """[4.2]"""
    z = ((z ^ z >> 33) * 0xFF51AFD7ED558CCD) & U64
    z = ((z ^ z >> 33) * 0xC4CEB9FE1A85EC53) & U64
    return z ^ z >> 33


def range_fault(p: Params) -> Optional[str]:
    """What is out of its range in the tables of [5], [6], [7], [8], [9] and [12], if anything is."""
    if isinstance(p, Bloom):
        ok = 1 <= p.num_probes <= 64 and 1 <= p.num_bits <= 2**56
    elif isinstance(p, Blocked):
        ok = 1 <= p.num_probes <= 16 and 0 <= p.salt_bits <= 6 and 1 <= p.num_lines <= 2**32
    elif isinstance(p, Ribbon):
        ok = (1 <= p.columns <= (31 if p.wide_share else 32) and 0 <= p.wide_share <= U32 and 0 <= p.last_seed <= 31
              and (not p.thinned_from or p.columns < p.thinned_from <= 32 and not p.wide_share)
              and 1 <= len(p.num_blocks) <= 8 and all(2 <= n <= U32 for n in p.num_blocks))
    elif isinstance(p, Fuse):
        ok = (1 <= p.fingerprint_bits <= 32 and 0 <= p.log2_segment_len <= 18 and 0 <= p.seed <= 63
              and 1 <= p.num_segments <= U32)
    else:
        ok = (0 <= p.remainder_bits <= 48 and 0 <= p.directory_bits <= 57 and p.bucket_range >= 1
              and (p.entries_per_bucket is None or 1 <= p.entries_per_bucket <= 255)
              and p.num_buckets >= 1 and p.num_buckets * p.bucket_range <= U64)
    return None if ok else f"range: {p}"


def check_payload(p: Params, payload: bytes) -> None:
    """Ranges, length and unused bits: the last two rows of [11], and together the last of [10]."""
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
    elif isinstance(p, Ribbon):
        _, thresholds, directory = p.layout()
        if len(payload) != directory + 4 * len(p.num_blocks):
            raise Damaged("range: length of the payload")
        for layer, end in enumerate(thresholds[1:] + [directory] if thresholds else []):
            used = 2 * p.num_buckets(layer) % 8
            if used and payload[end - 1] >> used:
                raise Damaged("unused: bits of the thresholds")
    elif isinstance(p, Fuse):
        if len(payload) != p.payload_len():
            raise Damaged("range: length of the payload")
        used = p.num_slots() * p.fingerprint_bits
        if int.from_bytes(payload[used // 8:], "little") >> used % 8:
            raise Damaged("unused: bits after the last slot")
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
        if s > e or e > self.end or e - s > 512 * (r + 2):
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
