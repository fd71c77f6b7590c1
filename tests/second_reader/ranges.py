"""Range filters [16], format/ranges.md: reader and writer.

A part of filterblock.py, under its rule: changed for format-spec.md, never for the library. It decodes all groups and
answers by what their leaves and values mean, where the document and the library search two groups.
"""
from __future__ import annotations

import os
import struct
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Iterable, NamedTuple, Optional, Union

import filterblock as fb
import integers
from cuts import Choices, Code, Decoder, Gaps, Steps, number_of
from kinds import Damaged, Mismatch, Newer, U32, Unwritable

COUNTED, EXCLUDABLE, MOST_PREFIX, LEAST_GROUP = 1088, 1152, 2**16 - 1, 4
PARAMS = struct.Struct("<BBBBHBBI")


# -------------------------------------------------------------------------------------------------------- reader

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
    num_groups: int = 0

    @cached_property
    def decoder(self) -> Decoder:
        assert self.choices
        return Decoder(self.choices, self.payload, len(self.prefix) + len(self.choices.code.data), self.num_groups)

    @cached_property
    def leaves(self) -> list[tuple[str, str]]:
        """With zeros behind it, and as it is."""
        return [(full(leaf, "0"), leaf) for g in range(self.num_groups) for leaf in self.decoder.leaves(g)]

    @cached_property
    def numbers(self) -> list[tuple[int, int]]:
        return [each for g in range(self.num_groups) for each in self.decoder.numbers(g)]

    @property
    def num_leaves(self) -> int:
        return sum(group.num_leaves for group, _ in self.decoder.groups) if self.choices else 0

    def may_contain(self, lower: Bound, upper: Bound) -> bool:
        """The answer for a range [16, 16.4]."""
        if not integers.are_ordered(lower, upper):
            return True
        if self.choices is None:
            return False
        if self.choices.width:
            keys = (self.prefix + first.to_bytes(8)[:self.choices.width] for first, _ in self.numbers)
            return any(integers.is_above(key, lower) and integers.is_below(key, upper) for key in keys)
        code = self.choices.code
        low, high = lower_string(code, self.prefix, lower), upper_string(code, self.prefix, upper)
        return low is not None and high is not None and self.overlaps(self.choices, low, high)

    def overlaps(self, p: Choices, low: str, high: str) -> bool:
        """Whether a leaf or a value is in or around [low, high]."""
        first, last = number_of(low), number_of(high)
        if first > last:
            return False
        if p.is_gaps:
            return any(of[0] <= last and of[1] >= first for of in self.numbers)
        return any(low.startswith(leaf) or low <= zeros <= high for zeros, leaf in self.leaves)

    def may_contain_prefix(self, prefix: bytes) -> bool:
        return self.may_contain(Bound(prefix), Bound(prefix, is_prefix=True))


def full(string: str, tail: str) -> str:
    """With what follows without end."""
    return string.ljust(EXCLUDABLE + 64, tail)


def string_of(code: Code, rest: bytes, is_upper: bool, tail: str) -> str:
    """The string of a bound's bytes behind the prefix, and of what follows."""
    string, byte, place = code.string(rest, COUNTED)
    if byte is None:
        return full(string, tail)
    others: Iterable[int] = reversed(range(byte)) if is_upper else range(byte + 1, 256)
    near = next((bits for other in others if (bits := code.bits[place][other]) is not None), None)
    return full(string + (near or ""), "1" if is_upper == (near is not None) else "0")


def lower_string(code: Code, prefix: bytes, bound: Bound) -> Optional[str]:
    """L, or None if the bound is above all keys."""
    key = bound.key
    if key is None or key < prefix:
        return full("", "0")
    return string_of(code, key[len(prefix):], False, "0") if key.startswith(prefix) else None


def upper_string(code: Code, prefix: bytes, bound: Bound) -> Optional[str]:
    """U, or None if the bound is below all keys."""
    key = bound.key
    if key is None or key > prefix and not key.startswith(prefix) or bound.is_prefix and prefix.startswith(key):
        return full("", "1")
    if key < prefix:
        return None
    rest = key[len(prefix):]
    string, byte, _ = code.string(rest, EXCLUDABLE + 1)
    ends_in_one = not rest or "1" in (code.bits[code.string(rest[:-1], EXCLUDABLE + 1)[2]][rest[-1]] or "")
    if bound.is_excluded and byte is None and len(string) <= EXCLUDABLE and ends_in_one:
        last = string.rfind("1")
        return None if last < 0 else full(string[:last] + "0", "1")
    return string_of(code, rest, True, "1" if bound.is_prefix else "0")


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
    return open_cut_keys(params, num_entries, context, payload)


