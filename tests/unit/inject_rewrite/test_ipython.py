"""Cells of a real IPython shell."""

import pytest

InteractiveShell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell


@pytest.fixture
def shell(listener, monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # it warns where another one is active
    from coldsoak_agent import ipython
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    ipython.attach(shell)
    yield shell
    shell.reset(new_session=False)


def test_cells(shell, listener, capsys):
    shell.run_cell("import time\ndevice = 'cpu'", store_history=True)
    cell = "for device in ['a', 'b']:\n    t = time.time()\n    print(time.time() - t)"
    for _ in range(2):
        assert shell.run_cell(cell, store_history=True).success
    listener.readings.flush()
    assert listener.pairs() == [(2, 3)] * 4
    cases = [listener.keys()[r[2]][1] for r in listener.of("region")]
    assert cases == [{"device": "'a'"}, {"device": "'b'"}] * 2
    stacks = {tuple(listener.keys()[r[2]][0]) for r in listener.of("region")}
    assert len(stacks) == 1, "a cell that runs again is the same place"


def test_a_function_of_one_cell_called_from_another(shell, listener, capsys):
    shell.run_cell("import time\ndef f():\n    t = time.time()\n    return time.time() - t")
    shell.run_cell("f()")
    shell.run_cell("x = 1; f()")
    listener.readings.flush()
    assert listener.pairs() == [(3, 4), (3, 4)]


def test_magics_and_errors_still_work(shell, listener, capsys):
    shell.run_cell("import time")
    assert not shell.run_cell("t = time.time() - 'x'").success
    assert shell.run_cell("t = time.time()\nt").result > 0
    shell.run_cell("%time sum(range(3))")
    assert "CPU times" in capsys.readouterr().out


def test_the_timeit_magic(shell, listener, monkeypatch, capsys):
    from coldsoak_agent import timeit_hook
    from IPython.core.magics import execution

    monkeypatch.setattr(execution.Timer, "timeit", execution.Timer.timeit)
    timeit_hook.install(execution)
    shell.run_cell("import time")
    assert shell.run_cell("%timeit -n 3 -r 2 time.sleep(0.002)").success
    regions = listener.of("region")
    assert [(r[7], r[10]) for r in regions] == [("timeit", 3)] * 2
    assert all(0.006 <= r[6] < 1 for r in regions)


def test_shells_made_later_get_the_rewriter(listener, monkeypatch):
    import IPython.core.interactiveshell as module
    from coldsoak_agent import ipython

    class Shell:
        def __init__(self):
            self.ast_transformers = []
            self.compile = type("Compiler", (), {"cache": staticmethod(lambda *a: "name")})()

    monkeypatch.setattr(module, "InteractiveShell", Shell)
    ipython.install(module)
    made = Shell()
    assert isinstance(made.ast_transformers[0], ipython.CellRewriter)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<ipython-input-3-0a1b>", "<ipython-input-0a1b>"),
        ("/tmp/ipykernel_4711/3641573863.py", "ipykernel/3641573863.py"),
        ("/home/me/train.py", "/home/me/train.py"),
    ],
)
def test_cells_are_named_alike_in_every_process(name, shown, listener):
    from coldsoak_agent.keys import shown_file

    assert shown_file(name) == shown
