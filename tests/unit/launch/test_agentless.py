import pytest

from coldsoak.launch.agentless import agentless, no_agent_note, why_no_agent
from coldsoak.launch.tree import Member


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("python", "-I", "x.py"), "isolated interpreter (-I)"),
        (("python", "-sE", "-c", "0"), "isolated interpreter (-E)"),
        (("python", "-W", "ignore", "-S", "x.py"), "isolated interpreter (-S)"),
        (("python", "-Wignore", "-X", "dev", "-ES", "x.py"), "isolated interpreter (-E -S)"),
        (("python", "x.py", "-I"), "the agent did not start"),
        (("python", "-c", "0", "-I"), "the agent did not start"),
        (("python", "-m", "pkg", "-S"), "the agent did not start"),
        (("python", "-mpkg", "-S"), "the agent did not start"),
        (("python", "-u", "-", "-I"), "the agent did not start"),
        (("python", "--check-hash-based-pycs", "always", "x.py"), "the agent did not start"),
    ],
)
def test_options_of_the_interpreter(argv, why):
    assert why_no_agent("/usr/bin/python3.12", argv, injected=True) == why


def test_other_reasons():
    assert why_no_agent("/bin/bash", ("bash",), injected=True) == "not Python"
    assert why_no_agent("/bin/python3", ("python",), injected=False) == "PYTHONPATH removed"
    assert why_no_agent("", (), injected=False) == "ended before it was seen"


def test_only_those_without_an_agent_in_order():
    members = [
        Member(pid=3, ppid=1, start_ns=30, argv=("c",), executable="/bin/sh"),
        Member(pid=1, ppid=0, start_ns=10, argv=("a",), executable="/bin/sh", end_ns=50),
        Member(pid=2, ppid=1, start_ns=20, argv=("b",), executable="/usr/bin/python3"),
    ]
    children = agentless(members, {2}, 10)
    assert [(c.pid, c.start_ns, c.end_ns) for c in children] == [(1, 0, 40), (3, 20, None)]


def test_long_command_lines_are_cut():
    argv = ("cc", "x" * 1000, *(str(n) for n in range(100)))
    (child,) = agentless([Member(pid=1, ppid=0, start_ns=0, argv=argv)], set(), 0)
    assert len(child.argv) == 41
    assert child.argv[0] == "cc"
    assert len(child.argv[1]) == 300
    assert child.argv[-1] == child.argv[1][-1] == "…"


def test_the_note_gives_every_reason_once():
    members = [
        Member(pid=1, ppid=0, start_ns=1, executable="/bin/sh"),
        Member(pid=2, ppid=1, start_ns=2, executable="/bin/ls"),
        Member(pid=3, ppid=1, start_ns=3, executable="/usr/bin/python3", argv=("p", "-I")),
    ]
    text = no_agent_note(agentless(members, set(), 0), 1).text
    assert text.endswith("(it: not Python; p: isolated interpreter (-I))")
