"""Has a reader of the filterblock format answer the conformance kit, and reports where it is wrong.

    python3 run.py [--every-field] [--files FILE,...] [--frames FRAME,...] [--kinds KIND,...] [--level 1]
                   COMMAND [ARGUMENT...]

COMMAND is started once. It is given a request in a line of JSON, on its standard input, and must write a reply in a
line of JSON to its standard output before it is given the next one. README.md, beside this file, describes both.
Needs Python 3.9 and nothing else. Ends with 0 if the reader passes, with 1 if it does not.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Optional

KIT = "1.3"  # README.md states what it means
DEADLINE = 60  # seconds that a reply, or the reader's end, may take
FRAMES = {"block", "compact", "index", "range", "range-index", "set"}
KINDS = ("", "bloom", "blocked", "golomb", "ribbon", "fuse")
REFUSED = ("damaged", "newer", "mismatch")
ALWAYS = ("class", "answers")
OPTIONAL = ("row", "found_context", "kind", "num_entries", "partitions", "units")


# A number, however it is written; anything else as it is.
def value(field: Any) -> Any:
    return int(field, 16) if isinstance(field, str) and re.fullmatch("0x[0-9A-Fa-f]+", field) else field


def fault(expected: dict[str, Any], reply: dict[str, Any], every_field: bool, counts: Counter[str]) -> Optional[str]:
    """What is wrong with a reply, if anything is. Optional fields count where the reply has them."""
    for field in ALWAYS + OPTIONAL:
        if expected.get(field, "") == "" or field not in reply and field in OPTIONAL and not every_field:
            continue
        wanted, got = expected[field], reply.get(field)
        if field == "answers" and isinstance(got, str) and len(got) == len(wanted):
            left = 0 if every_field else got.count("-")
            same = all(g == w or g == "-" and not every_field for g, w in zip(got, wanted))
            counts["answers"] += len(wanted) - left
            counts["queries that the reader does not have"] += left
        else:
            same = value(got) == value(wanted)
            counts[field] += 1
        if not same:
            return f"{field}: expected {wanted!r}, got {got!r}"
    return None


def is_beyond(request: dict[str, Any], options: argparse.Namespace) -> bool:
    """Whether the frame is one that a reader of these kinds, or of level 1, need not read."""
    data = bytes.fromhex(request["bytes"])
    kind = data[-1] & 7 if request["frame"] == "compact" and data else data[9] if len(data) > 9 else 0
    if options.kinds and 0 < kind < len(KINDS) and KINDS[kind] not in options.kinds:
        return True
    is_of_others = "key" in request or request.get("transform", [0, 0]) != [0, 0]
    return options.level == 1 and (is_of_others or len(data) > 11 and (data[10] == 2 or data[11] != 0))


def judge(case: dict[str, Any], reply: dict[str, Any], options: argparse.Namespace, counts: Counter[str]) -> Optional[str]:
    expected, every_field = case["reply"], options.every_field
    if is_beyond(case["request"], options):
        answers, num_queries = reply.get("answers") or "", len(case["request"].get("queries", []))
        is_maybe = isinstance(answers, str) and len(answers) == num_queries and set(answers) <= {"m", "-"}
        if reply.get("class") in (REFUSED if options.level else ("newer",)) or reply.get("class") == "ok" and is_maybe:
            return None
    if options.level and expected["class"] in REFUSED:
        return None if reply.get("class") in REFUSED else f"opened, and {expected['class']} expected"
    wrong = fault(expected, reply, every_field, counts)
    if wrong and "or" in case and not every_field:
        return wrong if fault(case["or"], reply, every_field, Counter()) else None
    return wrong


def uneven(request: dict[str, Any], reply: dict[str, Any], has: dict[tuple[str, str], bool]) -> Optional[str]:
    """What a reader answers and leaves out by turns, though it has such queries or has not. `has` is of earlier cases."""
    for query, answer in zip(request.get("queries", []), str(reply.get("answers", ""))):
        name = query.split(":")[0]
        if has.setdefault((request["frame"], name), answer != "-") != (answer != "-"):
            return f"answers: {query[:100]!r} has {answer!r}; {name!r} of this frame must be answered always, or never"
    return None


def cases_of(options: argparse.Namespace) -> list[dict[str, Any]]:
    directory, frames = Path(__file__).resolve().parent, options.frames
    files = [directory / name for name in options.files] if options.files else sorted(directory.glob("*.json"))
    cases = [{**case, "file": path.name} for path in files for case in json.loads(path.read_text())]
    return [case for case in cases if not frames or case["request"]["frame"] in frames]


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every-field", action="store_true", help="compare what the document does not require, too")
    for name, of in ("files", "files of cases"), ("frames", "sorts of frames"), ("kinds", "kinds that the reader has"):
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=[], metavar="A,B,...", help=of)
    parser.add_argument("--level", type=int, choices=[1], help="of format/level-1.md")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the reader")
    options = parser.parse_args(arguments)
    if options.level:
        options.frames, options.kinds = options.frames or ["block"], options.kinds or ["blocked", "ribbon"]
    elif options.kinds:
        options.frames = options.frames or ["block", "compact"]
    if not options.command or not set(options.kinds) <= set(KINDS[1:]) or not set(options.frames) <= FRAMES:
        parser.error("a command, and known kinds and frames")
    return options


def watch(reader: subprocess.Popen[str], replies: list[str]) -> None:
    """Ends reader and runner where no reply comes. Counts seconds in which this process runs."""
    seen, seconds = 0, 0
    while seconds < DEADLINE:
        time.sleep(1)
        seen, seconds = len(replies), seconds + 1 if len(replies) == seen else 0
    print(f"after {seen} replies: no reply, or no end, within {DEADLINE} seconds", flush=True)
    reader.kill()
    os._exit(1)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    cases, counts, wrong = cases_of(options), Counter[str](), 0
    if not cases:
        sys.exit("no cases: those files have none of those frames")
    reader = subprocess.Popen(options.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert reader.stdin and reader.stdout
    replies: list[str] = []
    has: dict[tuple[str, str], bool] = {}
    threading.Thread(target=watch, args=(reader, replies), daemon=True).start()
    for number, case in enumerate(cases, 1):
        name = f"{case['file']}, {case['name']}"
        try:
            reader.stdin.write(json.dumps(case["request"]) + "\n")
            reader.stdin.flush()
            line = reader.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            print(f"{name}: the reader ended, status {reader.wait()}; {len(cases) - number} cases are left")
            return 1
        replies.append(line)
        try:
            reply = json.loads(line)
            found = judge(case, reply, options, counts) if isinstance(reply, dict) else f"not an object: {line[:200]}"
        except ValueError:
            found = f"not JSON: {line[:200]}"
        if not found and not is_beyond(case["request"], options):
            found = uneven(case["request"], reply, has)
        if found:
            wrong += 1
            if wrong <= 20:
                print(f"{name}: {found}")
    reader.stdin.close()
    rest = reader.stdout.read(200)
    if rest:
        reader.kill()
    status = reader.wait()
    compared = ", ".join(f"{count} {field}" for field, count in counts.items() if count)
    print(f"counted: kit {KIT}: {len(cases)} cases, {wrong} wrong; compared: {compared}")
    none_compared = not counts["answers"] and any(case["reply"].get("answers") for case in cases)
    for is_so, why in ((rest, f"after the last reply the reader wrote {rest!r}"),
                       (none_compared, "no answer was compared"), (status, f"the reader ended with status {status}")):
        if is_so:
            print(why)
    return 1 if wrong or rest or status or none_compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
