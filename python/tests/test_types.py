"""The stub states what the module has."""

import ast
import pathlib

import filterblock as fb


def test_stub_has_every_name():
    stub = ast.parse((pathlib.Path(fb.__file__).parent / "__init__.pyi").read_text())
    stated = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(stated) == set(fb.__all__)
    for name in (name for name, node in stated.items() if isinstance(node, ast.ClassDef) and "Error" not in name):
        public = {item for item in vars(getattr(fb, name)) if not item.startswith("_")}
        assert public == {node.name for node in stated[name].body if node.name[0] != "_"}, name
        for item in public:
            assert getattr(getattr(fb, name), item).__doc__, f"{name}.{item} has no docstring"


def test_examples_of_the_docstring():
    import doctest

    assert doctest.testmod(fb).failed == 0
