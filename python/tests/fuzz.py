"""Fuzzes Python's calls by the coverage of the extension: what an input means is in odd_calls.py. `python/run` has the build."""

import os
import sys

flags = sys.getdlopenflags()
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
import atheris.core_with_libfuzzer  # where the instrumented extension finds its counters

sys.setdlopenflags(flags)
import odd_calls

assert odd_calls.control(), "a builder that loses keys is not noticed"
atheris.Setup(sys.argv, lambda data: (numbers := odd_calls.Drawn(data)).choice(odd_calls.CALLS)(numbers), internal_libfuzzer=True)
atheris.Fuzz()
