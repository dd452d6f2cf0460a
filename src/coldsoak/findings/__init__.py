"""What a result says beyond its figures: mistakes in measuring, misplaced work, known causes.

:func:`find` judges a saved result, so that an old one can be judged by a newer version;
:func:`extract` makes the facts that rules need from a trace.
"""

from coldsoak.findings.facts import extract
from coldsoak.findings.registry import find, judge, rules

__all__ = ["extract", "find", "judge", "rules"]
