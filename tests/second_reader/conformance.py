"""The second reader under the protocol of tests/conformance: a line of reply for each line of request.

    python3 ../conformance/run.py python3 conformance.py
    python3 ../conformance/run.py --level 1 python3 conformance.py --level 1    as a reader of format/level-1.md

A request may have `entries` besides: then `rebuilt` says whether a writer makes the same bytes of these.
"""
from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any, Callable, Optional

import filterblock as fb
import kinds
import partitioned
import range_partitions
import ranges


def hasher_of(request: dict[str, Any]) -> Optional[fb.Hasher]:
    if "key" in request:
        return fb.Hasher.siphash_with(bytes.fromhex(request["key"]))
    return fb.Hasher.xxh3_with(int(request["seed"], 16)) if "seed" in request else None


def long_entry(length: int) -> bytes:
    return bytes((i * 0x9E3779B97F4A7C15 & kinds.U64) >> 56 for i in range(1, length + 1))


def maybe(opened: fb.Filter, query: str) -> bool:
    name, *parts = query.split(":")
    if name == "hash":
        return opened.maybe_hash(int(parts[0], 16))
    if name == "long":
        return opened.maybe(long_entry(int(parts[0])))
    texts = [bytes.fromhex(part) for part in parts]
    if name == "entry":
        return opened.maybe(texts[0])
    assert opened.transform
    entry = fb.entry_of(opened.transform, name, *texts)
    return entry is None or opened.maybe(entry)


def maybe_in_partition(index: partitioned.Index, data: bytes, query: str) -> bool:
    name, *parts = query.split(":")
    texts = [bytes.fromhex(part) for part in parts]
    if name == "at":
        order_key, entry = texts
    else:
        at = partitioned.order_key_of(index.transform, name, *texts)
        of_query = fb.entry_of(index.transform, name, *texts)
        if at is None or of_query is None:
            return True
        order_key, entry = at, of_query
    try:
        return index.maybe(order_key, entry, lambda offset, length: data[offset:offset + length])
    except kinds.FilterError:
        return True


def bound(text: str) -> ranges.Bound:
    """"u" is no bound, "i" or "e" and a key one that is included or excluded."""
    return ranges.Bound(None if text == "u" else bytes.fromhex(text[1:]), text[0] == "e")


def range_of(query: str) -> tuple[ranges.Bound, ranges.Bound]:
    name, *parts = query.split(":")
    if name == "prefix":
        prefix = ranges.Bound(bytes.fromhex(parts[0]), is_prefix=True)
        return prefix, prefix
    lower, upper = map(bound, ["i" + parts[0]] * 2 if name == "key" else parts)
    return lower, upper


def maybe_in_range(opened: ranges.AnyFilter, query: str) -> bool:
    if query.startswith("prefix:"):
        return opened.may_contain_prefix(bytes.fromhex(query.split(":")[1]))
    return opened.may_contain(*range_of(query))


def is_rebuilt(rebuild: Callable[..., bytes], opened: Any, entries: Any, request: dict[str, Any]) -> bool:
    try:
        return rebuild(opened, entries) == bytes.fromhex(request["bytes"])
    except kinds.Unwritable:
        return False


def reply_of_ranges(request: dict[str, Any], opened: ranges.AnyFilter) -> dict[str, Any]:
    reply: dict[str, Any] = {"class": "ok", "num_entries": hex(opened.num_entries), "num_leaves": opened.num_leaves}
    reply["answers"] = "".join("m" if maybe_in_range(opened, query) else "n" for query in request.get("queries", []))
    if "entries" in request:
        reply["rebuilt"] = is_rebuilt(ranges.rebuild, opened, map(bytes.fromhex, request["entries"]), request)
    return reply


def class_of(error: kinds.FilterError) -> str:
    return type(error).__name__.lower()


def partitions_of(index: partitioned.Index, request: dict[str, Any]) -> list[bytes]:
    file = bytes.fromhex(request["partitions"])
    return [file[offset:offset + length] for offset, length in index.records]


def class_of_opened(open_it: Callable[..., Any], *arguments: Any) -> str:
    try:
        open_it(*arguments)
    except kinds.FilterError as error:
        return class_of(error)
    return "ok"


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    data, context = bytes.fromhex(request["bytes"]), int(request.get("context", "0x0"), 16)
    hasher, queries = hasher_of(request), request.get("queries", [])
    transform = tuple(request["transform"]) if "transform" in request else None
    reply: dict[str, Any] = {"class": "ok"}
    try:
        if request["frame"] in ("index", "range-index"):
            if request["frame"] == "index":
                index, file = partitioned.open_index(data, context, hasher, transform), bytes.fromhex(request["partitions"])
                open_partition: Callable[..., Any] = index.open_partition
                answers = (maybe_in_partition(index, file, query) for query in queries)
            else:
                index = range_partitions.open_index(data, context)
                open_partition, load = partial(range_partitions.open_partition, index), partitions_of(index, request).__getitem__
                answers = (range_partitions.may_contain(index, *range_of(query), load) for query in queries)
            reply["partitions"] = [class_of_opened(open_partition, *each) for each in enumerate(partitions_of(index, request))]
            reply["num_entries"] = hex(index.num_entries)
            reply["answers"] = "".join("m" if answer else "n" for answer in answers)
            return reply
        if request["frame"] == "set":
            import sets  # which imports this module
            return sets.reply_in_kit(request)
        if request["frame"] == "range":
            return reply_of_ranges(request, ranges.open_range(data, context))
        if request["frame"] == "block":
            opened = fb.open_block(data, context, hasher, transform)
            reply["num_entries"] = hex(opened.num_entries or 0)
        else:
            assert hasher
            opened = fb.open_compact(data, hasher, transform)
    except kinds.FilterError as error:
        reply = {"class": class_of(error), "row": error.row}
        if request["frame"] == "compact" and error.row in ("range", "unused"):
            reply["row"] = "payload"  # one row there [10]
        if isinstance(error, kinds.Mismatch) and error.found_context is not None:
            reply["found_context"] = hex(error.found_context)
        return reply
    if opened.kind is not None:
        reply["kind"] = fb.KINDS[opened.kind]
    reply["answers"] = "".join("m" if maybe(opened, query) else "n" for query in queries)
    if "entries" in request:
        hashes = [opened.hasher.hash(bytes.fromhex(entry)) for entry in request["entries"]]
        reply["rebuilt"] = is_rebuilt(fb.rebuild, opened, hashes, request)
    return reply


def reply_of_level_1(request: dict[str, Any]) -> dict[str, Any]:
    """Refuses what level 1 has not, and answers maybe for entries that are not whole keys."""
    kind, hash_id, transform = bytes.fromhex(request["bytes"])[9:12].ljust(3, b"\0")
    if kind not in (kinds.BLOCKED, kinds.RIBBON) or hash_id != 1:
        return {"class": "newer"}
    reply = reply_to(request)
    return {**reply, "answers": "m" * len(reply["answers"])} if transform and reply["class"] == "ok" else reply


if __name__ == "__main__":
    of_request = reply_of_level_1 if sys.argv[1:] == ["--level", "1"] else reply_to
    for line in sys.stdin:
        print(json.dumps(of_request(json.loads(line))), flush=True)
