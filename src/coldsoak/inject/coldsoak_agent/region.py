"""Regions that the program declares: the agent's side of ``coldsoak.region``."""

from time import monotonic_ns

from coldsoak_agent import keys, readings

__all__ = ["enter", "leave"]


def enter(name, case, frame):
    """Begin a region in the user's ``frame``; return what ``leave`` needs.

    ``case`` is a mapping of names to values that tell this use of the region from others; values
    that have no short text are left out.
    """
    try:
        readings.install()
        head = tuple(
            (key, text) for key, value in case.items() if (text := keys.show(value)) is not None
        )
        key = keys.key_of(frame, head)
    except Exception as error:
        readings.failed(error)
        key = -1
    return (name, key, monotonic_ns())


def leave(handle):
    """End the region and write it."""
    end = monotonic_ns()
    name, key, start = handle
    try:
        ready = readings.ready_ns()
        readings.add_region("declared", key, start, end, (end - start) / 1e9, name, ready)
    except Exception as error:
        readings.failed(error)
