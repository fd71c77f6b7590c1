"""Makes tests/conformance/rows.json: range filters, indexes of range filters and filter sets that fail a row of the
document's tables, in each way that is listed here, and any two rows at once. And sets.json: filter sets whose answers
depend on one rule.

    python3 cases.py            writes the files
    python3 cases.py --check    ends with 1 if one of the files is another

What is expected follows from the order of the ways here, which is that of the document's rows [11, 15.4, 17.5]. That the reader
replies the same is asserted.
"""
from __future__ import annotations

import itertools
import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Optional

import conformance
import filterblock as fb
import integers
import partitioned
import ranges
import sets
from cuts import Choices, Code, Gaps
from kinds import Golomb

ROOT = Path(__file__).resolve().parent.parent.parent
KIT, FORMAT = ROOT / "tests" / "conformance", ROOT / "format" / "vectors"
# The integers 0, 3, 6 and so on up to 192, in two bytes after "k", with a directory [16.8].
INTEGERS = bytes.fromhex(
    "f146424c4b0d0a1a01060100000000000000000000000000410000000000000038000000000000000204020301000100bc020000ebf47bb0"
    "fc7f356bcf80dbed6b000000c00165d41a0504c48408350308b45c6f5e1dcf775986d43210136d0489021218a4003bc02a8b4813a0b88819"
    "d36c1a5bb9ab3155")
# An index of three range filters of two keys [15.5].
INDEX = bytes.fromhex(
    "f246424c490d0a1a010601000000000000000000000000000600000000000000380000000000000003000000000000000000000000000000"
    "000000000000000000000000000000005b000000030000005b000000000000005a00000005000000b5000000000000005a00000008000000"
    "6170656262636174")
RECORDS, SEPARATORS = 64, 112
SET = sets.example_set()
WRAPPING = [7, 256, 1 << 24, 1 << 30, 0xFFFFFFFF]  # 2^30 times the length of a part's element is 0 modulo 2^32
INDEX_LEN, BASE, COLUMN, FILES, GROUP, MEMBERS, NAMES = 88, -152, -144, -136, -104, -76, -68  # its parts, from its end


@dataclass
class Way:
    """Makes a frame fail a row."""
    row: str
    name: str
    bytes: dict[int, bytes] = field(default_factory=dict)  # at offsets of the frame; negative ones count from its end
    as_class: str = "damaged"
    checksum: bytes = b""  # what the checksum of the row is changed by
    cut: int = 0  # the frame's length
    request: dict[str, Any] = field(default_factory=dict)


def sealed(frame: bytearray, head: int, hashed: slice, ways: tuple[Way, ...], context: int = 0) -> bytes:
    """With the checksums of the header or footer at `head`, and what the ways make of them."""
    for row, at, size, value in (("digest", 52, 8, lambda: fb.xxh3(bytes(frame[hashed]))),
                                 ("crc", 60, 4, lambda: fb.masked_crc(bytes(frame[head:head + 60])))):
        number = value() ^ fb.mix(context) & (1 << 8 * size) - 1
        for way in ways:
            number ^= int.from_bytes(way.checksum, "little") if way.row == row else 0
        frame[head + at:head + at + size] = number.to_bytes(size, "little")
    return bytes(frame)


def block(frame: bytearray, ways: tuple[Way, ...] = (), context: int = 0) -> bytes:
    data = sealed(frame, 0, slice(64, None), ways, context)
    return data[:min([way.cut for way in ways if way.cut], default=len(data))]


def filter_set(frame: bytearray, ways: tuple[Way, ...]) -> bytes:
    head = len(frame) - 64
    data = sealed(frame, head, slice(head - INDEX_LEN, head), ways)
    return data[len(data) - min([way.cut for way in ways if way.cut], default=len(data)):]


def numbered(row: str, name: str, at: int, values: list[int], size: int = 1, as_class: str = "damaged") -> list[Way]:
    return [Way(row, f"{name} {value}", {at: value.to_bytes(size, "little")}, as_class) for value in values]