def open_cut_keys(params: bytes, num_entries: int, context: int, payload: bytes) -> RangeFilter:
    """The checks of the last rows of [11]."""
    group_units, is_gaps, mark_bytes, num_classes, prefix_len, num_columns, least, num_groups = PARAMS.unpack(params)
    if is_gaps > 1:
        raise Newer("reserved")
    least, width = (0, least) if is_gaps else (least, 0)
    if not (1 <= group_units <= 16 and 1 <= mark_bytes <= 8 and num_classes <= 16
            and 1 <= num_groups <= num_entries) or num_columns and not num_classes or width > (0 if num_classes else 8):
        raise Damaged("range: params")
    at = prefix_len + (384 + 2 * num_classes * (num_columns + 1) if num_classes else 0)
    group_len = 32 * group_units
    last = len(payload) - at - (num_groups - 1) * (mark_bytes + group_len)
    if not LEAST_GROUP <= last <= group_len:
        raise Damaged("range: length of the payload")
    code = Code(payload[prefix_len:at], num_classes, num_columns)
    choices = Choices(code, group_units, bool(is_gaps), mark_bytes, least, width)
    return RangeFilter(num_entries, context, payload, choices, payload[:prefix_len], num_groups)


# -------------------------------------------------------------------------------------------------------- writer

