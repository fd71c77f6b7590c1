"""What tests/conformance/run.py must notice, in each of its modes: a reply that is wrong in one way, and readers that
know all replies and are wrong by habit.

    python3 runner.py
"""
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

KIT = Path(__file__).resolve().parent.parent / "conformance"
sys.path.insert(0, str(KIT))
import run  # noqa: E402

MODES = DEFAULT, EVERY_FIELD, OF_KINDS, OF_LEVEL = "", "--every-field", "--kinds blocked,ribbon", "--level 1"


def must_read(case: dict[str, Any], mode: str) -> bool:
    """Whether a reader of this mode must reply to the frame as every reader."""
    request, data = case["request"], bytes.fromhex(case["request"]["bytes"])
    kind = run.KINDS.index(case["reply"].get("kind", "")) if request["frame"] == "compact" else [*data[9:10], 0][0]
    is_of_level = "key" not in request and not any(request.get("transform", [])) and data[10:12] == b"\1\0"
    return mode in (DEFAULT, EVERY_FIELD) or kind in (2, 4) and (mode == OF_KINDS or is_of_level)


def wrong_replies(case: dict[str, Any], mode: str) -> Iterator[dict[str, Any]]:
    reply, permitted, known = case["reply"], case.get("or", {}), must_read(case, mode)
    answers, is_open = reply.get("answers", ""), reply["class"] == "ok"
    for at, letter in enumerate(answers):
        if letter == "m" or known:  # whoever reads must not deny a stored key
            yield {**reply, "answers": f"{answers[:at]}{'mn'[letter == 'm']}{answers[at + 1:]}"}
    yield from ({**reply, "answers": other} for other in (answers[1:], answers + "m", None, list(answers)) if answers)
    classes = {reply["class"], *([permitted.get("class")] if mode != EVERY_FIELD else []),
               *([] if known else ["ok", "newer"]), *(run.REFUSED if mode == OF_LEVEL and not (known and is_open) else [])}
    yield from ({"class": name, "answers": answers} for name in ("ok", *run.REFUSED, "new") if name not in classes)
    if known and (is_open or mode != OF_LEVEL):
        yield from ({**reply, field: "other"} for field in run.OPTIONAL if field in reply)
    if mode == DEFAULT:
        yield from ({**permitted, field: "other"} for field in permitted if permitted[field])
    if mode == EVERY_FIELD:
        yield from ({other: reply[other] for other in reply if other != field} for field in reply if reply[field])
        yield from [permitted] if permitted else []


def judges() -> int:
    num_replies = 0
    for mode in MODES:
        options = run.options_of([*mode.split(), "reader"])
        for case in run.cases_of(options):
            for reply in case["reply"], case["reply"] if mode == EVERY_FIELD else case.get("or", case["reply"]):
                assert not run.judge(case, reply, options, Counter()), (mode, case["name"], reply)
            for num_replies, reply in enumerate(wrong_replies(case, mode), num_replies + 1):
                assert run.judge(case, reply, options, Counter()), (mode, case["name"], reply)
    return num_replies


def answer(habit: str) -> int:
    """A reader that has all replies, and this habit."""
    replies = {json.dumps(case["request"]): case["reply"] for case in run.cases_of(run.options_of(["reader"]))}
    for line in sys.stdin:
        reply = replies[line.strip()]
        letters = list(zip(reply.get("answers", ""), json.loads(line).get("queries", [])))
        changed = {"denies": "n", "leaves all out": "-"}.get(habit)
        is_left = {"leaves out what is absent": lambda letter, query: letter == "n", "leaves out a sort of query":
                   lambda letter, query: query.startswith("hash:")}.get(habit, lambda *_: False)
        answers = "".join(changed or ("-" if is_left(*of) else of[0]) for of in letters)
        print(json.dumps({**reply, "answers": answers}), flush=True)
        time.sleep(60 * (habit == "hangs"))
    print("{}" if habit == "writes more" else "", end="")
    return 3 if habit == "ends with an error" else 0


def passes(arguments: str, habit: str) -> bool:
    script = f"import run, sys; run.DEADLINE = {1 if habit == 'hangs' else 60}; sys.exit(run.main(sys.argv[1:]))"
    command = [sys.executable, "-B", "-c", script, *arguments.split(), sys.executable, "-B", __file__, habit]
    return subprocess.run(command, cwd=KIT, capture_output=True, timeout=300).returncode == 0


def main() -> int:
    print(f"counted: {judges()} wrong replies that the runner notices")
    for mode in MODES:
        assert passes(mode, "knows all") and not passes(mode, "denies"), mode
    assert passes("", "leaves out a sort of query") and not passes("--every-field", "leaves out a sort of query")
    for habit in "leaves all out", "leaves out what is absent", "writes more", "ends with an error", "hangs":
        assert not passes("--files kinds.json", habit), habit
    # Names that are unknown, and no cases.
    for arguments in "--frames index,blocks", "--kinds blocked,bloomed", "--level 1 --files sets.json":
        assert not passes(arguments, "knows all"), arguments
    return 0


if __name__ == "__main__":
    sys.exit(answer(*sys.argv[1:]) if sys.argv[1:] else main())
