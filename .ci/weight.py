"""Counts the code of each part in Rust, C, C++ and Python, and fails where it exceeds its ceiling in `.ci/weight.txt`.

Code is a line that is neither blank nor a comment. Unit tests, `mod tests { … }` at the end of a file and files of
tests, are counted apart.
"""

import re
import subprocess
import sys

CEILING = ".ci/weight.txt"
COMMENT = {"rs": "//", "c": "//", "cc": "//", "h": "//", "py": "#"}
# Of no part, and without a ceiling: scripts and their programs, what builds, examples of the documentation, the C header.
NO_PART = re.compile(
    r"\.ci/|(crates/filterblock-cli/)?build\.rs$|examples/build_and_probe\.rs$"
    r"|crates/filterblock-engine/examples/table_writer\.rs$|crates/filterblock-capi/include/filterblock\.h$"
)
UNIT_TESTS = re.compile(r"(^|/)((set_|work_)?tests|guard_pages|guarded|random)\.rs$")


def code_lines(path):
    """The lines of code of a file: outside and inside of unit tests."""
    comment = COMMENT[path.rsplit(".", 1)[1]]
    lines = [line for line in open(path, encoding="utf-8").read().splitlines()]
    begin = next((at for at, line in enumerate(lines) if line.startswith("mod tests {")), len(lines))
    if UNIT_TESTS.search(path) and "/tests/" not in path:
        begin = 0
    is_code = [bool(line.strip()) and not line.strip().startswith(comment) for line in lines]
    return sum(is_code[:begin]), sum(is_code[begin:])


def main():
    paths = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    paths = [path for path in paths if path.rsplit(".", 1)[-1] in COMMENT]
    exceeded, rest = [], {path for path in paths if not NO_PART.match(path)}
    print(f"{'code':>7} {'ceiling':>7} {'unit tests':>10}  part")
    for entry in open(CEILING, encoding="utf-8").read().splitlines():
        if not entry or entry.startswith("#"):
            continue
        ceiling, name, pattern = entry.split()
        of_part = [path for path in paths if re.match(pattern, path)]
        rest.difference_update(of_part)
        counts = [code_lines(path) for path in of_part]
        code, unit = (sum(column) for column in zip(*counts, strict=True))
        print(f"{code:7} {ceiling:>7} {unit:10}  {name}")
        if code > int(ceiling):
            exceeded.append(name)
    if rest:
        sys.exit(f"of no part of {CEILING}: {', '.join(sorted(rest))}")
    if exceeded:
        sys.exit(f"over the ceiling of {CEILING}: {', '.join(exceeded)}. Before raising it: what can go?")


main()
