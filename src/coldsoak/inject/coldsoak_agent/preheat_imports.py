"""Calls a stage of preheat when the program has imported a module, before anything else uses it.

Nothing is imported here, and a program that never imports the module pays a look into a dict for
each of its imports.
"""

import sys

import _frozen_importlib

from coldsoak_agent.preheat import Unfit, replace_import

_waiting = {}


def after_import(running, stage, name, callback):
    """Call ``callback(module)`` when the module ``name`` was executed; at once if it already was.

    What it raises is the end of ``stage``, and nothing to the program.
    """
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        _call(running, stage, callback, module)
        return
    if not _waiting:
        _install()
    _waiting.setdefault(name, []).append((running, stage, callback))


def _call(running, stage, callback, module):
    try:
        callback(module)
    except Unfit as reason:
        running.note(stage, "off", str(reason))
    except Exception as error:
        running.note(stage, "failed", repr(error))


def _install():
    original = _frozen_importlib._find_and_load

    def find_and_load(name, import_):
        module = original(name, import_)
        for running, stage, callback in _waiting.pop(name, ()):
            _call(running, stage, callback, module)
        if not _waiting and _frozen_importlib._find_and_load is find_and_load:
            _frozen_importlib._find_and_load = original
        return module

    replace_import(find_and_load)
