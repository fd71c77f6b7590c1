"""Breaks the second reader in every way that a small set of rules knows, in one place and in two, makes its numbers too
narrow (widths.py), and counts what the conformance kit notices: in every field, and by what a reader must reply.

    python3 mutate.py [--only WORDS] [--jobs N]

Only what reads is broken, not what writes. survivors.txt lists what the kit does not notice in any field, each with the
reason: a mutant that is missing there, or listed and noticed, is an error. Needs Linux, Python 3.11 and the package
xxhash.
"""
from __future__ import annotations

import argparse
import ast
import copy
import itertools
import os
import random
import resource
import signal
import sys
import types
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Callable, Iterable, Iterator, Optional

import widths

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
import run  # noqa: E402

REQUIRED, EVERY_FIELD = run.options_of(["reader"]), run.options_of(["--every-field", "reader"])
# The modules that are broken, and the frames that judge them. Each module imports only those before it.
FAMILIES = [
    (["kinds", "fuse", "ribbon", "filterblock"], ["block", "compact", "index"]),
    (["partitioned"], ["index", "range-index"]),
    (["integers", "cuts", "ranges", "range_partitions"], ["range", "range-index"]),
    (["sets"], ["set"])]
MODULES = [*(module for family, _ in FAMILIES[:3] for module in family), "conformance", "sets"]
WRITERS = {
    "build_bloom", "build_blocked", "build_golomb", "build_fuse", "build_ribbon", "build_payload", "take_away",
    "unknowns_of", "remapped_set", "set_seed_of", "fill", "Rows", "write_block", "write_compact", "rebuild",
    "most_columns", "crosses_a_cut", "equations_of", "CUT",
    "ranges.Group", "field_of", "steps_of", "gaps_of", "build_ranges", "write_range", "common_prefix", "strings_of", "in_common",
    "integers.write", "integers.bytes_of", "ranges.bytes_of", "build_codes", "low_first",
    "write_group", "write_set", "matched", "number_entry", "days_of", "seconds_entry", "sets.entry_of", "EXAMPLE", "example", "example_set", "rejected", "sets.values",
    "is_as_document", "sets.reply_to", "reply_in_kit", "main"}
CPU_SECONDS, ADDRESS_SPACE = 2, 2 << 30
SINGLES_A_PAIR = 2
Cases = list[dict]  # of the kit
OUTCOMES = ["survived", "wrong", "wrong in an optional field", "no mutant"]  # by the status of a process

COMPARISONS = {
    ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt], ast.Gt: [ast.GtE, ast.LtE], ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq, ast.GtE, ast.LtE], ast.NotEq: [ast.Eq, ast.Gt, ast.Lt], ast.In: [ast.NotIn], ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot], ast.IsNot: [ast.Is]}
OPERATORS = {
    ast.Add: [ast.Sub, ast.BitOr], ast.Sub: [ast.Add], ast.Mult: [ast.Add], ast.FloorDiv: [ast.Mod, ast.RShift],
    ast.Mod: [ast.FloorDiv], ast.LShift: [ast.RShift], ast.RShift: [ast.LShift], ast.BitAnd: [ast.BitOr, ast.BitXor],
    ast.BitOr: [ast.BitAnd, ast.BitXor], ast.BitXor: [ast.BitOr, ast.BitAnd], ast.Pow: [ast.Mult]}
NAMES = {
    "Damaged": ["Newer", "Mismatch"], "Newer": ["Damaged", "Mismatch"], "Mismatch": ["Damaged", "Newer"],
    "any": ["all"], "all": ["any"], "min": ["max"], "max": ["min"], "U32": ["U64"], "U64": ["U32"]}

