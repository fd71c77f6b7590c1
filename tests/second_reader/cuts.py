"""The groups of range filters of cut keys [16.1 to 16.6], format/ranges.md: what reads all of them.

A part of ranges.py, under its rule: changed for format-spec.md, never for the library.
"""
from __future__ import annotations

from typing import NamedTuple, Optional, Union

from kinds import Damaged, U64


class Fields:
    """Reads a group's fields one after another, as text of 0 and 1; bits past its end are 0 [16.1]."""

    def __init__(self, bits: str, at: int = 0) -> None:
        self.bits, self.at = bits, at

    def string(self, length: int) -> str:
        self.at += length
        return self.bits[self.at - length:self.at].ljust(length, "0")

    def number(self, width: int) -> int:
        return int("0" + self.string(width)[::-1], 2)

    def zeros(self) -> int:
        """Those before the next one, which is passed."""
        start, self.at = self.at, self.bits.index("1", self.at) + 1
        return self.at - 1 - start


class Code:
    """The bits of bytes [16.2], by the class of their place; None for a byte without any."""

    def __init__(self, data: bytes = b"", num_classes: int = 0, num_columns: int = 0) -> None:
        self.data, self.num_classes, self.num_columns = data, num_classes, num_columns
        self.bits: list[list[Optional[str]]] = [[format(byte, "08b") for byte in range(256)]]
        self.following = bytes(256)  # for each byte, the class of what follows it
        if num_classes:
            size = 2 * (num_columns + 1)
            self.following = bytes(data[256 + byte // 2] >> 4 * (byte % 2) & 15 for byte in range(256))
            if max(data[:256]) > num_columns or max(self.following) >= num_classes:
                raise Damaged("range: the code")
            tables = [data[at:at + size] for at in range(384, len(data), size)]
            self.bits = [[entry_of(table, column) if column else None for column in data[:256]] for table in tables]

    def string(self, rest: bytes, most: int) -> tuple[str, Optional[int], int]:
        """The bits of bytes behind the prefix, until there are `most`; and of the first byte without bits, which it
        is, and the class of its place."""
        place, string = self.following[0], ""
        for byte in rest:
            if len(string) >= most:
                break
            bits = self.bits[place][byte]
            if bits is None:
                return string, byte, place
            string += bits
            place = self.following[byte]
        return string, None, place


def entry_of(table: bytes, column: int) -> str:
    entry = int.from_bytes(table[2 * column:2 * column + 2], "little")
    return format(entry, "016b")[::-1][:min(entry >> 12, 12)]


def number_of(string: str) -> int:
    """The first 64 bits."""
    return int(string[:64].ljust(64, "0"), 2)


class Choices(NamedTuple):
    """What is left to the writer [16.7], but for groups."""
    code: Code
    group_units: int
    is_gaps: bool
    mark_bytes: int
    least: int
    width: int = 0


class Steps(NamedTuple):
    """A group of steps [16.5], but for its leaves' bits."""
    num_leaves: int
    centre: int
    low_bits: int
    extra: int
    longer: int

    def kept(self, i: int, lcp: list[int], least: int) -> int:
        return max(lcp[i] + 1, lcp[i + 1] + 1, least) + self.extra + (8 * i < self.longer * self.num_leaves)


class Gaps(NamedTuple):
    """A group of gaps [16.6], but for its values. A jump is its `from`, and its length in units."""
    num_leaves: int
    shift: int  # s
    low_bits: int
    unit: int
    jumps: tuple[tuple[int, int], ...]


class Decoder:
    """All groups of a filter: for each its separator, its head, and its leaves' bits or its values."""

    def __init__(self, p: Choices, payload: bytes, at: int, num_groups: int) -> None:
        self.p, size, groups_at = p, 32 * p.group_units, at + (num_groups - 1) * p.mark_bytes
        self.fields = [Fields("".join(format(byte, "08b")[::-1] for byte in payload[i:i + size]))
                       for i in range(groups_at, len(payload), size)]
        self.groups = [self.head(fields) for fields in self.fields]
        self.separators = [""]
        for i, (_, more) in zip(range(at, groups_at, p.mark_bytes), self.groups[1:]):
            mark = "".join(format(byte, "08b") for byte in payload[i:i + p.mark_bytes])
            self.separators.append(mark + more if more else mark.rstrip("0"))

    def head(self, fields: Fields) -> tuple[Union[Steps, Gaps], str]:
        """And the bits `more`."""
        number = fields.number
        if not self.p.is_gaps:
            steps = Steps(max(number(8), 1), number(10), number(4), number(4), number(3))
            return steps, fields.string(number(10)) if number(1) else ""
        num_values, kept, low_bits, num_jumps = number(10), number(7), number(6), number(4)
        widths = [number(6) for _ in range(3)] if num_jumps else [0, 0, 0]
        jumps = tuple((number(widths[0]), number(widths[1])) for _ in range(num_jumps))
        return Gaps(num_values, 64 - max(1, min(kept, 64)), min(low_bits, 57), widths[2], jumps), ""

    def leaves(self, g: int) -> list[str]:
        """The first bits of a group's leaves."""
        group, fields = self.groups[g][0], Fields(self.fields[g].bits, self.fields[g].at)
        assert isinstance(group, Steps)
        low = [fields.number(group.low_bits) for _ in range(group.num_leaves - 1)]
        zigzag = [fields.zeros() << group.low_bits | bits for bits in low]
        steps = [(group.centre + (-(z + 1 >> 1) if z & 1 else z >> 1)) % 1024 for z in zigzag]
        ends = [len(separator) - 1 for separator in (self.separators + [""])[g:g + 2]]
        lcp, end, leaves, string = [ends[0], *steps, ends[1]], len(fields.bits), [], self.separators[g]
        for i, following in enumerate(lcp[1:]):
            string = leaves[-1][:lcp[i]] + "1" if leaves else string
            is_left_out = lcp[i] < following
            length = group.kept(i, lcp, self.p.least) - len(string) - is_left_out
            end -= length
            bits = Fields(fields.bits, end).string(length)
            place = following - len(string)
            leaves.append(string + (bits[:place] + "0" + bits[place:] if is_left_out else bits))
        return leaves

    def stored(self, g: int) -> list[int]:
        """The values of a group of gaps as they are stored."""
        group, fields = self.groups[g][0], self.fields[g]
        low = Fields(fields.bits, len(fields.bits) - group.num_leaves * group.low_bits)
        high, values, place = Fields(fields.bits, fields.at), [], 0
        for _ in range(group.num_leaves):
            place += high.zeros()
            values.append(place << group.low_bits | low.number(group.low_bits))
        return values

    def numbers(self, g: int) -> list[tuple[int, int]]:
        """The first and the last number for which each value of a group of gaps stands."""
        group, numbers = self.groups[g][0], []
        assert isinstance(group, Gaps)
        start, end = (*map(number_of, self.separators[g:g + 2]), U64 + 1)[:2]
        for stored in self.stored(g):
            jumped = sum(units << group.unit for at, units in group.jumps if at <= stored)
            first = (start >> group.shift) + stored + jumped << group.shift
            numbers.append((max(first, start), min(first + (1 << group.shift), end) - 1))
        return numbers
