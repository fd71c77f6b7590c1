"""Filter blocks and filter sets: which tables or files may have a key.

>>> import filterblock
>>> block = filterblock.build(["apple", "pear"], "ribbon:fpr=1%")  # bytes, to be stored
>>> fruits = filterblock.open(block)
>>> "apple" in fruits
True

*No* is always right, *maybe* is wrong at the rate of the policy. Every exception of opening means *maybe*.
"""

from ._native import *
from ._native import __all__ as __all__
