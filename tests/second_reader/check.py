"""Checks golden files and vectors of the filterblock format, and answers requests about frames.

    python3 check.py golden DIR             every file named in DIR/index.json
    python3 check.py vectors format-spec.md every vector block of the document
    python3 check.py serve                  a JSON line for each JSON line of stdin
"""
from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import filterblock as fb
import fuse
import kinds
import partitioned
import ribbon


class Disagreement(Exception):
    """Something is not as the document or the index says."""


def expect(what: str, got: Any, wanted: Any) -> None:
    if got != wanted:
        raise Disagreement(f"{what}: got {got!r}, wanted {wanted!r}")


def class_of(error: Optional[kinds.FilterError]) -> str:
    return "ok" if error is None else type(error).__name__.lower()


# ------------------------------------------------------------------------------------------------------- golden

def check_golden(directory: Path) -> str:
    """Section 14: each frame opens, holds its entries, and is rebuilt from them bit for bit."""
    files = total = 0
    hashes_of: dict[tuple[str, fb.Hasher], list[int]] = {}
    for item in json.loads((directory / "index.json").read_text()):
        name = item["file"]
        data = (directory / name).read_bytes()
        key = item["hash_key"]
        hasher = fb.Hasher.siphash_with(bytes.fromhex(key)) if key else fb.Hasher.xxh3_with(int(item["seed"], 16))
        expect(f"{name}: hash_id and seed", (hasher.hash_id, hasher.seed), (item["hash_id"], int(item["seed"], 16)))
        entries = [bytes.fromhex(line) for line in (directory / item["entries"]).read_text().split("\n")[:-1]]
        if (item["entries"], hasher) not in hashes_of:
            hashes_of[item["entries"], hasher] = [hasher.hash(entry) for entry in entries]
        hashes = hashes_of[item["entries"], hasher]
        transform = item["transform_id"], item["transform_param"]
        if item["frame"] == "block":
            opened = fb.open_block(data, int(item["context"], 16), hasher, transform)
            if not opened.features & fb.ESTIMATE:
                expect(f"{name}: num_entries", opened.num_entries, len(set(hashes)))
        else:
            opened = fb.open_compact(data, hasher, transform)
        if opened.kind is not None:
            expect(f"{name}: kind", fb.KINDS[opened.kind], item["kind"])
        for entry, h in zip(entries, hashes):
            expect(f"{name}: entry {entry[:40].hex()}", opened.maybe_hash(h), True)
        if not entries:
            expect(f"{name}: any hash", opened.maybe_hash(1 << 63), False)
        if fb.rebuild(opened, hashes) != data:
            raise Disagreement(f"{name}: rebuilt otherwise")
        files, total = files + 1, total + len(entries)
    parts, found = check_partitioned(directory / "partitioned")
    return (f"counted: {files} golden files, {total} entries, all bit for bit; "
            f"{found} entries in {parts} partitions of partitioned filters")


def check_partitioned(directory: Path) -> tuple[int, int]:
    """Section 15: each index and each partition opens, entries are found, separators are the shortest."""
    parts = found = 0
    for item in json.loads((directory / "index.json").read_text()):
        name, key = item["name"], item["hash_key"]
        data = (directory / f"{name}.partitions").read_bytes()
        hasher = fb.Hasher.siphash_with(bytes.fromhex(key)) if key else None
        index = partitioned.open_index((directory / f"{name}.index").read_bytes(), int(item["context"], 16), hasher)
        opened = [index.open_partition(i, data[at:at + size]) for i, (at, size) in enumerate(index.records)]
        expect(f"{name}: num_entries", index.num_entries, sum(p.num_entries or 0 for p in opened))
        lines = (directory / f"{name}.keys").read_text().split("\n")[:-1]
        last: Optional[tuple[int, bytes]] = None
        for order_key, entry in (map(bytes.fromhex, line.split(" ")) for line in lines):
            i = index.find(order_key)
            expect(f"{name}: entry {entry.hex()}", i is not None and opened[i].maybe(entry), True)
            assert i is not None
            if last and last[0] != i:
                separator = partitioned.shortest_separator(last[1], order_key)
                expect(f"{name}: separator of {last[0]}", index.separators[last[0]], separator)
            last, found = (i, order_key), found + 1
        expect(f"{name}: above all", index.find(b"\xff" * 99), None)
        parts += len(opened)
    return parts, found