def bits(row: str, name: str, at: int, of: range) -> list[Way]:
    return [Way(row, f"{name}, bit {bit}", {at + bit // 8: bytes([1 << bit % 8])}, "newer") for bit in of]


def of_checksums(first_byte: int) -> list[Way]:
    """Of the rows `magic` and `crc`, and `digest`, which is moved to its place."""
    return [Way("length", "63 bytes", cut=63), Way("length", "60 bytes", cut=60), Way("length", "a byte", cut=1)] + [
        Way("magic", f"magic, {way}", {at: bytes([byte])}) for way, at, byte in (
            ("the first byte", 0, first_byte - 1), ("a greater one", 0, first_byte + 1), ("the last byte", 7, 0))] + [
        Way("crc", f"crc, bit {bit}", checksum=(1 << bit).to_bytes(4, "little")) for bit in (0, 31, 16)] + [
        Way("digest", f"digest, bit {bit}", checksum=(1 << bit).to_bytes(8, "little")) for bit in (31, 63, 0)]


RANGES = [
    *of_checksums(0xF1), *numbered("version", "version", 8, [0]), *numbered("version", "version", 8, [2, 255], 1, "newer"),
    *numbered("kind", "kind", 9, [0, 7, 127, 255], 1, "newer"), *numbered("kind", "kind", 9, [1, 5], 1, "mismatch"),
    *numbered("hash_id", "hash_id", 10, [0, 2, 255], 1, "newer"), *bits("hash_id", "seed", 16, range(0, 64, 9)),
    *bits("features", "features", 12, range(8, 16)),
    *numbered("transform", "transform", 11, [1, 4, 5, 255], 1, "newer"), *bits("transform", "parameter", 14, range(0, 16, 5)),
    *numbered("payload_len", "payload_len", 32, [0x37, 0x39, *(0x38 + (1 << bit) for bit in (8, 24, 32, 53))], 8),
    Way("empty-len", "no entries, a payload", {24: bytes(8)}),
    *numbered("reserved", "byte 1", 41, [5, 6, 12, 20, 36, 68, 132], 1, "newer"),
    *numbered("range", "width", 40, [17, 255]), *numbered("range", "log_block", 42, [10, 40]),
    *numbered("range", "remainder_bits", 43, [49]), *numbered("range", "directory_bits", 44, [58]),
    *numbered("range", "prefix_len", 46, [0x34, 0xFFFF], 2), *numbered("range", "bucket_range", 48, [0], 4),
    Way("unused", "a bit of the directory's last byte", {69: b"\x81"}),
    Way("unused", "another", {69: b"\x05"})]
INDEXES = [
    *of_checksums(0xF2), *numbered("version", "version", 8, [0]), *numbered("version", "version", 8, [2, 255], 1, "newer"),
    *numbered("kind", "kind", 9, [0], 1, "mismatch"), *numbered("kind", "kind", 9, [1, 5, 7, 127, 255], 1, "newer"),
    *numbered("hash_id", "hash_id", 10, [0, 3, 255], 1, "newer"), *bits("features", "features", 12, range(8, 16)),
    *numbered("transform", "transform", 11, [6, 127], 1, "newer"), *bits("transform", "parameter", 14, range(0, 16, 5)),
    *bits("reserved", "byte 44", 44, range(0, 64, 9)),
    *numbered("payload_len", "payload_len", 32, [0x37, 0x39, 0x38 + (1 << 32), 0x38 + (1 << 53)], 8),
    *numbered("expected", "seed", 16, [1, 1 << 32, 1 << 63], 8, "mismatch"), *numbered("expected", "hash_id", 10, [2], 1, "mismatch"),
    *numbered("expected", "transform", 11, [1, 3, 4, 5, 128, 255], 1, "mismatch"),
    *numbered("records", "num_partitions", 40, [4, 1 << 28, 0xFFFFFFFF], 4), *numbered("entries", "num_entries", 24, [2, 0], 8),
    *numbered("record", "length", RECORDS + 8, [63, 0, 0x5C], 4), *numbered("record", "offset", RECORDS + 32, [0xB4, 2**64 - 8], 8),
    *numbered("record", "separator_end", RECORDS + 28, [2, 9], 4), *numbered("record", "the last separator_end", RECORDS + 44, [7, 9], 4),
    Way("order", "two separators alike", {RECORDS + 28: b"\6", SEPARATORS: b"apeape"}),
    Way("order", "separators that descend", {SEPARATORS + 3: b"ap"})]
SETS = [
    *of_checksums(0xF3), *numbered("version", "version", 8, [0]), *numbered("version", "version", 8, [2, 255], 1, "newer"),
    *numbered("hash_id", "hash_id", 10, [0, 3, 255], 1, "newer"), *bits("features", "features", 12, range(8, 16)),
    *numbered("reserved", "byte 9", 9, [1, 6, 128], 1, "newer"), *numbered("reserved", "byte 11", 11, [1, 128], 1, "newer"),
    *bits("reserved", "byte 48", 48, range(0, 32, 7)),
    *numbered("index_len", "data_len", 40, [0x29, 0x28 + (1 << 32), 0x28 + (1 << 53), 0x28 + (1 << 56), 2**64 - 0x58], 8),
    *numbered("index_len", "index_len", 32, [0x58 + 0x29, 2**64 - 64, *(0x58 + (1 << bit) for bit in (24, 32, 56))], 8),
    Way("index_len", "the footer alone", cut=64),
    Way("expected", "a greater seed", {16: b"\1"}, "mismatch", request={"seed": "0x0"}),
    Way("expected", "a smaller seed", {16: b"\1"}, "mismatch", request={"seed": "0x2"}),
    Way("expected", "a key", {}, "mismatch", request={"key": "00" * 16}),
    Way("expected", "another key", {10: b"\2"}, "mismatch", request={"key": "00" * 16}),
    Way("expected", "no key, but a seed", {10: b"\2"}, "mismatch", request={"seed": "0x0"}),
    Way("key", "no key", {10: b"\2"}, "mismatch"),
    *numbered("parts", "num_columns", 14, [9, 256, 0xFFFF], 2), *numbered("parts", "num_files", 24, WRAPPING, 4),
    *numbered("parts", "num_groups", 28, WRAPPING, 4), *numbered("parts", "num_lanes", GROUP + 16, [4, *WRAPPING], 4),
    *numbered("base", "base_len", BASE, [0x29, 0x28 + (1 << 32), 1 << 63], 8),
    *numbered("columns", "reserved byte", COLUMN + 5, [1, 128], 1, "newer"),
    *numbered("columns", "reserved byte at the end", COLUMN + 7, [1], 1, "newer"),
    *numbered("columns", "name_end", COLUMN, [5, 0x10002, 0x1000002, 0xFFFFFFFF], 4),
    *numbered("files", "reserved byte", FILES + 13, [1, 128], 1, "newer"), *numbered("files", "reserved byte at the end", FILES + 31, [1], 1, "newer"),
    *numbered("files", "is_dropped", FILES + 12, [1, 2, 255]), *numbered("files", "name_end", FILES + 8, [2, 1, 5, 0x103, 0x1000003, 0xFFFFFFFF], 4),
    *numbered("files", "the last name_end", FILES + 24, [2, 3, 5, 0x104, 0x1000004], 4),
    Way("names", "two files of one name", {NAMES: b"idaa"}),
    *numbered("groups", "reserved byte", GROUP + 25, [1, 128], 1, "newer"), *numbered("groups", "reserved byte at the end", GROUP + 27, [1], 1, "newer"),
    *numbered("groups", "num_pages", GROUP + 8, [0, 2, 4, 1 << 31, 0xFFFFFFFF], 4), *numbered("groups", "unit_pages", GROUP + 12, [0, 4, 1 << 31], 4),
    *numbered("groups", "column", GROUP + 20, [1, 255, 256, 0xFFFF], 2), *numbered("groups", "num_visits", GROUP + 22, [0, 3, 33, 255]),
    *numbered("groups", "num_bands", GROUP + 23, [0, 3, 9, 255]), *numbered("groups", "row_bits", GROUP + 24, [4, 9, 255]),
    *numbered("groups", "offset", GROUP, [1, 8, 1 << 32, 1 << 56, 1 << 63, 2**64 - 1], 8),
    *numbered("groups", "member 0", MEMBERS, [1, 2, 256, 1 << 24, 2**32 - 2], 4), *numbered("groups", "member 1", MEMBERS + 4, [0, 2], 4)]


def by_row(ways: list[Way]) -> list[list[Way]]:
    """In the order of the tables: after the rows of the header, and before what is found in the rest."""
    digests = [way for way in ways if way.row == "digest"]
    rest = [way for way in ways if way.row != "digest"]
    at = 1 + max(i for i, way in enumerate(rest) if way.row in ("payload_len", "index_len"))
    return [list(group) for _, group in itertools.groupby(rest[:at] + digests + rest[at:], key=lambda way: way.row)]


def changed(way: Way) -> set[int]:
    return {at + i for at, data in way.bytes.items() for i in range(len(data))}


def case(frame: str, base: bytes, seal: Callable[[bytearray, tuple[Way, ...]], bytes], head: int, *ways: Way) -> dict[str, Any]:
    """The frame that is wrong in all of these ways; the first one counts."""
    data, request = bytearray(base), {"frame": frame, "bytes": ""}
    for way in reversed(ways):
        for at, changed in way.bytes.items():
            at += len(data) if at < 0 else head
            data[at:at + len(changed)] = changed
        request |= way.request
    request["bytes"] = seal(data, ways).hex()
    reply = {"class": ways[0].as_class, "row": ways[0].row} if ways else {"class": "ok"}
    return {"name": f"{frame}: {' before '.join(way.name for way in ways)}", "request": request, "reply": reply}


def cases() -> Iterator[dict[str, Any]]:
    for frame, base, seal, ways in (
            ("range", INTEGERS, block, RANGES), ("range-index", INDEX, block, INDEXES), ("set", SET, filter_set, SETS)):
        make = lambda *of: case(frame, base, seal, len(base) - 64 if frame == "set" else 0, *of)
        rows = by_row(ways)
        yield from (make(way) for row in rows for way in row)
        # One of each row and class.
        of_classes = [[way for i, way in enumerate(row) if way.as_class not in {other.as_class for other in row[:i]}]
                      for row in rows]
        for first, second in itertools.combinations(itertools.chain(*of_classes), 2):
            if not changed(first) & changed(second):
                yield make(first, second)


Files = list[tuple[bytes, int]]  # names and identities
Groups = list[tuple[sets.Group, list[int]]]  # with the numbers of the files
SEEDED = fb.Hasher.xxh3_with(0)
A, B, C, D = (b"a", 5), (b"b", 9), (b"c", (1 << 63) + 1), (b"d", 1)
ONE = [(b"id", 2)]


def group_of(files: list[int], column: int = 0, pages: int = 3, unit_pages: int = 2, shape: tuple[int, int, int] = (2, 2, 3)
             ) -> tuple[sets.Group, list[int]]:
    return sets.Group(0, pages, unit_pages, len(files), column, *shape), files


def written(columns: list[tuple[bytes, int]], files: Files, groups: Groups, hasher: fb.Hasher = SEEDED, *base: int,
            numbers: Iterable[int] = (1, 2)) -> bytes:
    """A set; each file has entries of its name and a number."""
    lanes = [(group, [(file, [hasher.hash(files[file][0] + b"%d" % number) for number in numbers]) for file in members])
             for group, members in groups]
    return sets.write_set(columns, files, lanes, hasher, *base)


def queried(name: str, data: bytes, columns: list[tuple[bytes, int]], files: Files, **request: str) -> dict[str, Any]:
    """Values that some files and columns have and have not, of this class and another, in this state and another."""
    queries = [
        ":".join(["file", of[0].hex(), hex(of[1] + other), column.hex(), str(value_class), entry])
        for of in files[:4] for column, own in [*columns[:4], (b"zz", 2)] for other, value_class, entry in (
            (0, own, (of[0] + b"1").hex()), (0, own, "6e6f"), (0, own, "6e6f6e65"), (1, own, "6e6f"), (1 << 40, own, "6e6f"),
            (-1, own, "6e6f"), (0, own, "u"), (0, own ^ 1, "6e6f"))]
    return answered("set", name, data, queries, **request)


def set_of(name: str, columns: list[tuple[bytes, int]], files: Files, groups: Groups, hasher: fb.Hasher = SEEDED,
           patched: dict[int, bytes] = {}, **request: str) -> dict[str, Any]:
    """A set, and bytes that differ, from the footer on."""
    data = patch(written(columns, files, groups, hasher), patched)
    return queried(name, data, columns, files, **request)


def patch(data: bytes, patched: dict[int, bytes]) -> bytes:
    made = bytearray(data)
    head = len(made) - 64
    for at, changed_bytes in patched.items():
        made[head + at:head + at + len(changed_bytes)] = changed_bytes
    start = head - int.from_bytes(made[head + 32:head + 40], "little")
    return sealed(made, head, slice(start, head), ())


def sets_of_shapes() -> Iterator[dict[str, Any]]:
    """What readers must accept, or must not, by how columns, files and groups lie. The replies are the reader's."""
    ab, abc, key = [A, B], [A, B, C], bytes(range(16))
    yield set_of("no columns, no files", [], [], [])
    yield set_of("no files", [(b"id", 2), (b"t", 3)], [], [])
    yield set_of("a column without a name, no files", [(b"", 2)], [], [])
    yield set_of("two columns of one name", [*ONE, *ONE], [A], [])
    yield set_of("a column of the class 8, and one of 7", [(b"t", 8), (b"u", 7)], ab, [group_of([0, 1]), group_of([0, 1], 1)])
    yield set_of("groups of files 1 and 2, and 2 and 3", [*ONE, (b"t", 2)], [A, B, C, D], [group_of([1, 2]), group_of([2, 3], 1)])
    yield set_of("two groups of a column", ONE, abc, [group_of([0]), group_of([1, 2])])
    yield set_of("two groups of a column, of other shapes", ONE, abc, [group_of([0], pages=7), group_of([2, 1], shape=(3, 1, 2))])
    yield set_of("lanes in another order", ONE, abc, [group_of([2, 0, 1])])
    yield set_of("a file in two groups of a column", ONE, abc, [group_of([0, 1]), group_of([1, 2])])
    yield set_of("a file twice in a group", ONE, ab, [group_of([0, 1, 0])])
    yield set_of("a group without lanes", ONE, ab, [group_of([])])
    yield set_of("a column's name ends before the other's", [*ONE, (b"t", 3)], [A], [], patched={-28: bytes([1])})
    yield set_of("a file without a name that was not dropped", ONE, [A, (b"", 2)], [group_of([0, 1])], patched={-43: b"\0"})
    yield set_of("a byte after the last name", ONE, [(b"aa", 5)], [], patched={-12: bytes([3, 0, 0, 0])})
    yield set_of("an index of 7 bytes", [], [], [], patched={32: bytes([7])})
    yield set_of("a lane more than there are members", ONE, [A], [group_of([0])], patched={-19: bytes([2])})
    yield set_of("more members than bytes of names", [(b"i", 2), (b"j", 2), (b"k", 2)], abc, [group_of([0, 1, 2], i) for i in range(3)])
    for length in 1, 17, 33, 49:
        yield queried(f"a byte is missing, and a name has {length}", written(ONE, [(b"a" * length, 5)], [group_of([0])])[1:], ONE, [A])
    for shape in (1, 2, 3), (1, 3, 2), (2, 2, 2):
        data = written(ONE, ab, [group_of([0, 1], pages=1, unit_pages=1, shape=shape)], numbers=range(8))
        yield answered("set", f"a page full of keys, {shape[0]} x {shape[1]} x 2^{shape[2]}", data, [
            f"file:{name.hex()}:{identity:#x}:6964:2:{(name + b'%d' % number).hex()}" for name, identity in ab for number in range(40)])
    yield set_of("a dropped file", ONE, [A, (b"", 9), C], [group_of([0, 1, 2])])
    yield set_of("two dropped files", ONE, [(b"", 5), (b"", 9), C], [group_of([0, 1]), group_of([2])])
    many = [(bytes([97 + i % 26, 97 + i // 26]), 2) for i in range(40)]
    yield set_of("40 columns and 30 files", many, [(bytes([65 + i]), i + 1) for i in range(30)], [group_of([0, 1, 2], 1), group_of([1, 2], 39)])
    yield set_of("features below bit 8", ONE, [A], [group_of([0])], patched={12: b"\xff"})
    yield set_of("hashed under a key", ONE, ab, [group_of([0, 1])], fb.Hasher.siphash_with(key), key=key.hex())
    yield set_of("hashed under a seed", ONE, ab, [group_of([0, 1])], fb.Hasher.xxh3_with(1 << 63))
    for shape in (1, 1, 0), (1, 1, 8), (1, 4, 8), (1, 8, 4), (8, 2, 3), (32, 1, 1), (3, 3, 4), (1, 5, 0):
        yield set_of(f"{shape[0]} x {shape[1]} x 2^{shape[2]}", ONE, abc, [group_of([0, 1, 2], shape=shape, pages=5)])
    for shape in (33, 1, 1), (1, 9, 0), (1, 1, 9), (1, 8, 5), (0, 1, 1), (1, 0, 1):
        yield set_of(f"{shape[0]} x {shape[1]} x 2^{shape[2]}", ONE, ab, [group_of([0, 1], shape=shape)])
    for num_files in 7, 8, 9, 64, 65:
        files = [(b"%03d" % i, i * i + 1) for i in reversed(range(num_files))]
        yield set_of(f"{num_files} lanes", ONE, files, [group_of(list(range(num_files)))])
        yield queried(f"the last of {num_files} lanes", written(ONE, files, [group_of(list(range(num_files)))]), ONE, files[-2:])
    for pages, unit_pages in (1, 1), (5, 1), (5, 2), (5, 4), (5, 5), (300, 7):
        yield set_of(f"{pages} pages in units of {unit_pages}", ONE, abc, [group_of([0, 1, 2], pages=pages, unit_pages=unit_pages)])


def sets_of_others() -> Iterator[dict[str, Any]]:
    """Units that are damaged, or of another file, column, class, seed or place. The replies are the reader's."""
    abc, columns, groups = [A, B, C], [*ONE, (b"t", 3)], [group_of([0, 1, 2]), group_of([0, 1, 2], 1)]
    data = written(columns, abc, groups)
    head, unit = len(data) - 64, groups[0][0].payload_of(0) + 8  # two units in a part, of two pages and of one
    for name, at in ("a payload's first byte", 0), ("its last", unit - 9), ("a check's first byte", unit - 8), ("its last", unit - 1):
        for part in 0, groups[0][0].part_len:
            flipped = bytearray(data)
            flipped[part + at] ^= 0x40
            yield queried(f"{name} is damaged, at {part + at}", bytes(flipped), columns, abc)
    yield queried("all units are damaged", bytes(head - 200) + data[head - 200:], columns, abc)
    part = groups[0][0].part_len
    yield queried("parts exchanged", data[part:2 * part] + data[:part] + data[2 * part:], columns, abc)
    yield queried("the columns' groups exchanged", data[2 * part:4 * part] + data[:2 * part] + data[4 * part:], columns, abc)
    names = len(b"idtabc")
    files_at = -names - 24 - 56 - 48
    for name, at, byte in (("identity of a file", files_at, 6), ("the last byte of an identity", files_at + 7, 1),
                           ("seed", 16, 1), ("name of a column", -names, 105 + 1), ("class of a column", files_at - 16 + 4, 3)):
        yield queried(f"{name} is another", patch(data, {at: bytes([byte])}), [(b"jd" if at == -names else b"id", 3 if byte == 3 else 2), columns[1]],
                      [(b"a", 6 if byte == 6 else 5), B, C])
    members = -names - 24
    yield queried("members exchanged", patch(data, {members: bytes([1, 0, 0, 0, 0])}), columns, abc)
    yield queried("two groups at one offset", patch(data, {members - 28: bytes(1)}), columns, abc)
    yield queried("other pages in a unit", patch(data, {members - 56 + 12: bytes([3])}), columns, abc)


def continued_sets() -> Iterator[dict[str, Any]]:
    """Sets that were continued. The replies are the reader's."""
    old_files, all_files = [A, B], [A, B, C, D]
    old = written(ONE, old_files, [group_of([0, 1])])
    old_group = group_of([0, 1])
    append = lambda base, files, more: written(ONE, [*old_files, *files], [old_group, *more], SEEDED, len(base), 1)
    more, other = append(old, [C], [group_of([2])]), append(old, [D, C], [group_of([3, 2], pages=4)])
    dropped = written(ONE, [(b"", 5), B, C], [old_group, group_of([2])], SEEDED, len(old), 1)
    foreign = written(ONE, [D], [group_of([0])])
    twice = written(ONE, all_files, [old_group, (replace(group_of([2])[0], offset=len(old)), [2]), group_of([3])], SEEDED, len(old + more), 2)
    for name, data in (
            ("a continuation", old + more), ("one append done twice", old + more * 2), ("one append done three times", old + more * 3),
            ("two writers append to one set", old + more + other), ("the other first", old + other + more),
            ("an append that ended early, and was done again", old + more[:50] + more), ("a byte between", old + b"x" + more),
            ("a set that continues none, after another", old + foreign), ("a set that continues none, after a byte", b"x" + old),
            ("a continuation of a continuation", old + more + twice), ("one that was done twice", old + more + twice * 2),
            ("a file is dropped", old + dropped), ("a file is dropped, and another writer appended", old + other + dropped),
            ("the continued set is shorter by a byte", old[1:] + more), ("it is, and the other writer's is longer", old[1:] + b"x" + more),
            ("the continued set is another", foreign.ljust(len(old), b"x") + more), ("the continued set is missing", more),
            ("a continuation without groups, twice", old + append(old, [C], []) * 2)):
        yield queried(name, data, ONE, all_files)
    # The record of the first group, then of the second: of 28 bytes each, before three members and the names.
    first, second = -5 - 12 - 56, -5 - 12 - 28
    for name, patched in (
            ("the first group ends after the continued set", {first: (len(old) - 1).to_bytes(8, "little")}),
            ("a group that is moved to the other side", {second: bytes(8)}),
            ("a continued set of a byte less", {first - 48 - 8 - 8: (len(old) - 1).to_bytes(8, "little")}),
            ("a continued set of no byte", {first - 48 - 8 - 8: bytes(8)}),
            ("a group beyond the data as the writer knew it", {second: (len(old) + 1).to_bytes(8, "little")})):
        for between in b"", other:
            yield queried(name + ", after another writer" * bool(between), patch(old + between + more, patched), ONE, all_files)


def answered(frame: str, name: str, data: bytes, queries: list[str], **request: Any) -> dict[str, Any]:
    """A case with the reader's reply."""
    full = {"frame": frame, "bytes": data.hex(), **request, "queries": queries}
    reply = conformance.reply_to(full)
    if reply["class"] != "ok" or not queries:
        del full["queries"]
    shown = {field: reply[field] for field in reply if field != "num_leaves" and reply[field] != ""}
    return {"name": f"{frame}: {name}", "request": full, "reply": shown}


def of_contexts() -> Iterator[dict[str, Any]]:
    """Of contexts that are not 0."""
    for frame, base in (("range", INTEGERS), ("range-index", INDEX)):
        name = {"range-index": {"partitions": ""}}.get(frame, {})
        for context in (7, 9):  # of which mix has a highest bit of 1, and of 0
            yield answered(frame, f"context {context}", block(bytearray(base), (), context), ["key:6b0001"], context=hex(context), **name)
            yield answered(frame, f"context {context}, opened under 8", block(bytearray(base), (), context), [], context="0x8")
            for bit in 63, 0:
                way = Way("digest", "", checksum=(1 << bit).to_bytes(8, "little"))
                yield answered(frame, f"context {context}, digest, bit {bit}", block(bytearray(base), (way,), context), [],
                               context=hex(context))


def with_payload(params: bytes, payload: bytes) -> bytes:
    """A range filter of one key."""
    data = bytearray(INTEGERS[:64] + payload)
    data[24], data[32:34], data[40:52] = 1, len(payload).to_bytes(2, "little"), params
    return block(data)


def integers_of_shapes() -> Iterator[dict[str, Any]]:
    """Codes of no writer, and queries whose answers depend on one rule [16.8]."""
    def filter_of(log_block: int, r: int, bucket_range: int, num_buckets: int = 4) -> integers.IntegerFilter:
        p = Golomb(r, bucket_range, num_buckets, 0, 64)
        return integers.IntegerFilter(0, 0, b"k", 4, log_block, (0, 0xFFFFFFFF), p, b"")

    def query(x: int, count: int) -> str:
        return f"range:i{(b'k' + x.to_bytes(4, 'big')).hex()}:i{(b'k' + (x + count - 1).to_bytes(4, 'big')).hex()}"

    # A bucket of one value, 292, has 293 bits: 27 of them are at most 4096 * 2 in all, and 28 are more.
    of = filter_of(0, 0, 300, 8)
    free = (x for x in itertools.count(1) if all(of.code(x + i)[1] != 292 for i in range(34)))
    queries = [query(x, count) for x in itertools.islice(free, 0, 400, 100) for count in (1, 27, 28, 32, 33, 34)]
    yield answered("range", "buckets of 293 bits, of which 27 are searched", of.write(512, {(b, 292) for b in range(8)}), queries)
    # The first and the last number alone.
    queries = [query(x, 1) for x in (0, 999, 1000, 1001, 1999, 2000, 2001)] + [query(900, 101), query(2000, 9), query(999, 1)] + [
        "range:u:i6b000003e7", "range:e6b000007d0:u", "range:i6b000003e9:e6b000007d0", "range:u:u", "prefix:6b", "prefix:6b0001"]
    for ends in (1000, 2000), (2000, 1000):
        yield answered("range", f"the ends {ends}", replace(of, ends=ends).write(512, {(0, 292)}), queries)
    # A block that reaches into the next bucket, where one of the two has a code at its end or at its beginning.
    of = filter_of(5, 3, 40)
    blocks = {(of.code(32 * i)[0], of.code(32 * i + 31)[0]): 32 * i for i in reversed(range(400))}
    queries = [query(blocks[pair], 32) for pair in sorted(blocks)] + [
        query(blocks[pair] + 16, 16) for pair in sorted(blocks)]
    for value in 39, 0, 38, 1:
        for bucket in range(4):
            yield answered("range", f"a code of value {value} in bucket {bucket}, of 40 values", of.write(256, {(bucket, value)}), queries)
    # Codes that differ in bit 32 or 31 of their values alone, and a prefix of 300 bytes.
    of = replace(filter_of(0, 27, 1 << 35), prefix=b"k" * 300, width=16, ends=(0, 2**128 - 1))
    x = next(x for x in itertools.count() if of.code(x)[1] >> 33 and of.code(x + 1)[0] == of.code(x)[0])
    bucket, value = of.code(x)
    for near in value, value ^ 1 << 32, value ^ 1 << 31, value ^ 1 << 34:
        data = of.write(256, {(bucket, near), (bucket, 1 << 35 - 1)})
        key = (of.prefix + x.to_bytes(16, "big")).hex()
        yield answered("range", f"the code {near:#x} of {1 << 35:#x}, and a number of {value:#x}", data, [
            f"key:{key}", *(f"range:i{key}:i{(of.prefix + (x + more).to_bytes(16, 'big')).hex()}" for more in (0, 1 << 31, 1 << 63))])
    # Numbers next to the ends, or as far from them as fewer bits or a double do not see.
    of = replace(filter_of(0, 3, 40), width=16, ends=(2**100 + 5, 2**101 + 5))
    near = [end + side * (2**bits - 1) for end in of.ends for bits in (1, 32, 64) for side in (1, -1)]
    yield answered("range", "integers of 16 bytes, and their ends", of.write(256, {(0, 39)}), [
        f"range:i{of.key(x - 9 * (x < of.ends[0])).hex()}:i{of.key(x + 9 * (x > of.ends[1])).hex()}" for x in near])
    # Most of a block, of 2^32 numbers, and a code behind it in the same bucket.
    of = replace(filter_of(33, 30, 1 << 35), width=16, ends=(0, 2**128 - 1))
    x = next(x for x in range(1, 2**60, 2**33) if of.code(x)[0] == of.code(x + 2**32 + 9)[0] and of.code(x)[1] < of.code(x + 2**32)[1])
    bucket, value = of.code(x)
    yield answered("range", "integers of 16 bytes, 2^32 at once", of.write(256, {(bucket, value + 2**32 + 9)}), [
        f"range:i{of.key(x).hex()}:i{of.key(x + more).hex()}" for more in (2**32 - 2, 2**32 + 9)])
    for log_block in 31, 32, 39:  # one above that of the bucket's range
        params = integers.PARAMS.pack(4, 4, log_block, 30, 0, (1 << log_block - 1) >> 32, 0, (1 << log_block - 1) & 0xFFFFFFFF)
        yield answered("range", f"log_block {log_block} in 2^{log_block - 1}", with_payload(params, bytes(16)), [])
    for name, params, size in (("width 8", [8, 1, 1, 0, 0, 0, 0, 8, 1, 0, 0, 0], 4),
                               ("width 9", [8, 1, 1, 0, 0, 0, 0, 9, 1, 0, 0, 0], 4),
                               ("width 1 and a class", [8, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0], 392)):
        yield answered("range", f"{name} of cut keys", with_payload(bytes(params), bytes(size)), [])
    yield answered("range", "log_block 39", filter_of(39, 33, 1 << 39).write(256, {(0, 5), (3, 7)}), ["key:6b00000001", "range:u:u"])


def groups_of_other_bits() -> Iterator[dict[str, Any]]:
    """Keys of one length, of which each group keeps another number of bits [16.7]. The first is the erratum's frame [18]."""
    for kept, prefix, width, numbers, near in (
            ((1, 8), b"", 1, ([0], [4]), (0, 1, 3, 4, 5, 127, 128)),
            ((3, 16, 5), b"k", 2, ([0], [4, 5, 105], [0x2000, 0x4000, 0xF800]), (0, 1, 4, 5, 6, 105, 106, 0x1FFF, 0x2000, 0x4000))):
        key = lambda number: prefix + number.to_bytes(width, "big")
        starts = itertools.accumulate(map(len, numbers), initial=0)
        data = ranges.write_range(Choices(Code(), 1, True, width, 0, width), list(map(key, itertools.chain(*numbers))), [
            ranges.Group(Gaps(0, 64 - bits, 0, 0, ()), [start]) for bits, start in zip(kept, starts)])
        assert prefix or data.hex() in "".join((ROOT / "format-spec.md").read_text().split())
        ends = [key(number).hex() for number in near]
        yield answered("range", f"groups that keep {kept} bits", data, [f"{query}:{end}" for query in ("key", "prefix") for end in ends] + [
            f"range:{form}{lower}:{form}{upper}" for lower, upper in itertools.combinations(ends, 2) for form in "ie"] + [
            f"range:u:e{end}" for end in ends] + [f"range:e{end}:u" for end in ends] + [f"prefix:{key(0)[:-1].hex()}"])


def as_partitions() -> Iterator[dict[str, Any]]:
    """Range filters as the only partition of an index."""
    def index_of(name: str, data: bytes, queries: list[str], ways: tuple[Way, ...] = ()) -> dict[str, Any]:
        data, entries, separator = bytearray(data), data[24:32], b"\xff" * 20
        for way in ways:
            for at, changed_bytes in way.bytes.items():
                data[at:at + len(changed_bytes)] = changed_bytes
        head = bytearray(INDEX[:64])
        head[24:32], head[32], head[40] = entries, 16 + len(separator), 1
        record = bytes(8) + len(data).to_bytes(4, "little") + len(separator).to_bytes(4, "little")
        return answered("range-index", f"a partition, {name}", block(head + record + separator), queries,
                        partitions=block(data, ways, partitioned.partition_context(0, 0)).hex())

    for each in json.loads((KIT / "ranges.json").read_text()) + list(integers_of_shapes()):
        name, request = each["name"], each["request"]
        if name.removeprefix("range: ").startswith((
                "groups of 512", "least 255", "gaps of", "a byte without", "integers of 16 bytes", "integers: 2^",
                "a reader of integers", "the code", "log_block 3")):
            yield index_of(name, bytes.fromhex(request["bytes"]), request.get("queries", ["range:u:u"]))
    for way in RANGES:
        if way.row in ("payload_len", "digest"):
            yield index_of(way.name, INTEGERS, ["key:6b0001"], (way,))


def vectors_of_partitions() -> dict[str, Any]:
    """The worked example of the document, with its queries."""
    rows = [line.split(" ") for line in (FORMAT / "range-partitions.txt").read_text().splitlines() if line[0] != "#"]
    index, *partitions = [bytes.fromhex(row[1]) for row in rows if len(row) == 2]
    queries = []
    for text in (row[0] for row in rows if len(row) > 2):
        lower, _, upper = text[1:-1].partition(",")
        ends = ("ie"[text[0] == "("] + lower if lower != "-" else "u"), ("ie"[text[-1] == ")"] + upper if upper != "-" else "u")
        queries.append("prefix:" + text[:-1] if text[-1] == "*" else "range:" + ":".join(ends))
    return answered("range-index", "the worked example", index, queries, context="0x1", partitions=b"".join(partitions).hex())


def main() -> int:
    made = [*cases(), *of_contexts(), vectors_of_partitions(), *as_partitions(), *integers_of_shapes(), *groups_of_other_bits()]
    for each in made:
        reply = conformance.reply_to(each["request"])
        assert {name: reply.get(name) for name in each["reply"]} == each["reply"], (each["name"], each["reply"], reply)
    is_wrong = False
    for file, of_file in ("rows.json", made), ("sets.json", [*sets_of_shapes(), *sets_of_others(), *continued_sets()]):
        text = "[\n" + ",\n".join(map(json.dumps, of_file)) + "\n]\n"
        if sys.argv[1:] != ["--check"]:
            (KIT / file).write_text(text)
        is_wrong |= (KIT / file).read_text() != text
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