# Mistakes that people make and no rule above does. Each text occurs once in its module.
BY_HAND = [
    ("filterblock", "features >> 9:", "features >> 9 & 0x41:"),
    ("filterblock", "features >> 9:", "features >> 9 & 0x3f:"),
    ("filterblock", "6 <= transform_id <= 127", "transform_id in (6, 127)"),
    ("filterblock", "6 <= transform_id <= 127", "6 <= transform_id <= 126"),
    ("filterblock", "if any(params):", "if params[0]:"),
    ("filterblock", "BLOCKED: params[2:]", "BLOCKED: params[2:3] + params[11:]"),
    ("filterblock", "BLOCKED: params[2:]", "BLOCKED: params[2:4]"),
    ("filterblock", "RIBBON: params[8:]", "RIBBON: params[8:10]"),
    ("filterblock", "params[3:4] + params[8:]", "params[3:4]"),
    *[("filterblock", 'return key + column + (len(key) & U32).to_bytes(4, "little")', f"return key + column{length}")
      for length in ("", ' + (len(key) & 255).to_bytes(4, "little")')],
    ("filterblock", "return key[:length] if len(key) >= length else None", "return key[:length]"),
    *[("filterblock", "return xxhash.xxh3_64_intdigest(data, seed)", f"return xxhash.xxh3_64_intdigest(data, {seed})")
      for seed in ("seed if len(data) <= 1024 else 0", "seed if len(data) <= 240 else 0", "seed & U32")],
    ("filterblock", "((len(data) & 255) << 56)", "(len(data) << 56) % 2**63"),
    *[("kinds", "for _ in range(p.num_probes):", f"for _ in range(min(p.num_probes, {num})):") for num in (16, 24, 63)],
    *[("kinds", "deviation = (bits >> bit % 8 & (1 << d) - 1)", f"deviation = (bits >> bit % 8 & (1 << min(d, {num})) - 1)")
      for num in (16, 25, 32, 56)],
    ("kinds", "return values is None or value in values", "return values is not None and value in values"),
    ("kinds", "return (anchor + ((self.slope * (b % 64) & U64) >> 8) + deviation) & U64",
     "return max(anchor + ((self.slope * (b % 64) & U64) >> 8) + deviation, 0)"),
    ("kinds", "anchor = int.from_bytes(payload[b // 64 * 8 - 8:b // 64 * 8], \"little\")",
     "anchor = int.from_bytes(payload[b // 64 * 8 - 8:b // 64 * 8 - 4], \"little\")"),
    ("partitioned", "i = bisect_left(self.separators, order_key)",
     "i = next((i for i, s in enumerate(self.separators) if s > order_key), len(self.separators))"),
    ("partitioned", 'row.replace(b"\\0", b"\\0\\1")', "row"),
    ("partitioned", "if found != kind:", "if False:"),
    # Ends at a group of which no number lies between the bounds, as release 0.2.0.
    ("ranges", "return any(integers.is_above(key, lower)",
     "x, y = (number_of(of(self.choices.code, self.prefix, end) or '') for of, end in ((lower_string, lower), (upper_string, upper)))\n"
     "            s = self.decoder.groups[sum(x >= number_of(mark) for mark in self.decoder.separators) - 1][0].shift\n"
     "            return -(-x >> s) <= y >> s and any(integers.is_above(key, lower)"),
]


Make = Callable[[], ast.Module]  # may change the tree that it was made from: called in a process of its own


@dataclass
class Mutant:
    name: str
    makes: dict[str, Make]  # by module
    frame: str = ""  # the only sort of frames in which it is wrong
    number: Optional[widths.Number] = None  # what its modules call at places


def int_values(value: int) -> list[int]:
    values = [value + 1, value - 1, 0] if value < 1 << 32 else [value ^ 1 << 1, value ^ 1 << value.bit_length() - 1]
    return [v for v in dict.fromkeys(values) if v != value]


def text_values(text: str) -> list[str]:
    if text.startswith("<"):
        return [">" + text[1:]]
    if text == "little":
        return ["big"]
    if len(text) >= 16 and all(c in "0123456789abcdef" for c in text):
        return [text[:-1] + "b"]
    return []


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes to take the place of one."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for other in COMPARISONS.get(type(op), []):
                    new = copy.deepcopy(node)
                    new.ops[i] = other()
                    yield new
            if len(ops) > 1:  # each half
                yield ast.Compare(node.left, ops[:1], node.comparators[:1])
                yield ast.Compare(node.comparators[-2], ops[-1:], node.comparators[-1:])
            yield from (ast.Constant(True), ast.Constant(False))
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for i in range(len(values)):
                rest = values[:i] + values[i + 1:]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right):
            for other in OPERATORS.get(type(op), []):
                yield ast.BinOp(left, other(), right)
            yield left
            yield right
        case ast.AugAssign(target=target, op=op, value=value):
            for other in OPERATORS.get(type(op), []):
                yield ast.AugAssign(target, other(), value)
            yield ast.Pass()
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield from map(ast.Constant, int_values(node.value))
        case ast.Constant(value=str()):
            yield from map(ast.Constant, text_values(node.value))
        case ast.Constant(value=bytes()) if node.value:
            yield ast.Constant(node.value + b"x")
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield from (ast.Name(other, ast.Load()) for other in NAMES[name])
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper)):
            for less in ([] if lower is None else [(None, upper)]) + ([] if upper is None else [(lower, None)]):
                yield ast.Subscript(value, ast.Slice(*less), ast.Load())
        case ast.Call(func=ast.Name(id="range"), args=args):
            for i, delta in itertools.product(range(len(args)), (1, -1)):
                new = copy.deepcopy(node)
                new.args[i] = ast.BinOp(args[i], ast.Add(), ast.Constant(delta))
                yield new
        case ast.Call(func=func, args=args) if len(args) > 1:
            yield ast.Call(func, args[:-1], node.keywords)
        case ast.Assign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Return(value=value) if value is not None and not (isinstance(value, ast.Constant) and not value.value):
            yield ast.Return(ast.Constant(None))


