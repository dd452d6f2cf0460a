"""What lies in wait from the start of a process, at next to no cost.

The names that rewritten code calls exist in every process with an agent, because a function may
arrive by cloudpickle in a worker in which no file was rewritten. Modules that measure themselves
(``timeit``) or compile code themselves (IPython) are met when they are imported.
"""

import builtins

__all__ = ["install"]


def install(agent):
    """Put the lazy hooks in place."""
    builtins.__coldsoak_clock__ = _clock
    builtins.__coldsoak_left__ = builtins.__coldsoak_right__ = _operand
    builtins.__coldsoak_minus__ = _first
    builtins.__coldsoak_update__ = _operand
    agent.on_import("timeit", _on_timeit)
    agent.on_import("IPython.core.magics.execution", _on_timeit)
    agent.on_import("IPython.core.interactiveshell", _on_ipython)


def _clock(token, function):
    from coldsoak_agent import readings

    readings.install()
    return readings.clock(token, function, 2)


def _operand(*args):
    return args[-1]  # no clock was read yet


def _first(_token, left, _right):
    return left


def _on_timeit(module):
    from coldsoak_agent import timeit_hook

    timeit_hook.install(module)


def _on_ipython(module):
    from coldsoak_agent import ipython

    ipython.install(module)
