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
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence

import filterblock as fb
from conformance import class_of, class_of_opened, hasher_of
from kinds import BLOOM, Bloom, Damaged, FilterError, Mismatch, Newer, mix

MAGIC = bytes.fromhex("f346424c530d0a1a")
FOOTER = struct.Struct("<8sBBBBHHQIIQQ4sQI")
COLUMN, FILE, SECTION = struct.Struct("<IBBH"), struct.Struct("<QI"), struct.Struct("<QIIHH")
EXAMPLE = {b"a": (1, ["int:7", "int:300"]), b"b": (2, ["int:-1"])}  # files with their identities and values
NUM_CLASSES, NO_CLASS = 8, -1  # NO_CLASS: of a value that is of none [17.5]

Value = tuple[int, Optional[bytes]]  # class, and entry if there is one
Place = tuple[int, int, int]  # column, slice, file
Compared = Iterator[tuple[str, Any, Any]]  # name, what is made here, what the document has


def context_of(identity: int, column: bytes, value_class: int, slice_number: int, num_slices: int) -> int:
    """[17.3]"""
    return mix(identity ^ mix(fb.xxh3(column) ^ mix(slice_number + (num_slices << 16) + (value_class << 32))))


# ---------------------------------------------------------------------------------------------------- reader

@dataclass
class FilterSet:
    """An opened set."""
    data: bytes
    columns: dict[bytes, tuple[int, int, int]]  # number, class, num_slices
    files: dict[bytes, tuple[int, int]]  # number, identity
    blocks: dict[Place, tuple[int, int]]  # offset, length
    hasher: fb.Hasher
    _opened: dict[Place, Optional[fb.Filter]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def lookup(self, name: bytes, identity: int, column: bytes, values: Sequence[Value]) -> bool:
        """True for *maybe*, False for *no*: whether the file may have any of the values [17.4]."""
        if name not in self.files or self.files[name][1] != identity or column not in self.columns:
            return True
        return any(self.maybe(name, column, *value) for value in values)

    def maybe(self, name: bytes, column: bytes, value_class: int, entry: Optional[bytes]) -> bool:
        """Steps 2 to 4, for a file and a column of the set."""
        (file, _), (number, own_class, num_slices) = self.files[name], self.columns[column]
        if own_class >= NUM_CLASSES or value_class != own_class or entry is None:
            return True
        h = self.hasher.hash(entry)
        place = number, mix(h) * num_slices >> 64, file
        if place not in self._opened:
            try:
                self._opened[place] = self.open(name, column, place[1])
            except FilterError:
                self._opened[place] = None
        opened = self._opened[place]
        return opened is None or opened.maybe_hash(h)

    def open(self, name: bytes, column: bytes, slice_number: int) -> fb.Filter:
        """Opens a block of the set."""
        (file, identity), (number, own_class, num_slices) = self.files[name], self.columns[column]
        offset, length = self.blocks.get((number, slice_number, file), (0, 0))  # no block fails in the row `length` [11]
        context = context_of(identity, column, own_class, slice_number, num_slices)
        return fb.open_block(self.data[offset:offset + length], context, self.hasher, (0, 0))


def open_set(data: bytes, hasher: Optional[fb.Hasher] = None) -> FilterSet:
    """Opens a set with every check of [17.4], in that order. `hasher` says what the caller expects."""
    if len(data) < 64:
        raise Damaged("length: shorter than a footer")
    (magic, version, zero, hash_id, zero_too, features, num_columns, seed, num_files, num_sections, index_len, data_len,
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
    columns_at, files_at, sections_at, lengths_at = accumulate((8, 8 * num_columns, 12 * num_files, 20 * num_sections))
    if lengths_at > index_len:
        raise Damaged("parts")
    sections = list(SECTION.iter_unpack(index[sections_at:lengths_at]))
    num_blocks = sum(count for _, _, count, _, _ in sections)
    if lengths_at + 4 * num_blocks > index_len:
        raise Damaged("parts: lengths of blocks")
    lengths = struct.unpack_from(f"<{num_blocks}I", index, lengths_at)
    base_len = int.from_bytes(index[:8], "little")
    if base_len > data_len:
        raise Damaged("base")
    names, start = index[lengths_at + 4 * num_blocks:], 0
    columns: dict[bytes, tuple[int, int, int]] = {}
    for i, (end, value_class, reserved, num_slices) in enumerate(COLUMN.iter_unpack(index[columns_at:files_at])):
        if reserved:
            raise Newer("columns")
        if not num_slices or not start <= end <= len(names):
            raise Damaged("columns")
        columns[names[start:end]], start = (i, value_class, num_slices), end
    identities = list(FILE.iter_unpack(index[files_at:sections_at]))
    ends = [start, *(end for _, end in identities)]
    if ends != sorted(ends) or ends[-1] != len(names):
        raise Damaged("files")
    names_of_files = [names[start:end] for start, end in zip(ends, ends[1:])]
    files = {name: (i, identities[i][0]) for i, name in enumerate(names_of_files) if name}
    if len(columns) != num_columns or len(files) + names_of_files.count(b"") != num_files:
        raise Damaged("names")
    of_columns, blocks = list(columns.values()), dict[Place, tuple[int, int]]()
    number, least = 0, (0, 0, 0)  # column, slice and first file of the next section are at least these
    for offset, first, count, column, slice_number in sections:
        if not count or first + count > num_files or column >= num_columns or slice_number >= of_columns[column][2]:
            raise Damaged("sections")
        end, moved = (base_len, 0) if offset < base_len else (data_len, foreign)
        for i in range(count):
            blocks[column, slice_number, first + i] = offset + moved, lengths[number + i]
            offset += lengths[number + i]
        if offset > end or (column, slice_number, first) < least:
            raise Damaged("sections: blocks or order")
        number, least = number + count, (column, slice_number, first + count)
    return FilterSet(data, columns, files, blocks, hasher)


# ---------------------------------------------------------------------------------------------------- writer

def write_set(columns: Sequence[tuple[bytes, int, int]], files: Sequence[tuple[bytes, int]],
              sections: Sequence[tuple[int, int, int, Sequence[bytes]]], hasher: fb.Hasher) -> bytes:
    """A set of columns (name, class, slices), files (name, identity) and sections (column, slice, first file, and for
    each of its files a block, or b"" for none)."""
    data, index, lengths = b"", bytes(8), b""  # it continues none
    names = [column[0] for column in columns] + [file[0] for file in files]
    ends = list(accumulate(map(len, names)))
    index += b"".join(COLUMN.pack(end, of_class, 0, slices) for end, (_, of_class, slices) in zip(ends, columns))
    index += b"".join(FILE.pack(identity, end) for end, (_, identity) in zip(ends[len(columns):], files))
    for column, slice_number, first_file, blocks in sections:
        index += SECTION.pack(len(data), first_file, len(blocks), column, slice_number)
        lengths += struct.pack(f"<{len(blocks)}I", *map(len, blocks))
        data += b"".join(blocks)
    index += lengths + b"".join(names)
    footer = FOOTER.pack(MAGIC, 1, 0, hasher.hash_id, 0, 0, len(columns), hasher.seed, len(files), len(sections),
                         len(index), len(data), bytes(4), fb.xxh3(index), 0)[:60]
    return data + index + footer + fb.masked_crc(footer).to_bytes(4, "little")


# ---------------------------------------------------------------------------------------------- values [17.5]

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

def example_set() -> tuple[bytes, list[bytes], list[int]]:
    """The worked example, its blocks and their contexts."""
    hasher, blocks, contexts = fb.Hasher.xxh3_with(0), [], []
    for identity, texts in EXAMPLE.values():
        hashes = [hasher.hash(entry_of(text)[1] or b"") for text in texts]
        contexts.append(context_of(identity, b"id", 1, 0, 1))
        blocks.append(fb.write_block(BLOOM, Bloom(7, 8 * len(texts)), hashes, hasher, contexts[-1]))
    files = [(name, identity) for name, (identity, _) in EXAMPLE.items()]
    return write_set([(b"id", 1, 1)], files, [(0, 0, 0, blocks)], hasher), blocks, contexts


def example(rows: list[list[str]]) -> Compared:
    made, blocks, contexts = example_set()
    parts = [part.hex() for part in (*blocks, made[len(b"".join(blocks)):-64], made[-64:])]
    for (what, stated), part in zip(rows, parts + [f"{context:#018x}" for context in contexts], strict=True):
        yield what, part, stated
    opened = open_set(made)
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
    columns, files = list(opened.columns), {number: name for name, (number, _) in opened.files.items()}
    for query in request.get("queries", []):
        name, identity, column, value_class, entry = query.split(":")[1:]
        value = int(value_class), None if entry == "u" else bytes.fromhex(entry)
        maybe = opened.lookup(bytes.fromhex(name), int(identity, 16), bytes.fromhex(column), [value])
        answers += "m" if maybe else "n"
    blocks = [class_of_opened(opened.open, files[file], columns[column], slice_number)
              for (column, slice_number, file), (_, length) in opened.blocks.items() if length and file in files]
    return {"class": "ok", "blocks": blocks, "answers": answers}


def main() -> int:
    if sys.argv[1:2] == ["vectors"]:
        return 0 if is_as_document(Path(sys.argv[2])) else 1
    for line in sys.stdin:
        print(json.dumps(reply_to(json.loads(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