def is_check(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and not statement.orelse and any(
        isinstance(inner, ast.Raise) for inner in ast.walk(statement))


class Rebuilt(ast.NodeTransformer):
    """A tree in which one node is another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def parsed(module: str) -> ast.Module:
    """The tree of a module, in which writers are marked."""
    tree = ast.parse((HERE / f"{module}.py").read_text())
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else node
        name = getattr(target, "name", getattr(target, "id", None))
        node.is_writer = name in WRITERS or f"{module}.{name}" in WRITERS  # type: ignore[attr-defined]
    return tree


def is_writer(node: ast.AST) -> bool:
    return getattr(node, "is_writer", False)


def breakable(node: ast.AST, where: str) -> Iterator[tuple[str, ast.AST]]:
    """Nodes of what reads, each with the name of its function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            if not is_writer(child):
                for part in child.body if isinstance(child, ast.FunctionDef) else [child]:
                    inner = f"{where}.{child.name}" if where else child.name
                    yield inner, part
                    yield from breakable(part, inner)
        elif isinstance(child, (ast.Import, ast.ImportFrom)) or isinstance(node, ast.ClassDef) and isinstance(
                child, ast.AnnAssign):  # fields and their defaults
            continue
        elif is_writer(child):
            continue
        else:
            yield where, child
            yield from breakable(child, where)


def annotations(tree: ast.Module) -> set[int]:
    """The nodes of types and documentation, which do nothing."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.append(node)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            parts += node.decorator_list
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            parts += node.exc.args[:1]  # the message
        if isinstance(node, ast.Assert):
            parts.append(node)
        for part in parts:
            found.update(id(inner) for inner in ast.walk(part)) if part is not None else None
    return found


def checks_in(tree: ast.Module) -> Iterator[tuple[str, list[ast.stmt], int, int]]:
    """Each pair of checks of one list of statements."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not is_writer(function):
            for node in ast.walk(function):
                for field in ("body", "orelse"):
                    body = getattr(node, field, None)
                    if isinstance(body, list):
                        at = [i for i, statement in enumerate(body) if is_check(statement)]
                        for i, j in itertools.combinations(at, 2):
                            yield function.name, body, i, j


def short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:90]