def bytes_of(bits: str) -> bytes:
    """Bytes of which character i is bit i, with zeros up to the next one."""
    return int("0" + bits[::-1], 2).to_bytes((len(bits) + 7) // 8, "little")


def field_of(number: int, width: int) -> str:
    if number >> width:
        raise Unwritable("a field that is too narrow")
    return format(number, f"0{width}b")[::-1][:width]


def in_common(a: str, b: str) -> int:
    """How many bits two strings have in common, as far as both go."""
    return len(os.path.commonprefix((a, b)))


class Group(NamedTuple):
    """What a writer chooses of a group: the first keys of its leaves, or of it. A jump's `from` is a value's number."""
    head: Union[Steps, Gaps]
    firsts: list[int]


def steps_of(p: Choices, group: Group, strings: list[str], end: int, lengths: tuple[int, int]) -> tuple[str, str]:
    """What follows the head of a group of steps from its beginning on, and what is up to its end; `lengths` are those
    of its separator and the next one."""
    steps, of, leaves = group.head, [strings[first] for first in group.firsts], ""
    assert isinstance(steps, Steps)
    lcp = [lengths[0] - 1, *map(in_common, of, of[1:]), lengths[1] - 1]
    if max(lcp) > 1023:
        raise Unwritable("leaves that have too many bits in common")
    zigzag = [2 * (c - steps.centre) if c >= steps.centre else 2 * (steps.centre - c) - 1 for c in lcp[1:-1]]
    low = "".join(field_of(z & (1 << steps.low_bits) - 1, steps.low_bits) for z in zigzag)
    for i, (string, after) in enumerate(zip(of, [*group.firsts[1:], end])):
        kept, following = steps.kept(i, lcp, p.least), lcp[i + 1]
        if strings[after - 1][:kept] != string[:kept]:
            raise Unwritable("keys of a leaf that differ in its bits")
        is_left_out = lcp[i] < following
        own = string[lcp[i] + 1:following] + string[following + 1:kept] if is_left_out else string[lcp[i] + 1:kept]
        leaves = own + leaves
    return low + "".join("0" * (z >> steps.low_bits) + "1" for z in zigzag), leaves


def gaps_of(gaps: Gaps, numbers: list[int], base: int) -> tuple[str, str]:
    """The whole group."""
    values, jumps = sorted({(number >> gaps.shift) - (base >> gaps.shift) for number in numbers}), []
    if gaps.low_bits > 57:
        raise Unwritable("low bits that a reader does not take")
    for at, units in gaps.jumps:
        values = values[:at] + [value - (units << gaps.unit) for value in values[at:]]
        jumps.append((values[at], units))
    front = [(len(values), 10), (64 - gaps.shift, 7), (gaps.low_bits, 6), (len(jumps), 4)]
    if jumps:
        widths = [max(column).bit_length() for column in zip(*jumps)]
        front += [(number, 6) for number in (*widths, gaps.unit)]
        front += [each for jump in jumps for each in zip(jump, widths)]
    high = [value >> gaps.low_bits for value in values]
    unary = "".join("0" * (after - before) + "1" for before, after in zip([0, *high], high))
    low = [field_of(value & (1 << gaps.low_bits) - 1, gaps.low_bits) for value in values]
    return "".join(field_of(*each) for each in front) + unary, "".join(low)


def build_ranges(p: Choices, prefix: bytes, strings: list[str], groups: list[Group]) -> bytes:
    """The payload of keys of which these are the strings."""
    starts = [group.firsts[0] for group in groups]
    separators = ["", *(strings[at][:in_common(strings[at - 1], strings[at]) + 1] for at in starts[1:])]
    payload, marked = prefix + p.code.data, 8 * p.mark_bytes
    for separator in separators[1:]:
        payload += int(full(separator, "0")[:marked], 2).to_bytes(p.mark_bytes, "big")
    for g, (group, separator, end) in enumerate(zip(groups, separators, [*starts[1:], len(strings)])):
        head, more, is_last = group.head, separator[marked:], g + 1 == len(groups)
        if isinstance(head, Gaps):
            if more:
                raise Unwritable("a separator of more than a mark")
            numbers = list(map(number_of, strings[starts[g]:end]))
            if p.width and any(number & (1 << head.shift) - 1 for number in numbers):
                raise Unwritable("bits that are cut off")
            front, back = gaps_of(head, numbers, number_of(separator))
        else:
            fields = [(len(group.firsts), 8), (head.centre, 10), (head.low_bits, 4), (head.extra, 4), (head.longer, 3),
                      (bool(more), 1)] + [(len(more), 10)] * bool(more)
            column, back = steps_of(p, group, strings, end, (len(separator), len((separators + [""])[g + 1])))
            front = "".join(field_of(*each) for each in fields) + more + column
        bits, most = len(front) + len(back), 256 * p.group_units
        size = 8 * max(-(-bits // 8), LEAST_GROUP) if is_last else most
        if bits > most:
            raise Unwritable("a group of more than its bits")
        payload += bytes_of(front + "0" * (size - bits) + back)
    return payload


def write_range(p: Optional[Choices], keys: list[bytes], groups: list[Group], context: int = 0) -> bytes:
    """The block of sorted, distinct keys."""
    params, payload = bytes(12), b""
    if keys:
        assert p
        prefix = common_prefix(keys)
        if p.width and any(len(key) != len(prefix) + p.width for key in keys):
            raise Unwritable("keys of another length")
        payload = build_ranges(p, prefix, strings_of(p, prefix, keys), groups)
        params = PARAMS.pack(p.group_units, p.is_gaps, p.mark_bytes, p.code.num_classes, len(prefix),
                             p.code.num_columns, p.least or p.width, len(groups))
    m, of_keys = fb.mix(context), (len(keys), len(payload), params)
    head = fb.HEADER.pack(fb.MAGIC, 1, fb.RANGE, 1, 0, 0, 0, 0, *of_keys, fb.xxh3(payload) ^ m, 0)[:60]
    return head + (fb.masked_crc(head) ^ m & U32).to_bytes(4, "little") + payload


def common_prefix(keys: list[bytes]) -> bytes:
    return os.path.commonprefix((keys[0], keys[-1]))[:MOST_PREFIX]


def strings_of(p: Choices, prefix: bytes, keys: list[bytes]) -> list[str]:
    """As far as they count, with the zeros that follow."""
    read = [p.code.string(key[len(prefix):], COUNTED) for key in keys]
    if any(byte is not None for _, byte, _ in read):
        raise Unwritable("a byte without bits")
    return [string[:COUNTED].ljust(COUNTED, "0") for string, _, _ in read]


def rebuild(f: AnyFilter, keys: Iterable[bytes]) -> bytes:
    """The block that a writer makes of these keys with an opened filter's choices."""
    if isinstance(f, integers.IntegerFilter):
        return f.rebuild(keys)
    p, distinct, groups = f.choices, sorted(set(keys)), []
    if p:
        strings, decoder = strings_of(p, common_prefix(distinct), distinct), f.decoder
        for g, (head, _) in enumerate(decoder.groups):
            firsts = decoder.leaves(g) if isinstance(head, Steps) else [decoder.separators[g]]
            if isinstance(head, Gaps):
                stored = decoder.stored(g)
                head = head._replace(jumps=tuple((bisect_left(stored, at), units) for at, units in head.jumps))
            groups.append(Group(head, [bisect_left(strings, first) for first in firsts]))
    return write_range(p, distinct, groups, f.context)