# ------------------------------------------------------------------------------------------------------ vectors

def numbers(words: list[str]) -> list[int]:
    return [int(word, 0) for word in words]


def listed(values: list[int]) -> str:
    return ",".join(map(str, values)) or "-"


def sample(n: int) -> bytes:
    """The entries of the vectors of section 3."""
    return bytes((157 + 151 * i) % 256 for i in range(n))


def vector_hash(words: list[str]) -> None:
    n, seed, wanted = numbers(words)
    expect("hash", fb.xxh3(sample(n), seed), wanted)


def vector_siphash(words: list[str]) -> None:
    key = bytes.fromhex(words[0])
    sizes = [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 255, 256, 1024]
    expect("hashes, key id", [fb.siphash13(sample(n), key) for n in sizes] + [fb.key_id(key)], numbers(words[1:]))


def vector_mix(words: list[str]) -> None:
    context, wanted = numbers(words)
    expect("mix", fb.mix(context), wanted)
    expect("inverse of mix", fb.unmix(wanted), context)


def vector_bloom(words: list[str]) -> None:
    h, num_bits, num_probes = numbers(words[:3])
    expect("bits", listed(list(fb.bloom_probes(h, fb.Bloom(num_probes, num_bits)))), words[3])


def vector_blocked(words: list[str]) -> None:
    h, num_probes, salt = numbers(words[:3])
    positions: list[list[int]] = [[] for _ in range(8)]
    for w, x in fb.blocked_probes(h, num_probes):
        positions[w].append(fb.blocked_position(x, w, salt, 60))
    expect("positions", [listed(p) for p in positions], words[3:])


def vector_golomb(words: list[str]) -> None:
    h, num_buckets, bucket_range, *wanted = numbers(words)
    expect("bucket, value", list(kinds.golomb_place(h, num_buckets, bucket_range)), wanted)


class Several:
    """The lines of `golomb-buckets`, of which the last has the payload that the others speak of [7]."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = []

    def __call__(self, words: list[str]) -> None:
        if len(self.lines) < 3:
            self.lines.append(words)
            return
        hashes = {fb.xxh3(entry) for entry in (b"a", b"b", b"c")}
        p, payload = fb.build_payload(fb.Golomb(2, 50, 0, 0, 1), hashes)
        assert isinstance(p, fb.Golomb)
        reader = fb.GolombReader(p, payload)
        expect("C, slope, d, payload", [str(reader.end), str(reader.slope), str(p.directory_bits), payload.hex()], words)
        for b, line in enumerate(self.lines):
            start = reader.start(b)
            got = [b, start, start - (reader.slope * b >> 8), listed(sorted(reader.values(b) or ()))]
            expect("bucket", [str(x) for x in got], line)
        expect("values found", all(reader.has(h) for h in hashes), True)


def vector_golomb_starts(words: list[str]) -> None:
    data = (Path(__file__).resolve().parent.parent / "golden/v1/golomb-many-10bits.bin").read_bytes()
    reader = fb.open_block(data)._golomb
    assert reader is not None
    num_buckets, b, anchor, deviation, start = numbers(words)
    expect("buckets, anchor, start", (reader.p.num_buckets, reader.start(b // 64 * 64), reader.start(b)),
           (num_buckets, anchor, start))
    expect("deviation", start - anchor - (reader.slope * (b % 64) >> 8), deviation)


def vector_golomb_example(words: list[str]) -> None:
    bucket_range, r, value, q, remainder = numbers(words[:5])
    h = fb.xxh3(b"a")
    expect("value", kinds.golomb_place(h, 1, bucket_range), (0, value))
    expect("q, remainder", (value >> r, value % 2**r), (q, remainder))
    _, payload = fb.build_payload(fb.Golomb(r, bucket_range, 1), {h})
    expect("payload", payload.hex(), words[5])


def vector_ribbon(words: list[str]) -> None:
    h, seed, num_blocks, *wanted = numbers(words)
    p = kinds.Ribbon(1, 0, seed, (2, num_blocks))
    x = p.enter(1, h)
    expect("x, start, coefficients, fingerprint", [x, *ribbon.equation(x, p.num_starts(1))], wanted)


class Equations:
    """The lines of `ribbon-example`: three equations, slots, and the payload [8]."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        self.hashes: set[int] = set()

    def __call__(self, words: list[str]) -> None:
        if len(words) == 4:
            h = fb.xxh3(bytes.fromhex(words[0]))
            start, coefficients, fingerprint = ribbon.equation(h, 64)
            expect("equation", [start, coefficients, fingerprint % 8], numbers(words[1:]))
            self.hashes.add(h)
        elif len(words) == 2:
            slot, bits = numbers(words)
            self.slots[slot] = bits
        else:
            p = ribbon.choose_layers(2, 1 << 31, 995, self.hashes)
            expect("layers", (p.num_blocks, p.last_seed, p.num_wide(0)), ((2,), 0, 1))
            _, payload = fb.build_payload(p, self.hashes)
            expect("payload", payload.hex(), words[0])
            columns = [payload[8 * k:8 * k + 8] + payload[24 + 8 * k:32 + 8 * k] for k in range(3)]
            bits = [int.from_bytes(column, "little") for column in columns]
            slots = {i: sum((b >> i & 1) << k for k, b in enumerate(bits)) for i in range(128)}
            expect("slots", {i: b for i, b in slots.items() if b}, self.slots)