def nodes_of(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    skipped, seen = annotations(tree), set()
    for where, node in breakable(tree, ""):
        if id(node) not in skipped and id(node) not in seen:
            seen.add(id(node))
            yield where, node


def broken_once(module: str) -> Iterator[tuple[str, Make]]:
    source, tree = (HERE / f"{module}.py").read_text(), parsed(module)
    for where, node in nodes_of(tree):
        for new in replacements(node):
            yield f"{where}: {short(node)} -> {short(new)}", partial(replaced, tree, node, new)
    for name, body, i, j in checks_in(tree):
        yield f"{name}: {condition(body[i])} exchanged with {condition(body[j])}", partial(exchanged, tree, body, i, j)
    for of, old, new_text in BY_HAND:
        if of == module:
            assert source.count(old) == 1, f"{module}: {old} occurs {source.count(old)} times"
            yield f"by hand: {old} -> {new_text}", partial(ast.parse, source.replace(old, new_text))


def condition(check: ast.stmt) -> str:
    assert isinstance(check, ast.If)
    return short(check.test)


def replaced(tree: ast.Module, old: ast.AST, new: ast.AST) -> ast.Module:
    return ast.fix_missing_locations(Rebuilt(old, new).visit(tree))


def exchanged(tree: ast.Module, body: list[ast.stmt], i: int, j: int) -> ast.Module:
    body[i], body[j] = body[j], body[i]
    return tree


def numbered(makes: Iterable[tuple[str, Make]], module: str) -> Iterator[Mutant]:
    """With numbers at equal names."""
    counts: dict[str, int] = {}
    for name, make in makes:
        count = counts[name] = counts.get(name, 0) + 1
        yield Mutant(f"{module}.{name}" + (f" #{count}" if count > 1 else ""), {module: make})


def twice(tree: ast.Module, changes: list[ast.AST]) -> ast.Module:
    for old, new in zip(changes[::2], changes[1::2]):
        tree = replaced(tree, old, new)
    return tree


def pairs_of(singles: list[Mutant]) -> Iterator[Mutant]:
    """Pairs of mistakes in two places, each of which is noticed by itself: half of them in one function."""
    chance = random.Random(1)
    singles = [m for m in singles for make in m.makes.values() if make.func is replaced]
    by_function: dict[str, list[Mutant]] = {}
    for mutant in singles:
        by_function.setdefault(mutant.name.split(":")[0], []).append(mutant)
    for i in range(len(singles) // SINGLES_A_PAIR):
        first = chance.choice(singles)
        second = chance.choice(by_function[first.name.split(":")[0]] if i % 2 else singles)
        (module, make), (of_second, make_second) = *first.makes.items(), *second.makes.items()
        makes = first.makes | second.makes
        if module == of_second:
            tree, old, new = make.args
            _, old_second, new_second = make_second.args
            if any(inner is b for a, b in ((old, old_second), (old_second, old)) for inner in ast.walk(a)):
                continue  # one place is in the other
            makes = {module: partial(twice, tree, [old, new, old_second, new_second])}
        yield Mutant(f"{first.name} ; {second.name}", makes)


def placed(module: str) -> tuple[ast.Module, list[widths.Place]]:
    tree = parsed(module)
    return tree, list(widths.places_of(tree, nodes_of(tree)))


def too_narrow(modules: list[str], cases: Cases) -> Iterator[Mutant]:
    """Readers with a width at a place, in frames of a sort, where that changes a number of a case."""
    for module in modules:
        tree, places = placed(module)
        watch = widths.Watch(places)
        load({module: compile(widths.wrapped(tree, list(enumerate(places))), f"{module}.py", "exec")}, watch.number)
        import conformance
        for case in cases:
            watch.frame = case["request"]["frame"]
            conformance.reply_to(case["request"])
        tree, places = placed(module)
        names = Counter(widths.name_of(place) for place in places)
        for at, frame, width in sorted(watch.changed()):
            name = f"{module}.{widths.name_of(places[at])}" + (f" #{at}" if names[widths.name_of(places[at])] > 1 else "")
            make = partial(widths.wrapped, tree, [(at, places[at])])
            yield Mutant(f"{name} as {width} in {frame}", {module: make}, frame, widths.narrowing(width))


def load(codes: dict[str, types.CodeType], number: Optional[widths.Number] = None) -> None:
    """Loads the reader anew, with this code in place of its own."""
    for name in MODULES:
        module = sys.modules[name] = types.ModuleType(name)
        module.__dict__["_number"] = number
        exec(codes.get(name) or sound_code(name), module.__dict__)


@lru_cache(maxsize=None)
def sound_code(name: str) -> types.CodeType:
    return compile((HERE / f"{name}.py").read_text(), f"{name}.py", "exec")


def judged(mutant: Optional[Mutant], cases: Cases) -> str:
    """How a reader that is loaded anew replies."""
    try:
        codes = {name: compile(make(), f"{name}.py", "exec") for name, make in mutant.makes.items()} if mutant else {}
    except Exception:
        return "no mutant"
    load(codes, mutant and mutant.number)
    import conformance
    outcome = "survived"
    for case in cases:
        if not mutant or mutant.frame in ("", case["request"]["frame"]):
            got = conformance.reply_to(case["request"])
            if run.judge(case, {field: got.get(field) for field in run.ALWAYS}, REQUIRED, Counter()):
                return "wrong"
            if run.judge(case, got, EVERY_FIELD, Counter()):
                outcome = "wrong in an optional field"
    return outcome


def start(job: Callable[[], str]) -> int:
    """Runs a job in a process of its own, whose id is returned."""
    child = os.fork()
    if child == 0:
        status = len(OUTCOMES)
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # tracebacks
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            status = OUTCOMES.index(job())
        finally:
            os._exit(status)
    return child


def outcome_of(status: int) -> str:
    """What became of a process: one of OUTCOMES, "crashed" or "endless"."""
    if os.WIFSIGNALED(status):
        return "endless" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "crashed"
    return dict(enumerate(OUTCOMES)).get(os.WEXITSTATUS(status), "crashed")


def run_all(jobs: Iterable[tuple[str, Callable[[], str]]], at_a_time: int) -> Iterator[tuple[str, str]]:
    """Name and outcome of each job."""
    running: dict[int, str] = {}
    for name, job in jobs:
        running[start(job)] = name
        while len(running) >= at_a_time:
            child, status = os.wait()
            yield running.pop(child), outcome_of(status)
    while running:
        child, status = os.wait()
        yield running.pop(child), outcome_of(status)


def explained() -> dict[str, str]:
    """The mutants of survivors.txt: a line for each, under lines that begin with # and give their reason."""
    reasons, reason = {}, ""
    for line in (HERE / "survivors.txt").read_text().splitlines():
        if line.startswith("#"):
            reason = line[1:].strip()
        elif line.strip():
            reasons[line] = reason
    return reasons


class Tally:
    """Of the broken readers of one sort, what was noticed."""

    def __init__(self, sort: str, reasons: dict[str, str]) -> None:
        self.sort, self.reasons, self.names, self.survivors = sort, reasons, set[str](), list[str]()
        self.counts = dict.fromkeys([*OUTCOMES, "crashed", "endless"], 0)

    def add(self, name: str, outcome: str) -> None:
        self.counts[outcome] += 1
        self.names.add(name)
        if outcome == "no mutant":
            sys.exit(f"does not compile: {name}")
        if outcome == "survived":
            self.survivors.append(name)
            if name not in self.reasons:
                print(f"survived, without a reason: {name}", flush=True)

    def report(self) -> None:
        differ = sum(self.reasons.get(name, "differs").startswith("differs") for name in self.survivors)
        total, counts = sum(self.counts.values()), self.counts
        noticed, of_field = total - counts["survived"], counts["wrong in an optional field"]
        print(f"counted: {total} readers {self.sort}, {noticed} noticed, {noticed - of_field} of them by class and answers "
              f"({counts['wrong']} by a wrong reply, {counts['crashed']} by an error, {counts['endless']} without end); "
              f"{len(self.survivors) - differ} answer every frame rightly, {differ} do not and pass: "
              f"{100 * noticed / max(1, noticed + differ):.1f} % of those that differ are noticed", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutants with these words in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    options = parser.parse_args()
    import xxhash  # noqa: F401  loaded once
    cases = run.cases_of(REQUIRED)
    random.Random(1).shuffle(cases)  # what is wrong is found sooner
    if outcome_of(os.waitpid(start(lambda: judged(None, cases)), 0)[1]) != "survived":
        print("the reader is wrong before it is broken")
        return 1
    reasons, tallies = explained(), []
    for modules, frames in FAMILIES:
        own = [case for case in cases if case["request"]["frame"] in frames]
        singles = [mutant for module in modules for mutant in numbered(broken_once(module), module)]
        sorts = {
            "broken in one place": singles,
            "with numbers too narrow": too_narrow(modules, own),
            "with two mistakes": pairs_of([mutant for mutant in singles if mutant.name not in reasons])}
        for sort, mutants in sorts.items():
            tally = Tally(f"of {', '.join(frames)} {sort}", reasons)
            jobs = ((m.name, partial(judged, m, own)) for m in mutants if options.only in m.name)
            for name, outcome in run_all(jobs, options.jobs):
                tally.add(name, outcome)
            tally.report()
            tallies.append(tally)
    survivors = {name for tally in tallies for name in tally.survivors}
    stale = [name for name in reasons if options.only in name and name not in survivors]
    for name in stale:
        noticed = any(name in tally.names for tally in tallies)
        print(f"in survivors.txt, but {'noticed' if noticed else 'unknown'}: {name}")
    return 1 if stale or survivors - set(reasons) else 0


if __name__ == "__main__":
    sys.exit(main())
