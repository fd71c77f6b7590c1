"""Every item is documented; `python/run` compares the stub with the module."""

import filterblock as fb


def test_every_item_has_a_docstring():
    for kind in (getattr(fb, name) for name in fb.__all__):
        for name, item in vars(kind).items() if isinstance(kind, type) else ():
            assert name.startswith("_") or item.__doc__, f"{kind}.{name}"


def test_examples_of_the_docstring():
    import doctest

    assert doctest.testmod(fb).failed == 0
