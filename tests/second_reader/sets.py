"""Filter sets [17], format/set.md: reader and writer. Under the rule of filterblock.py: changed for the document,
never for the library.

    python3 sets.py vectors ../../format    compares with the document's vectors
    python3 sets.py                         a line of reply for each line of request

A request has a `set`, the `seed` or `key` if one is expected, `files` of name and identity, and `queries` of column and
value texts. The reply has `answers`: for each query, a letter for each file.
"""
from __future__ import annotations

import json
import re
import struct
import sys
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence

import filterblock as fb
from conformance import class_of, hasher_of
from kinds import U64, Damaged, FilterError, Mismatch, Newer, mix

MAGIC = bytes.fromhex("f346424c530d0a1a")
FOOTER = struct.Struct("<8sBBBBHHQIIQQ4sQI")
COLUMN, FILE, RECORD = struct.Struct("<IB3s"), struct.Struct("<QIB3s"), struct.Struct("<QIIIHBBB3s")
EXAMPLE = {b"a": (1, ["int:7", "int:300"]), b"b": (2, ["int:-1"])}  # files with their identities and values
NUM_CLASSES, NO_CLASS = 8, -1  # NO_CLASS: of a value that is of none [17.7]

Value = tuple[int, Optional[bytes]]  # class, and entry if there is one
Compared = Iterator[tuple[str, Any, Any]]  # name, what is made here, what the document has


# ---------------------------------------------------------------------------------------------- groups [17.3]

