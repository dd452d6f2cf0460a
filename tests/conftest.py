"""What every test may rely on."""

from __future__ import annotations

import signal


def pytest_configure():
    """Take the signals of a terminal back where a shell started the tests in the background.

    Such a shell leaves them ignored, and every process that a test starts inherits that; Ctrl-C
    could not be tested then.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
