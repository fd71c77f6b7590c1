"""Readers whose numbers are too narrow: places of the second reader where a number loses its upper bits, becomes
signed, or is rounded to 53 bits, in frames of one sort only. A part of mutate.py.

A place and a width make a broken reader if any number of the kit's cases changes there; the sound reader is watched
while it answers them.
"""
from __future__ import annotations

import ast
from functools import partial
from typing import Any, Callable, Iterator

def unsigned(bits: int, v: int) -> int:
    return v & (1 << bits) - 1


def signed(bits: int, v: int) -> int:
    return (v + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


WIDTHS: dict[str, Callable[[int], int]] = {f"u{bits}": partial(unsigned, bits) for bits in (8, 24, 32, 56, 64)}
WIDTHS |= {f"i{bits}": partial(signed, bits) for bits in (8, 32, 64)}
WIDTHS["double"] = lambda v: int(float(v)) if v.bit_length() < 1024 else v
A_BYTE_LESS = ["u8", "u24", "u56"]
OF_READING, OF_SUMS = [*A_BYTE_LESS, "u32", "i8", "i32", "i64", "double"], ["u32", "i32", "u64", "i64", "double"]

Number = Callable[[int, Any], Any]
Place = tuple[str, ast.AST, str, list[str]]  # function, expression or statement, the name that it binds, widths


def is_reading(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="from_bytes")):
            return True
        case ast.Subscript(value=ast.Name(id="data" | "payload" | "params" | "last") | ast.Attribute(attr="payload"), slice=at):
            return not isinstance(at, ast.Slice)
    return False


def congruent(tree: ast.Module) -> dict[int, str]:
    """The nodes of which only the lower bits count, by `& U32` or `& U64` around sums and products of them."""
    found: dict[int, str] = {}

    def mark(node: ast.expr, mask: str) -> None:
        found[id(node)] = min(mask, found.get(id(node), mask))
        if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.RShift, ast.FloorDiv, ast.Mod)):
            mark(node.left, mask)
            if not isinstance(node.op, ast.LShift):
                mark(node.right, mask)

    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=left, op=ast.BitAnd(), right=ast.Name(id="U32" | "U64" as mask)):
                mark(left, mask)
    return found


def places_of(tree: ast.Module, nodes: Iterator[tuple[str, ast.AST]]) -> Iterator[Place]:
    """Without widths that cannot matter."""
    masks = congruent(tree)
    idle = {"U32": {"u32", "i32", "u64", "i64"}, "U64": {"u64", "i64"}}
    for where, node, name, names in all_places(nodes):
        yield where, node, name, [width for width in names if name or width not in idle.get(masks.get(id(node), ""), ())]


def all_places(nodes: Iterator[tuple[str, ast.AST]]) -> Iterator[Place]:
    for where, node in nodes:
        if is_reading(node):
            yield where, node, "", OF_READING
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.LShift)):
            yield where, node, "", OF_SUMS
        elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            # Both sides, as of a language in which they have one type.
            yield where, node, "", OF_SUMS
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call()) | ast.For(target=ast.Tuple(elts=names)):
                for name in names:
                    if isinstance(name, ast.Name) and name.id != "_":
                        yield where, node, name.id, OF_READING


def name_of(place: Place) -> str:
    where, node, name, _ = place
    return f"{where}: {name or ' '.join(ast.unparse(node).split())[:90]}"


class Wrapped(ast.NodeTransformer):
    """A tree in which the numbers at places go through the function `_number`, with the place's number."""

    def __init__(self, places: dict[int, list[tuple[int, str]]]) -> None:
        self.places = places

    def call(self, number: int, value: ast.expr) -> ast.Call:
        return ast.Call(ast.Name("_number", ast.Load()), [ast.Constant(number), value], [])

    def visit(self, node: Any) -> Any:
        at = self.places.get(id(node), [])
        node = self.generic_visit(node)
        bindings: list[ast.stmt] = []
        for number, name in at:
            if isinstance(node, ast.Compare):
                node.left, *node.comparators = (self.call(number, side) for side in (node.left, *node.comparators))
            elif not name:
                node = self.call(number, node)
            else:
                value = self.call(number, ast.Name(name, ast.Load()))
                bindings.append(ast.Assign([ast.Name(name, ast.Store())], value))
        if not bindings:
            return node
        if isinstance(node, ast.Assign):
            return [node, *bindings]
        node.body[:0] = bindings
        return node


def wrapped(tree: ast.Module, places: list[tuple[int, Place]]) -> ast.Module:
    by_node: dict[int, list[tuple[int, str]]] = {}
    for number, (_, node, name, _) in places:
        by_node.setdefault(id(node), []).append((number, name))
    return ast.fix_missing_locations(Wrapped(by_node).visit(tree))


def is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Watch:
    """Widths that would change some number, by the number of the place, of frames of the sort that is being read."""

    def __init__(self, places: list[Place]) -> None:
        self.frame, self.places, self.left = "", places, {}

    def number(self, place: int, value: Any) -> Any:
        if self.frame and is_number(value) and not 0 <= value < 128:
            left = self.left.setdefault((place, self.frame), list(self.places[place][3]))
            for name in [name for name in left if WIDTHS[name](value) != value]:
                left.remove(name)
        return value

    def changed(self) -> set[tuple[int, str, str]]:
        return {(place, frame, name) for (place, frame), left in self.left.items() for name in self.places[place][3] if name not in left}


def narrowing(name: str) -> Number:
    width = WIDTHS[name]
    return lambda _, value: width(value) if is_number(value) else value
