"""What every test may rely on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import coldsoak

INJECT = Path(coldsoak.__file__).parent / "inject"
SITECUSTOMIZE = f"""
import sys
from importlib.util import module_from_spec, spec_from_file_location

sys.path[:] = [entry for entry in sys.path if entry != __file__.rpartition("/")[0]]
sys.path.insert(0, {str(INJECT)!r})
from coldsoak_agent import {{modules}}
sys.path.remove({str(INJECT)!r})
{{changes}}
spec = spec_from_file_location("sitecustomize", {str(INJECT / "sitecustomize.py")!r})
sys.modules["sitecustomize"] = module = module_from_spec(spec)
try:
    spec.loader.exec_module(module)
except ImportError:
    pass  # there is no other one to hand over to
"""


def pytest_configure():
    """Take the signals of a terminal back where a shell started the tests in the background.

    Such a shell leaves them ignored, and every process that a test starts inherits that; Ctrl-C
    could not be tested then.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def changed_agent(tmp_path):
    """Make a folder for ``PYTHONPATH`` whose programs have the agent with changes.

    ``modules`` of the agent are imported for the lines ``changes``, which run before it begins.
    """

    def make(modules, changes=""):
        hook = tmp_path / "hook"
        hook.mkdir(exist_ok=True)
        text = SITECUSTOMIZE.format(modules=modules, changes=changes)
        (hook / "sitecustomize.py").write_text(text)
        return hook

    return make
