"""Has a reader of the filterblock format answer the conformance kit, and reports where it is wrong.

    python3 run.py [--every-field] [--files FILE,...] [--frames FRAME,...] COMMAND [ARGUMENT...]

COMMAND is started once. It is given a request in a line of JSON, on its standard input, and must write a reply in a
line of JSON to its standard output before it is given the next one. README.md, beside this file, describes both.
Needs Python 3.9 and nothing else. Ends with 0 if no reply is wrong, with 1 if any is.
"""
from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Optional

KIT = "1.1"  # README.md states what it means
ALWAYS = ("class", "answers")
OPTIONAL = ("row", "found_context", "kind", "num_entries", "partitions", "blocks")


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
            counts["queries that the reader does not have"] += 0 if every_field else got.count("-")
            same = all(g == w or g == "-" and not every_field for g, w in zip(got, wanted))
            counts["answers"] += len(wanted)
        else:
            same = value(got) == value(wanted)
            counts[field] += 1
        if not same:
            return f"{field}: expected {wanted!r}, got {got!r}"
    return None


def judge(case: dict[str, Any], reply: dict[str, Any], every_field: bool, counts: Counter[str]) -> Optional[str]:
    wrong = fault(case["reply"], reply, every_field, counts)
    if wrong and "or" in case and not every_field:
        return wrong if fault(case["or"], reply, every_field, Counter()) else None
    return wrong


def cases_of(names: Optional[list[str]], frames: Optional[list[str]]) -> list[dict[str, Any]]:
    directory = Path(__file__).resolve().parent
    files = [directory / name for name in names] if names else sorted(directory.glob("*.json"))
    cases = [{**case, "file": path.name} for path in files for case in json.loads(path.read_text())]
    return [case for case in cases if not frames or case["request"]["frame"] in frames]


def main(arguments: list[str]) -> int:
    every_field = arguments[:1] == ["--every-field"]
    arguments = arguments[every_field:]
    names = arguments[1].split(",") if arguments[:1] == ["--files"] else None
    arguments = arguments[2:] if names else arguments
    frames = arguments[1].split(",") if arguments[:1] == ["--frames"] else None
    command = arguments[2:] if frames else arguments
    if not command or command[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    cases, counts, wrong = cases_of(names, frames), Counter[str](), 0
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert reader.stdin and reader.stdout
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
        try:
            reply = json.loads(line)
            found = judge(case, reply, every_field, counts) if isinstance(reply, dict) else f"not an object: {line[:200]}"
        except ValueError:
            found = f"not JSON: {line[:200]}"
        if found:
            wrong += 1
            if wrong <= 20:
                print(f"{name}: {found}")
    reader.stdin.close()
    reader.wait()
    compared = ", ".join(f"{count} {field}" for field, count in counts.items() if count)
    print(f"counted: kit {KIT}: {len(cases)} cases, {wrong} wrong; compared: {compared}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