def vector_ribbon_layers(words: list[str]) -> None:
    directory = Path(__file__).resolve().parent.parent / "golden/v1"
    opened = fb.open_block((directory / "ribbon-many-10bits.bin").read_bytes())
    p = opened.params
    assert isinstance(p, kinds.Ribbon)
    entering = [opened.hasher.hash(bytes.fromhex(e)) for e in (directory / "many.entries").read_text().split("\n")[:-1]]
    layer, last = int(words[0]), len(p.num_blocks) - 1
    for before in range(layer):
        _, _, entering = ribbon.fill(p, before, entering)
    bumped = ribbon.fill(p, layer, entering)[2] if layer < last else []
    solutions, thresholds, _ = p.layout()
    got = [layer, p.num_blocks[layer], p.num_wide(layer), solutions[layer] // 8,
           thresholds[layer] if layer < last else "-", len(entering), len(bumped)]
    expect("layer", [str(x) for x in got], words)


def vector_fuse(words: list[str]) -> None:
    h, seed, log2_segment_len, num_segments, x = numbers(words[:5])
    p = kinds.Fuse(32, log2_segment_len, seed, num_segments)
    expect("x", fuse.seeded(p, h), x)
    got = [",".join(map(str, fuse.slots_of(p, x))), f"{fuse.fingerprint_of(x):#010x}"]
    expect("slots, fingerprint", got, words[5:])


class Slots:
    """The lines of `fuse-example`: three entries, the order in which they are taken away, and the payload [9]."""

    def __init__(self) -> None:
        self.hashes: set[int] = set()
        self.taken: list[tuple[int, int, int]] = []

    def __call__(self, words: list[str]) -> None:
        p = kinds.Fuse(5, 1, 0, 1)
        h = fb.xxh3(bytes.fromhex(words[0]))
        if len(words) == 3 and "," in words[1]:
            got = [",".join(map(str, fuse.slots_of(p, h))), str(fuse.fingerprint_of(h) % 32)]
            expect("slots, fingerprint", got, words[1:])
            self.hashes.add(h)
        elif len(words) == 3:
            own, content = numbers(words[1:])
            self.taken.append((h, own, content))
        else:
            expect("parameters", fuse.choose_seed(5, 1, 1, self.hashes), p)
            _, payload = fb.build_payload(p, self.hashes)
            expect("payload", payload.hex(), words[0])
            reader = fuse.FuseReader(p, payload)
            got = [(h, own, reader.content(own)) for h, own in fuse.take_away(p, self.hashes) or []]
            expect("taken away", got, self.taken)


def vector_block(words: list[str]) -> None:
    frame, kind, of, data = words[0], words[1], words[2], bytes.fromhex(words[3])
    hasher = fb.Hasher.xxh3_with(0)
    opened = fb.open_block(data, 0, hasher, (0, 0)) if frame == "block" else fb.open_compact(data, hasher, (0, 0))
    if opened.kind is not None:
        expect("kind", fb.KINDS[opened.kind], kind)
    expect("answer", opened.maybe(b"a"), of == "a")
    expect("rebuilt", fb.rebuild(opened, [] if of == "none" else [hasher.hash(b"a")]).hex(), words[3])