@dataclass(frozen=True)
class Group:
    """What the index states of a group, but its files."""
    offset: int
    num_pages: int
    unit_pages: int
    num_lanes: int
    column: int
    visits: int
    bands: int
    row_bits: int

    def pack(self) -> bytes:
        return RECORD.pack(self.offset, self.num_pages, self.unit_pages, self.num_lanes, self.column, self.visits,
                           self.bands, self.row_bits, bytes(3))

    def is_valid(self) -> bool:
        return (1 <= self.visits <= 32 and 1 <= self.bands <= 8 and self.row_bits <= 8
                and self.bands * self.row_bits <= 32 and 1 <= self.num_pages < 2**31
                and 1 <= self.unit_pages <= self.num_pages and 1 <= self.num_lanes <= 2**24
                and self.payload_of(0) <= 2**31 and self.visits * self.num_units * (self.payload_of(0) + 8) <= 2**48)

    @property
    def page_rows(self) -> int:
        return self.bands << self.row_bits

    @property
    def num_units(self) -> int:
        return -(-self.num_pages // self.unit_pages)

    def payload_of(self, j: int) -> int:
        pages = min(self.unit_pages, self.num_pages - j * self.unit_pages)
        return -(-pages * self.page_rows * self.num_lanes // 8)

    @property
    def part_len(self) -> int:
        return (self.num_units - 1) * (self.payload_of(0) + 8) + self.payload_of(self.num_units - 1) + 8

    @property
    def length(self) -> int:
        return self.visits * self.part_len

    def unit_at(self, v: int, j: int) -> int:
        return self.offset + v * self.part_len + j * (self.payload_of(0) + 8)

    def probes(self, h: int) -> Iterator[tuple[int, int, int]]:
        """Part, page, and row of the page."""
        for v in range(self.visits):
            x = mix(h + (v + 1) * 0x9e3779b97f4a7c15 & U64)
            for b in range(self.bands):
                row = (b << self.row_bits) + (x >> b * self.row_bits) % (1 << self.row_bits)
                yield v, x * self.num_pages >> 64, row


def context_of(group: Group, hasher: fb.Hasher, column: bytes, value_class: int, identities: Sequence[int]) -> int:
    packed = group.pack()
    return fb.xxh3(bytes([hasher.hash_id, value_class, 0, 0]) + hasher.seed.to_bytes(8, "little") + packed[8:20]
                   + packed[22:28] + bytes(2) + fb.xxh3(column).to_bytes(8, "little")
                   + struct.pack(f"<{len(identities)}Q", *identities))


def check_of(context: int, v: int, j: int, payload: bytes) -> int:
    return fb.xxh3(payload) ^ mix(context ^ (v * 2**32 + j))


def write_group(group: Group, context: int, lanes: Sequence[Sequence[int]]) -> bytes:
    """The bytes of a group whose lanes have these hashes."""
    units = {(v, j): bytearray(group.payload_of(j)) for v in range(group.visits) for j in range(group.num_units)}
    for lane, hashes in enumerate(lanes):
        for v, page, row in (probe for h in hashes for probe in group.probes(h)):
            bit = (page % group.unit_pages * group.page_rows + row) * group.num_lanes + lane
            units[v, page // group.unit_pages][bit // 8] |= 1 << bit % 8
    return b"".join(bytes(payload) + check_of(context, v, j, payload).to_bytes(8, "little")
                    for (v, j), payload in units.items())


# ---------------------------------------------------------------------------------------------------- reader

@dataclass
class FilterSet:
    """An opened set."""
    data: bytes
    columns: dict[bytes, tuple[int, int]]  # number, class
    files: dict[bytes, tuple[int, int]]  # number, identity
    groups: list[tuple[Group, int, list[int]]]  # with contexts and files
    hasher: fb.Hasher

    def lookup(self, name: bytes, identity: int, column: bytes, values: Sequence[Value]) -> bool:
        """True for *maybe*, False for *no*: whether the file may have any of the values [17.5]."""
        if name not in self.files or self.files[name][1] != identity or column not in self.columns:
            return True
        return any(self.maybe(self.files[name][0], *self.columns[column], *value) for value in values)

    def maybe(self, file: int, column: int, own_class: int, value_class: int, entry: Optional[bytes]) -> bool:
        """Steps 2 to 4, for a file and a column of the set."""
        if own_class >= NUM_CLASSES or value_class != own_class or entry is None:
            return True
        for group, context, files in self.groups:
            if group.column == column and file in files:
                lane = files.index(file)
                return all(self.bit(group, context, lane, *probe) for probe in group.probes(self.hasher.hash(entry)))
        return True

    def bit(self, group: Group, context: int, lane: int, v: int, page: int, row: int) -> bool:
        payload = self.unit(group, context, v, page // group.unit_pages)
        bit = (page % group.unit_pages * group.page_rows + row) * group.num_lanes + lane
        return payload is None or bool(payload[bit // 8] >> bit % 8 & 1)

    def unit(self, group: Group, context: int, v: int, j: int) -> Optional[bytes]:
        """The payload of a unit whose check holds."""
        at, length = group.unit_at(v, j), group.payload_of(j)
        payload, check = self.data[at:at + length], self.data[at + length:at + length + 8]
        return payload if check == check_of(context, v, j, payload).to_bytes(8, "little") else None


def open_set(data: bytes, hasher: Optional[fb.Hasher] = None) -> FilterSet:
    """Opens a set with every check of [17.5], in that order. `hasher` says what the caller expects."""
    if len(data) < 64:
        raise Damaged("length: shorter than a footer")
    (magic, version, zero, hash_id, zero_too, features, num_columns, seed, num_files, num_groups, index_len, data_len,
     zeros, digest, crc) = FOOTER.unpack(data[-64:])
    if magic != MAGIC:
        raise Damaged("magic: not a set")
    if crc != fb.masked_crc(data[-64:-4]):
        raise Damaged("crc")
    if version != 1:
        raise Newer("version") if version else Damaged("version: 0")
    if hash_id not in (1, 2):
        raise Newer("hash_id")
    if features >> 8:
        raise Newer("features")
    if zero or zero_too or any(zeros):
        raise Newer("reserved")
    if data_len + index_len + 64 > len(data):
        raise Damaged("index_len")
    foreign = len(data) - (data_len + index_len + 64)
    index = data[len(data) - 64 - index_len:-64]
    if digest != fb.xxh3(index):
        raise Damaged("digest")
    if hasher is not None and (hasher.hash_id, hasher.seed) != (hash_id, seed):
        raise Mismatch("expected: hash, seed or key")
    if hasher is None:
        if hash_id == 2:
            raise Mismatch("key: not given")
        hasher = fb.Hasher.xxh3_with(seed)
    columns_at, files_at, groups_at, members_at = accumulate((8, 8 * num_columns, 16 * num_files, 28 * num_groups))
    if members_at > index_len:
        raise Damaged("parts")
    records = list(RECORD.iter_unpack(index[groups_at:members_at]))
    num_members = sum(record[3] for record in records)
    if members_at + 4 * num_members > index_len:
        raise Damaged("parts: members")
    members = list(struct.unpack_from(f"<{num_members}I", index, members_at))
    base_len = int.from_bytes(index[:8], "little")
    if base_len > data_len:
        raise Damaged("base")
    names, start = index[members_at + 4 * num_members:], 0
    columns: list[tuple[bytes, int]] = []
    for end, value_class, reserved in COLUMN.iter_unpack(index[columns_at:files_at]):
        if any(reserved):
            raise Newer("columns")
        if not start <= end <= len(names):
            raise Damaged("columns")
        columns.append((names[start:end], value_class))
        start = end
    files: list[tuple[bytes, int]] = []
    for identity, end, is_dropped, reserved in FILE.iter_unpack(index[files_at:groups_at]):
        if any(reserved):
            raise Newer("files")
        if not start <= end <= len(names) or is_dropped != (start == end):
            raise Damaged("files")
        files.append((names[start:end], identity))
        start = end
    if start != len(names):
        raise Damaged("files: names")
    named = [name for name, _ in files if name]
    if len(set(named)) != len(named) or len({name for name, _ in columns}) != num_columns:
        raise Damaged("names")
    groups: list[tuple[Group, int, list[int]]] = []
    seen: set[tuple[int, int]] = set()
    for *fields, reserved in records:
        group = Group(*fields)
        if any(reserved):
            raise Newer("groups")
        if not group.is_valid() or group.column >= num_columns:
            raise Damaged("groups")
        limit, moved = (base_len, 0) if group.offset < base_len else (data_len, foreign)
        if group.offset + group.length > limit:
            raise Damaged("groups: bytes")
        own, members = members[:group.num_lanes], members[group.num_lanes:]
        lanes = {(group.column, file) for file in own}
        if max(own) >= num_files or len(lanes) != len(own) or lanes & seen:
            raise Damaged("groups: members")
        seen |= lanes
        context = context_of(group, hasher, *columns[group.column], [files[file][1] for file in own])
        groups.append((replace(group, offset=group.offset + moved), context, own))
    return FilterSet(data, {name: (i, value_class) for i, (name, value_class) in enumerate(columns)},
                     {name: (i, identity) for i, (name, identity) in enumerate(files) if name}, groups, hasher)


# ---------------------------------------------------------------------------------------------------- writer

def write_set(columns: Sequence[tuple[bytes, int]], files: Sequence[tuple[bytes, int]],
              groups: Sequence[tuple[Group, Sequence[tuple[int, Sequence[int]]]]], hasher: fb.Hasher, base_len: int = 0,
              num_old: int = 0) -> bytes:
    """A set of columns (name, class), files (name, identity) and groups, each with its files and their hashes; the groups'
    offsets are made here. Or what is appended to a set of `base_len` bytes, which has the first `num_old` groups."""
    data, index, records, members = b"", base_len.to_bytes(8, "little"), b"", b""
    for i, (group, lanes) in enumerate(groups):
        if i >= num_old:
            group = replace(group, offset=base_len + len(data))
            context = context_of(group, hasher, *columns[group.column], [files[file][1] for file, _ in lanes])
            data += write_group(group, context, [hashes for _, hashes in lanes])
        records += group.pack()
        members += struct.pack(f"<{len(lanes)}I", *(file for file, _ in lanes))
    names = [name for name, _ in columns] + [name for name, _ in files]
    ends = list(accumulate(map(len, names)))
    index += b"".join(COLUMN.pack(end, of_class, bytes(3)) for end, (_, of_class) in zip(ends, columns))
    index += b"".join(FILE.pack(identity, end, not name, bytes(3))
                      for end, (name, identity) in zip(ends[len(columns):], files))
    index += records + members + b"".join(names)
    footer = FOOTER.pack(MAGIC, 1, 0, hasher.hash_id, 0, 0, len(columns), hasher.seed, len(files), len(groups),
                         len(index), base_len + len(data), bytes(4), fb.xxh3(index), 0)[:60]
    return data + index + footer + fb.masked_crc(footer).to_bytes(4, "little")


# ---------------------------------------------------------------------------------------------- values [17.7]

def matched(pattern: str, text: str) -> tuple[Any, ...]:
    if not (match := re.fullmatch(pattern, text)):
        raise ValueError(f"no value: {text}")
    return match.groups()


def number_entry(u: int, s: int = 0) -> Optional[bytes]:
    """The entry of u / 10^s, if it has one."""
    while s > 0 and u % 10 == 0:
        u, s = (u // 10, s - 1) if u else (0, 0)
    if s < 0:
        u, s = u * 10**min(-s, 39), 0  # 10^39 fits no 16 bytes
    if s > 127 or not -2**127 <= u < 2**127:
        return None
    return u.to_bytes(8 if -2**63 <= u < 2**63 else 16, "little", signed=True) + bytes([s] if s else [])


def days_of(text: str) -> int:
    """Days since 1970-01-01, in the Gregorian calendar in any year."""
    year, month, day = map(int, matched(r"([+-]?\d{4,})-(\d\d)-(\d\d)", text))
    cycles, year = divmod(year, 400)
    return date(400 + year, month, day).toordinal() - date(1970, 1, 1).toordinal() + 146097 * (cycles - 1)


def seconds_entry(days: int, text: str) -> Optional[bytes]:
    """The entry of a time of day, so many days later; none of what is no time of a day."""
    sign, *time, fraction = matched(r"(-?)(\d\d):([0-5]\d):([0-5]\d)(?:\.(\d+))?", text)
    hours, minutes, seconds = map(int, time)
    if sign or hours >= 24:
        return None
    s = len(fraction or "")
    return number_entry((86400 * days + 3600 * hours + 60 * minutes + seconds) * 10**s + int(fraction or "0"), s)


def entry_of(text: str) -> Value:
    """Class and entry of a value in the form of the document's vectors."""
    form, _, value = text.partition(":")
    if form in ("int", "decimal"):
        sign, digits, exponent = Decimal(value).as_tuple()
        return 1, number_entry((-1)**sign * int("".join(map(str, digits))), -int(exponent))
    if form == "text":
        return 2, value.encode()
    if form == "binary":
        return 3, bytes.fromhex(value)
    if form in ("local", "instant"):
        day, time = matched("(.*)T(.*)" + "Z" * (form == "instant"), value)
        return 4 + (form == "instant"), seconds_entry(days_of(day), time)
    if form == "date":
        return 6, number_entry(days_of(value))
    if form == "time":
        return 7, seconds_entry(0, value)
    if form == "double":
        return NO_CLASS, None
    raise ValueError(f"no value: {text}")


# ------------------------------------------------------------------------------------------------------ main

def example_set() -> bytes:
    """The worked example."""
    hasher, group = fb.Hasher.xxh3_with(0), Group(0, 3, 3, 2, 0, 2, 2, 3)
    lanes = [(file, [hasher.hash(entry_of(text)[1] or b"") for text in texts])
             for file, (_, texts) in enumerate(EXAMPLE.values())]
    files = [(name, identity) for name, (identity, _) in EXAMPLE.items()]
    return write_set([(b"id", 1)], files, [(group, lanes)], hasher)


def example(rows: list[list[str]]) -> Compared:
    made = example_set()
    opened = open_set(made)
    group, context, _ = opened.groups[0]
    lines = []
    for v in range(2):
        at, end = group.unit_at(v, 0), group.unit_at(v, 0) + group.payload_of(0)
        lines.append([f"unit-{v}", made[at:end].hex(), made[end:end + 8].hex()])
    lines += [["index", made[group.length:-64].hex()], ["footer", made[-64:].hex()], ["context", f"{context:#018x}"]]
    for name, (_, texts) in EXAMPLE.items():
        for h in (opened.hasher.hash(entry_of(text)[1] or b"") for text in texts):
            probes = [":".join(map(str, probe)) for probe in group.probes(h)]
            lines.append(["probes", name.decode(), f"{h:#018x}", *probes])
    for stated, line in zip(rows, lines, strict=True):
        yield line[0], line, stated
    for name, (identity, texts) in EXAMPLE.items():
        yield "answers", all(opened.lookup(name, identity, b"id", [entry_of(text)]) for text in texts), True


def values(rows: list[list[str]]) -> Compared:
    for value_class, text, *stated in rows:
        of_class, entry = entry_of(text)
        shown = ["none", "none"] if entry is None else [entry.hex() or "-", f"{fb.xxh3(entry):#018x}"]
        yield text, ["-" if of_class == NO_CLASS else str(of_class), *shown], [value_class, *stated]


def is_as_document(directory: Path) -> bool:
    is_right = True
    for name, compared in ("set-example", example), ("values", values):
        lines = (directory / "vectors" / f"{name}.txt").read_text("utf-8").splitlines()
        rows = [line.split(" ") for line in lines if not line.startswith("#")]
        print(f"counted: {len(rows)} vectors {name}")
        differences = [difference for difference in compared(rows) if difference[1] != difference[2]]
        for what, made, stated in differences:
            print(f"{name} {what}: {made} instead of {stated}")
        is_right = is_right and bool(rows) and not differences
    return is_right


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    try:
        opened = open_set(bytes.fromhex(request["set"]), hasher_of(request))
    except FilterError as error:
        return {"class": class_of(error)}
    files = [(bytes.fromhex(name), int(identity, 16)) for name, identity in request["files"]]
    queries = [(bytes.fromhex(column), [entry_of(text) for text in texts]) for column, texts in request["queries"]]
    return {"class": "ok", "answers": ["".join("m" if opened.lookup(*file, *query) else "n" for file in files)
                                       for query in queries]}


def reply_in_kit(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request of tests/conformance, for a set that opens."""
    opened, answers = open_set(bytes.fromhex(request["bytes"]), hasher_of(request)), ""
    for query in request.get("queries", []):
        name, identity, column, value_class, entry = query.split(":")[1:]
        value = int(value_class), None if entry == "u" else bytes.fromhex(entry)
        maybe = opened.lookup(bytes.fromhex(name), int(identity, 16), bytes.fromhex(column), [value])
        answers += "m" if maybe else "n"
    units = ["ok" if opened.unit(group, context, v, j) is not None else "damaged"
             for group, context, _ in opened.groups for v in range(group.visits) for j in range(group.num_units)]
    return {"class": "ok", "units": units, "answers": answers}


def main() -> int:
    if sys.argv[1:2] == ["vectors"]:
        return 0 if is_as_document(Path(sys.argv[2])) else 1
    for line in sys.stdin:
        print(json.dumps(reply_to(json.loads(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
