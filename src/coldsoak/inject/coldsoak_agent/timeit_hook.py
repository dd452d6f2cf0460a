"""Each ``timeit.Timer.timeit`` that the user's code causes is a region of kind ``timeit``.

``timeit.timeit``, ``timeit.repeat``, ``Timer.repeat`` and ``Timer.autorange`` all go through that
one method, under whatever name they were imported, so ``repeat`` gives a region per repetition.
``seconds`` is what the method returned, for ``loops`` executions; it leaves out what ``timeit``
does around the loop, which the region's ends on CLOCK_MONOTONIC enclose (some microseconds).
IPython's ``%timeit`` has a timer class of its own, which is wrapped likewise.
"""

import sys
from time import monotonic_ns

from coldsoak_agent import keys, readings, userfiles

__all__ = ["install"]


def install(module):
    """Wrap the method of the class ``Timer`` in ``module``."""
    original = module.Timer.timeit

    def timeit(self, number=original.__defaults__[0]):
        frame = _user_frame(sys._getframe(1))
        if frame is None:
            return original(self, number)
        key = _key(frame)
        start = monotonic_ns()
        seconds = original(self, number)
        end = monotonic_ns()
        _record(key, start, end, seconds, number)
        return seconds

    timeit.__doc__ = original.__doc__
    timeit.__qualname__ = original.__qualname__
    timeit.__module__ = original.__module__
    module.Timer.timeit = timeit


def _user_frame(frame):
    """Return the user's frame that called into ``timeit``, or None if a library did."""
    while frame is not None and _is_between(frame.f_globals.get("__name__")):
        frame = frame.f_back
    if frame is not None and userfiles.is_user_file(frame.f_code.co_filename):
        return frame
    return frame if frame is not None and keys.is_rewritten(frame.f_code) else None


def _is_between(module):
    return module == "timeit" or (type(module) is str and module.startswith("IPython."))


def _key(frame):
    try:
        readings.install()
        return keys.key_of(frame)
    except Exception:
        return -1


def _record(key, start, end, seconds, number):
    try:
        ready = readings.ready_ns()
        if type(seconds) is float:  # a timer of the user's may return anything
            readings.add_region("timeit", key, start, end, seconds, "", ready, number)
    except Exception as error:
        readings.failed(error)
