"""Range filters [16], format/ranges.md: reader and writer.

A part of filterblock.py, under its rule: changed for format-spec.md, never for the library. It decodes all leaves and
answers by the definition [16.4], where the library goes down from the root.
"""
from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from typing import Callable, Iterable, Optional, Union

import filterblock as fb
import integers
from kinds import Damaged, Mismatch, Newer, U32, Unwritable

MOST_DEPTH, MOST_CODE, MOST_PREFIX, FANOUT, MARK = 1023, 12, 2**16 - 1, 64, 16
ENDLESS = 1 << 10  # more than are compared
PARAMS = struct.Struct("<BBHHHI")


# --------------------------------------------------------------------------------- strings of bits, as text of 0 and 1

def bits_of(data: bytes) -> str:
    """Bit i of the bytes is character i."""
    return format(int.from_bytes(data, "little") | 1 << 8 * len(data), "b")[:0:-1]


def bytes_of(bits: str) -> bytes:
    """The inverse, with zeros up to the next byte."""
    return int("0" + bits[::-1], 2).to_bytes((len(bits) + 7) // 8, "little")


def number_at(bits: str, at: int, width: int) -> int:
    """A field [1]; bits behind the end are 0 [16.4]."""
    return int("0" + bits[at:at + width][::-1], 2)


def field_of(number: int, width: int) -> str:
    return format(number | 1 << width, "b")[:0:-1]


def padded(bits: str) -> str:
    return bits + "0" * (-len(bits) % 8)


def in_common(a: str, b: str) -> int:
    """How many bits two strings have in common, as far as both go."""
    return len(os.path.commonprefix((a, b)))


# ---------------------------------------------------------------------------------------------------- parameters

@dataclass(frozen=True)
class Choices:
    """What is left to the writer [16.5], but for which keys are joined."""
    table: Optional[bytes]
    end_len: int
    extra: int
    least: int
    longer: int
    depth: int
    codes: tuple[str, ...] = field(init=False, repr=False, compare=False)  # of each byte value [16.1], "" for none

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", codes_of(self.table, self.end_len))

    def kept(self, i: int, common: int, is_joined: bool) -> int:
        """kept(i) [16.2], where `common` is m."""
        if is_joined:
            return max(common + 1, self.least)
        return min(max(common + 1 + self.extra, self.least + (i % FANOUT < self.longer)), self.depth)

    def string(self, rest: bytes) -> str:
        """The bits of bytes behind the prefix, all of which have some."""
        return "".join(self.codes[byte] for byte in rest)


def codes_of(table: Optional[bytes], end_len: int) -> tuple[str, ...]:
    """[16.1]"""
    if table is None:
        return tuple(format(byte, "08b") for byte in range(256))
    lengths = [table[v // 2] >> 4 * (v % 2) & 15 for v in range(256)]
    taken = 1 << MOST_CODE - end_len if end_len else 0
    codes = []
    for width in lengths:
        if width > MOST_CODE:
            raise Damaged("range: length of a byte")
        step = 1 << MOST_CODE - width
        if width and (taken % step or taken >= 1 << MOST_CODE):
            raise Damaged("range: table")
        codes.append(field_of(taken // step, width)[::-1] if width else "")
        taken += step if width else 0
    if taken != 1 << MOST_CODE:
        raise Damaged("range: table")
    return tuple(codes)


def levels_of(num_leaves: int) -> list[int]:
    """How many entries each level has: leaves, groups of leaves, and so on up to the root's."""
    counts = [num_leaves]
    while counts[-1] > FANOUT:
        counts.append(-(-counts[-1] // FANOUT))
    return counts


# -------------------------------------------------------------------------------------------------------- reader

class Decoder:
    """Reads the groups one after another, as they are stored."""

    def __init__(self, f: RangeFilter, p: Choices) -> None:
        self.f, self.p, self.bits, self.at = f, p, bits_of(f.payload), 8 * f.start
        self.leaves: list[str] = []
        self.joined: list[bool] = []
        self.decode_leaves(self.group_firsts())
        self.padded = [(leaf.ljust(p.depth, "0"), leaf) for leaf in self.leaves]

    def number(self, width: int) -> int:
        self.at += width
        return number_at(self.bits, self.at - width, width)

    def string(self, length: int) -> str:
        self.at += length
        return self.bits[self.at - length:self.at].ljust(length, "0")

    def head(self) -> tuple[int, int]:
        return self.number(10), self.number(6)

    def column(self, head: tuple[int, int], count: int) -> list[int]:
        return [head[0] + self.number(head[1]) for _ in range(count)]

    def align(self) -> None:
        self.at += -self.at % 8

    def group_firsts(self) -> list[str]:
        """The strings of the first leaves of all groups of leaves."""
        firsts = [self.string(self.f.first_len)]
        self.align()
        for count in reversed(levels_of(self.f.num_leaves)[1:]):
            entries: list[str] = []
            for g, first in enumerate(firsts):
                k = min(FANOUT, count - FANOUT * g)
                self.number(40)
                place_width = self.number(8)
                heads = self.head(), self.head()
                self.at += (MARK + place_width) * (k - 1)
                common, stored = (self.column(head, k - 1) for head in heads)
                entries.append(first)
                for c, length in zip(common, stored):
                    entries.append(entries[-1][:c] + "1" + self.string(length))
                self.align()
            firsts = entries
        return firsts

    def decode_leaves(self, firsts: list[str]) -> None:
        for g, first in enumerate(firsts):
            i = FANOUT * g
            k = min(FANOUT, self.f.num_leaves - i)
            common = self.column(self.head(), k)
            joined = [bool(self.number(self.f.has_joined)) for _ in range(k)]
            self.leaves.append(first)
            for j in range(1, k):
                c, following = common[j - 1], common[j]
                kept = self.p.kept(i + j, max(c, following), joined[j])
                is_left_out = c < following < kept
                rest = self.string(kept - c - 1 - is_left_out)
                if is_left_out:
                    at = following - c - 1
                    rest = rest[:at] + "0" + rest[at:]
                self.leaves.append(self.leaves[-1][:c] + "1" + rest)
            self.joined += joined
            self.align()


@dataclass(frozen=True)
class Bound:
    """Of a range: `key` is None where there is none, and of a prefix `is_prefix`."""
    key: Optional[bytes] = None
    is_excluded: bool = False
    is_prefix: bool = False


@dataclass
class RangeFilter:
    """An opened range filter. `choices` is None without keys."""
    num_entries: int
    context: int
    payload: bytes = b""
    choices: Optional[Choices] = None
    prefix: bytes = b""
    has_joined: bool = False
    num_leaves: int = 0
    first_len: int = 0
    start: int = 0  # of the bits of leaf 0, in the payload
    _decoded: Optional[Decoder] = field(default=None, init=False, repr=False, compare=False)

    def decoded(self) -> Decoder:
        if not self._decoded:
            assert self.choices
            self._decoded = Decoder(self, self.choices)
        return self._decoded

    def may_contain(self, lower: Bound, upper: Bound) -> bool:
        """The answer for a range [16, 16.4]."""
        if not integers.are_ordered(lower, upper):
            return True
        if self.choices is None:
            return False
        low, high = lower_string(self.choices, self.prefix, lower), upper_string(self.choices, self.prefix, upper)
        if low is None or high is None:
            return False
        length, depth = max(len(low), len(high)), self.choices.depth
        if low.ljust(length, low[-1]) > high.ljust(length, high[-1]):
            return False
        low, high = low[:depth], high[:depth]
        return any(leaf <= high and (leaf >= low or low.startswith(own)) for leaf, own in self.decoded().padded)

    def may_contain_prefix(self, prefix: bytes) -> bool:
        return self.may_contain(Bound(prefix), Bound(prefix, is_prefix=True))


def string_of(p: Choices, rest: bytes, is_upper: bool, tail: str) -> str:
    """The string of a bound's bytes behind the prefix, and of what follows."""
    string = ""
    for byte in rest:
        if not p.codes[byte]:
            others: Iterable[int] = reversed(range(byte)) if is_upper else range(byte + 1, 256)
            near = next((p.codes[other] for other in others if p.codes[other]), "")
            return string + near + ("1" if is_upper == bool(near) else "0") * ENDLESS
        string += p.codes[byte]
        if len(string) >= p.depth:
            break
    return string + tail * ENDLESS


def lower_string(p: Choices, prefix: bytes, bound: Bound) -> Optional[str]:
    """L, or None if the bound is above all keys."""
    key = bound.key
    if key is None or key < prefix:
        return "0" * ENDLESS
    return string_of(p, key[len(prefix):], False, "0") if key.startswith(prefix) else None


def upper_string(p: Choices, prefix: bytes, bound: Bound) -> Optional[str]:
    """U, or None if the bound is below all keys."""
    key = bound.key
    if key is None or key > prefix and not key.startswith(prefix) or bound.is_prefix and prefix.startswith(key):
        return "1" * ENDLESS
    if key < prefix or bound.is_excluded and key == prefix:
        return None
    rest = key[len(prefix):]
    if bound.is_excluded and all(p.codes[byte] for byte in rest):
        string = p.string(rest)
        if len(string) <= p.depth and "1" in p.codes[rest[-1]]:
            return format(int(string, 2) - 1, f"0{len(string)}b") + "1" * ENDLESS
    return string_of(p, rest, True, "1" if bound.is_prefix else "0")


AnyFilter = Union[RangeFilter, integers.IntegerFilter]


def open_range(data: bytes, context: int = 0) -> AnyFilter:
    """Opens a range filter with the checks of [11], in that order."""
    if len(data) < 64:
        raise Damaged("length: shorter than a header")
    (magic, version, kind, hash_id, transform_id, features, transform_param, seed, num_entries, payload_len,
     params, digest, crc) = fb.HEADER.unpack_from(data)
    if magic != fb.MAGIC:
        raise Damaged("magic: not a block")
    payload, m = data[64:], fb.mix(context)
    c, d = crc ^ fb.masked_crc(data[:60]), digest ^ fb.xxh3(payload)
    if c != m & U32:
        if c == d & U32:
            raise Mismatch("crc: another context", fb.unmix(d))
        raise Damaged("crc")
    if version != 1:
        raise Newer("version") if version else Damaged("version: 0")
    if kind not in (*fb.KINDS, fb.RANGE):
        raise Newer("kind")
    if kind != fb.RANGE:
        raise Mismatch("kind: not a range filter")
    if hash_id != 1 or seed:
        raise Newer("hash_id")
    if features >> 8:
        raise Newer("features")
    if transform_id or transform_param:
        raise Newer("transform")
    if payload_len != len(payload):
        raise Damaged("payload_len")
    if d != m:
        raise Damaged("digest")
    if num_entries == 0:
        if payload_len:
            raise Damaged("empty-len")
        if any(params):
            raise Newer("empty-params")
        return RangeFilter(0, context)
    if params[1] & integers.IS_INTEGERS:
        return integers.open_integers(params, num_entries, context, payload)
    extra, flags, least, depth, prefix_len, num_leaves = PARAMS.unpack(params)
    least, longer, has_table, end_len = least & 1023, least >> 10, flags & 1, flags >> 4
    if flags & 0b1000:
        raise Newer("reserved")
    if (depth > MOST_DEPTH or extra > depth or least > depth or not 1 <= num_leaves <= num_entries
            or end_len > (MOST_CODE if has_table else 0)):
        raise Damaged("range: params")
    at = prefix_len + 128 * has_table
    if len(payload) < at + 2:
        raise Damaged("range: length of the payload")
    first_len = int.from_bytes(payload[at:at + 2], "little")
    if first_len > depth or len(payload) < at + 2 + (first_len + 7) // 8:
        raise Damaged("range: first_len")
    table = payload[prefix_len:at] if has_table else None
    return RangeFilter(num_entries, context, payload, Choices(table, end_len, extra, least, longer, depth),
                       payload[:prefix_len], bool(flags & 2), num_leaves, first_len, at + 2)


# -------------------------------------------------------------------------------------------------------- writer

def column_head(numbers: list[int]) -> tuple[str, Callable[[], str]]:
    """The head of a column of these, and what makes their fields."""
    least = min(numbers, default=0)
    width = (max(numbers, default=0) - least).bit_length()
    return field_of(least, 10) + field_of(width, 6), lambda: "".join(field_of(n - least, width) for n in numbers)


def leaf_groups(p: Choices, strings: list[str], joined: list[bool]) -> tuple[list[str], list[str]]:
    """The leaves of these strings of first keys, and their groups."""
    common = [0, *map(in_common, strings, strings[1:]), 0]
    leaves, groups = [], []
    for i, string in enumerate(strings):
        is_all = joined[i] and len(strings) == 1
        kept = p.least if is_all else p.kept(i, max(common[i:i + 2]), joined[i])
        leaves.append(string[:kept])
    for i in range(0, len(leaves), FANOUT):
        end = min(i + FANOUT, len(leaves))
        head, fields = column_head(common[i + 1:end + 1])
        group = head + fields() + ("".join("01"[j] for j in joined[i:end]) if any(joined) else "")
        for j in range(i + 1, end):
            leaf, c, following = leaves[j], common[j], common[j + 1]
            group += leaf[c + 1:following] + leaf[following + 1:] if c < following < len(leaf) else leaf[c + 1:]
        groups.append(padded(group))
    return leaves, groups


def inner_groups(entries: list[str], places: list[int]) -> list[str]:
    """The groups of a level above the leaves, whose entries' groups are at these offsets."""
    groups = []
    for i in range(0, len(entries), FANOUT):
        own, offsets = entries[i:i + FANOUT], [place - places[i] for place in places[i + 1:i + FANOUT]]
        common = [in_common(*pair) for pair in zip(own, own[1:])]
        rest = [entry[c + 1:] for entry, c in zip(own[1:], common)]
        place_width, least = max(offsets, default=0).bit_length(), min(common, default=0)
        (head, fields), (rest_head, rest_fields) = column_head(common), column_head([len(bits) for bits in rest])
        marks = "".join(entry[least:least + MARK].ljust(MARK, "0")[::-1] for entry in own[1:])
        groups.append(padded(
            field_of(places[i], 40) + field_of(place_width, 8) + head + rest_head + marks
            + "".join(field_of(offset, place_width) for offset in offsets) + fields() + rest_fields() + "".join(rest)))
    return groups


def build_ranges(p: Choices, prefix: bytes, strings: list[str], joined: list[bool]) -> bytes:
    """The payload of leaves of which these are the strings of their first keys, and whether they are joined [16.3]."""
    leaves, groups = leaf_groups(p, strings, joined)
    levels, firsts = [groups], [leaves[::FANOUT]]
    while len(levels[-1]) > 1:  # as if each level began at 0: their lengths depend on differences of offsets alone
        levels.append(inner_groups(firsts[-1], offsets_of(levels[-1], 0)))
        firsts.append(firsts[-1][::FANOUT])
    head = prefix + (p.table or b"") + len(leaves[0]).to_bytes(2, "little") + bytes_of(leaves[0])
    start = len(head)
    for level in reversed(range(1, len(levels))):
        start += sum(map(len, levels[level])) // 8
        levels[level] = inner_groups(firsts[level - 1], offsets_of(levels[level - 1], start))
    return head + bytes_of("".join(map("".join, reversed(levels))))


def offsets_of(groups: list[str], start: int) -> list[int]:
    offsets = [start]
    for group in groups[:-1]:
        offsets.append(offsets[-1] + len(group) // 8)
    return offsets


def write_range(p: Optional[Choices], keys: list[bytes], joined: dict[int, int], context: int = 0) -> bytes:
    """The block of sorted, distinct keys. `joined` has the first key of each leaf that is joined, and the end of its
    keys."""
    params, payload = bytes(12), b""
    if keys:
        assert p
        prefix = os.path.commonprefix((keys[0], keys[-1]))[:MOST_PREFIX]
        strings = [p.string(key[len(prefix):])[:MOST_DEPTH].ljust(MOST_DEPTH, "0") for key in keys]
        firsts, end = [], 0
        for i, string in enumerate(strings):
            if i >= end and (i in joined or i == 0 or string != strings[i - 1]):
                firsts.append(i)
                end = joined.get(i, i)
        payload = build_ranges(p, prefix, [strings[i] for i in firsts], [i in joined for i in firsts])
        flags = (p.table is not None) | bool(joined) << 1 | p.end_len << 4
        params = PARAMS.pack(p.extra, flags, p.least | p.longer << 10, p.depth, len(prefix), len(firsts))
    m = fb.mix(context)
    head = fb.HEADER.pack(fb.MAGIC, 1, fb.RANGE, 1, 0, 0, 0, 0, len(keys), len(payload), params, fb.xxh3(payload) ^ m,
                          0)[:60]
    return head + (fb.masked_crc(head) ^ m & U32).to_bytes(4, "little") + payload


def rebuild(f: AnyFilter, keys: Iterable[bytes]) -> bytes:
    """The block that a writer makes of these keys with an opened filter's choices."""
    if isinstance(f, integers.IntegerFilter):
        return f.rebuild(keys)
    p, distinct = f.choices, sorted(set(keys))
    joined: dict[int, int] = {}
    if p:
        strings = [p.string(key[len(f.prefix):]).ljust(p.depth, "0") for key in distinct]
        end = 0
        for leaf, is_joined in zip(f.decoded().leaves, f.decoded().joined):
            start = end
            while end < len(strings) and strings[end].startswith(leaf):
                end += 1
            if is_joined:
                joined[start] = end
        if end < len(strings):
            raise Unwritable("a key without a leaf")
    return write_range(p, distinct, joined, f.context)