def error_of(open_frame: Callable[[], object]) -> Optional[kinds.FilterError]:
    try:
        open_frame()
    except kinds.FilterError as e:
        return e
    return None


def unhex(word: str) -> bytes:
    return b"" if word == "-" else bytes.fromhex(word)


def vector_reject(words: list[str]) -> None:
    error = error_of(lambda: fb.open_block(unhex(words[2])))
    expect("class, row", [class_of(error), error and error.row], words[:2])


def vector_compact_reject(words: list[str]) -> None:
    error = error_of(lambda: fb.open_compact(unhex(words[2]), fb.Hasher.xxh3_with(0)))
    row = error and ("payload" if error.row in ("range", "unused") else error.row)
    expect("class, row", [class_of(error), row], words[:2])


def vector_found_context(words: list[str]) -> None:
    error = error_of(lambda: fb.open_block(bytes.fromhex(words[2])))
    found = error.found_context if isinstance(error, fb.Mismatch) else None
    expect("class, context", [class_of(error), "-" if found is None else f"0x{found:016x}"], words[:2])


def vector_accept(words: list[str]) -> None:
    answer = fb.open_block(bytes.fromhex(words[2])).maybe(b"a")
    expect("answer", "maybe" if answer else "no", words[1])


class Queries:
    """The lines of `transform`: a block of each, then queries of it, with entry, hash and answer [4.3]."""

    def __init__(self) -> None:
        self.opened: Optional[fb.Filter] = None

    def __call__(self, words: list[str]) -> None:
        transform = int(words[0]), int(words[1])
        if len(words) == 3:
            self.opened = fb.open_block(unhex(words[2]), 0, fb.Hasher.xxh3_with(7), transform)
            return
        assert self.opened
        name, *parts = words[2].split(":")
        entry = fb.entry_of(transform, name, *map(bytes.fromhex, parts))
        h = None if entry is None else self.opened.hasher.hash(entry)
        answer = "maybe" if h is None or self.opened.maybe_hash(h) else "no"
        got = ["none" if entry is None else entry.hex(), "none" if h is None else f"0x{h:016x}", answer]
        expect("entry, hash, answer", got, words[3:])


def vector_order_key(words: list[str]) -> None:
    expect("order key", partitioned.pair_order_key(unhex(words[0]), unhex(words[1])), unhex(words[2]))


def vector_separator(words: list[str]) -> None:
    expect("separator", partitioned.shortest_separator(unhex(words[0]), unhex(words[1])), unhex(words[2]))


def vector_partition_context(words: list[str]) -> None:
    context, partition, wanted = numbers(words)
    expect("context", partitioned.partition_context(context, partition), wanted)


class Example:
    """The index, partitions and separators of the worked example, and the answers from them [14.4]."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}

    def part(self, words: list[str]) -> None:
        self.parts[words[0]] = unhex(words[1])

    def answer(self, words: list[str]) -> None:
        index = partitioned.open_index(self.parts["index"], 1)
        blocks = [self.parts[f"partition-{i}"] for i in range(len(index.records))]
        expect("separators", index.separators, [self.parts[f"separator-{i}"] for i in range(len(blocks))])
        key, data = unhex(words[0]), b"".join(blocks)
        i = index.find(key)
        answer = index.maybe(key, key, lambda offset, length: data[offset:offset + length])
        expect("partition, answer", ["-" if i is None else str(i), "maybe" if answer else "no"], words[1:])


def vector_index_reject(words: list[str]) -> None:
    error = error_of(lambda: partitioned.open_index(unhex(words[2]), 1))
    expect("class, row", [class_of(error), error and error.row], words[:2])


EXAMPLE = Example()
VECTORS: dict[str, Callable[[list[str]], None]] = {
    "hash": vector_hash, "siphash": vector_siphash, "mix": vector_mix, "bloom": vector_bloom,
    "blocked": vector_blocked, "golomb-example": vector_golomb_example, "golomb": vector_golomb,
    "golomb-buckets": Several(), "golomb-starts": vector_golomb_starts, "block": vector_block,
    "ribbon": vector_ribbon, "ribbon-example": Equations(), "ribbon-layers": vector_ribbon_layers,
    "fuse": vector_fuse, "fuse-example": Slots(),
    "found-context": vector_found_context, "reject": vector_reject, "compact-reject": vector_compact_reject,
    "accept": vector_accept, "transform": Queries(), "order-key": vector_order_key, "separator": vector_separator,
    "partition-context": vector_partition_context, "partitioned-example": EXAMPLE.part,
    "partitioned-answers": EXAMPLE.answer, "index-reject": vector_index_reject,
}


def check_vectors(document: Path) -> str:
    """Every block of vectors in the document; each must be known here, and each known one must stand there."""
    counts: dict[str, int] = {}
    for name, body in re.findall(r"^```vectors ([^\n]+)\n(.*?)^```", document.read_text(), re.M | re.S):
        if name not in VECTORS:
            raise Disagreement(f"vectors of unknown name {name}")
        for line in body.splitlines():
            if line.strip() and not line.startswith("#"):
                try:
                    VECTORS[name](line.split())
                except (Disagreement, kinds.FilterError) as e:
                    raise Disagreement(f"vectors {name}: {line[:100]}: {e}") from e
                counts[name] = counts.get(name, 0) + 1
    expect("names of vectors", set(counts), set(VECTORS))
    return f"counted: {sum(counts.values())} vectors: " + ", ".join(f"{n} {name}" for name, n in counts.items())


# -------------------------------------------------------------------------------------------------------- serve

def hasher_of(wish: Optional[dict[str, Any]]) -> Optional[fb.Hasher]:
    if wish is None:
        return None
    if wish["hash_id"] == 2:
        return fb.Hasher.siphash_with(bytes.fromhex(wish["key"]))
    return fb.Hasher.xxh3_with(int(wish["seed"], 16))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request. A frame that does not open answers *maybe* to everything (section 11)."""
    reply: dict[str, Any] = {"class": "ok", "found_context": None, "kind": None, "num_entries": None,
                             "answers": "m" * (len(request["ask"]) + len(request["hashes"])), "rebuilt": None}
    data = bytes.fromhex(request["bytes"])
    hasher, wish = hasher_of(request["hasher"]), request["transform"]
    transform = None if wish is None else (wish[0], wish[1])
    try:
        if request["frame"] == "block":
            opened = fb.open_block(data, int(request["context"], 16), hasher, transform)
        else:
            opened = fb.open_compact(data, hasher or fb.Hasher.xxh3_with(0), transform)
    except kinds.FilterError as e:
        reply["class"] = class_of(e)
        if isinstance(e, fb.Mismatch) and e.found_context is not None:
            reply["found_context"] = f"0x{e.found_context:016x}"
        return reply
    known: dict[str, int] = {}

    def hash_of(entry: str) -> int:
        h = known.get(entry)
        if h is None:
            h = known[entry] = opened.hasher.hash(bytes.fromhex(entry))
        return h

    maybe = opened.maybe_hash
    reply["kind"] = fb.KINDS.get(opened.kind or 0)
    reply["num_entries"] = opened.num_entries
    reply["answers"] = "".join(["m" if maybe(hash_of(entry)) else "n" for entry in request["ask"]]
                               + ["m" if maybe(int(h, 16)) else "n" for h in request["hashes"]])
    if request["entries"] is not None:
        try:
            reply["rebuilt"] = fb.rebuild(opened, [hash_of(entry) for entry in request["entries"]]) == data
        except fb.Unwritable:
            reply["rebuilt"] = False
    return reply


def serve() -> None:
    def replies() -> Iterator[str]:
        for line in sys.stdin:
            if line.strip():
                yield json.dumps(answer(json.loads(line)), separators=(",", ":"))

    for number, reply in enumerate(replies(), 1):
        sys.stdout.write(reply + "\n")
        if number % 200 == 0:
            sys.stdout.flush()
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["golden", directory]:
                print(check_golden(Path(directory)))
            case ["vectors", document]:
                print(check_vectors(Path(document)))
            case ["serve"]:
                serve()
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except (Disagreement, kinds.FilterError) as e:
        print(f"disagreement: {type(e).__name__}: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
