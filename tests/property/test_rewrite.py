"""Generated programs behave the same when rewritten, and their regions are the right ones.

A program is a tree of statements: regions that nest, follow, interleave and cross functions,
loops, exceptions, generators, attributes and containers. A recorder that the program calls with
the number of a region where it subtracts says which pairs must be found.
"""

import contextlib
import io
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CLOCKS = ["time.time()", "time.perf_counter()", "time.perf_counter_ns()", "pc()", "T()", "now()"]
STORES = ["v{n}", "o.a{n}", "d['k{n}']", "s[{n}]", "o.o.b{n}"]

HEADER = """
import time
from time import perf_counter as pc, monotonic as T
from datetime import datetime
now = datetime.now
class O: pass
o = O(); o.o = O(); d = {}; s = {}
def note(number, difference):
    seen.append(number)
    return type(difference).__name__
def through(x): return x
def step(x): yield x; yield x
"""


@st.composite
def programs(draw):
    """A list of events: starts and ends of numbered regions, never an end before its start."""
    count = draw(st.integers(1, 8))
    events = draw(st.permutations([n for n in range(count) for _ in range(2)]))
    started, lines = set(), []
    style = {
        n: (draw(st.sampled_from(CLOCKS)), draw(st.sampled_from(STORES)).format(n=n))
        for n in range(count)
    }
    for number in events:
        clock, store = style[number]
        if number not in started:
            started.add(number)
            lines.append(draw(st.sampled_from(STARTS)).format(clock=clock, store=store, n=number))
        else:
            lines.append(draw(st.sampled_from(ENDS)).format(clock=clock, store=store, n=number))
        if draw(st.integers(0, 5)) == 0:
            lines.append(draw(st.sampled_from(NOISE)))
    body = "\n".join(lines)
    if draw(st.booleans()):
        inner = "\n".join("    " + line for line in body.splitlines())
        body = f"def main():\n{inner}\nmain()"
    return HEADER + body + "\n", count


STARTS = [
    "{store} = {clock}",
    "{store} = through({clock})",
    "x{n} = {clock}\n{store} = x{n}",
    "{store}, y{n} = {clock}, {n}",
    "for {store} in [{clock}]: pass",
    "{store} = (lambda: {clock})()",
    "try:\n    {store} = {clock}\n    raise KeyError\nexcept KeyError: pass",
    "{store} = max([{clock}])",
    "{store} = next(step({clock}))",
    "{store} = (w{n} := {clock})",
]
ENDS = [
    "out.append(note({n}, {clock} - {store}))",
    "e{n} = {clock}\nout.append(note({n}, e{n} - {store}))",
    'out.append(f"{{note({n}, {clock} - {store})}}")',
    "def end{n}(begin):\n    return {clock} - begin\nout.append(note({n}, end{n}({store})))",
    "out.extend([note({n}, {clock} - q) for q in ({store},)])",
    "e{n} = {clock}\ne{n} -= {store}\nout.append(note({n}, e{n}))",
    "if (e{n} := {clock}) is not None: out.append(note({n}, e{n} - {store}))",
    "out.append(note({n}, ({clock} if o else 0) - {store}))",
]
NOISE = [
    "out.append(5 - 3)",
    "out.append([b - a for a, b in zip((1, 2), (4, 8))])",
    "out.append({1, 2, 3} - {2})",
    "try:\n    1 - 'a'\nexcept TypeError as error: out.append(str(error))",
    "z = -1; z -= 2; z += 4; out.append(z)",
    "time.time(); pc()",
]


def execute(code):
    namespace = {"__name__": "generated", "out": [], "seen": []}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, namespace)
    return namespace["out"], namespace["seen"], namespace


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs())
def test_generated_programs(agent, program):
    source, count = program
    path = "/generated/program.py"
    plain = execute(compile(source, path, "exec", dont_inherit=True))
    agent.readings.install()
    agent.readings.after_fork()
    agent.records.clear()
    ours = execute(agent.rewrite.compile_user(source.encode(), path, "generated"))
    agent.readings.flush()
    assert ours[:2] == plain[:2]
    assert set(ours[2]) == set(plain[2])
    assert sorted(ours[1]) == list(range(count))
    regions = [record for record in agent.records if record[0] == "region"]
    assert not [record for record in agent.records if record[0] == "note"]
    assert len(regions) == count, source
    check_places(agent.records, source, count)


def check_places(records, source, count):
    """Each region starts and ends on the lines that read the clock for its number."""
    lines = {site[1]: site[3] for site in records if site[0] == "site"}
    at = {r[1]: lines[r[2]] for r in records if r[0] == "reading"}
    found = {(at[r[1]], at[r[2]]) for r in records if r[0] == "region"}
    assert len(found) == count
    numbered = source.splitlines()
    for start, end in found:
        assert start < end
        assert "note" not in numbered[start - 1], (start, numbered[start - 1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=40),
    st.sampled_from(["perf_counter", "time", "perf_counter_ns"]),
)
def test_stamps_pair_by_index(agent, indices, clock):
    """Differences of arbitrary stamps of one list are the regions between those stamps."""
    pairs = {(min(a, b), max(a, b)) for a, b in itertools.pairwise(indices) if a != b}
    source = (
        f"import time\nstamps = [time.{clock}() for _ in range(10)]\n"
        f"for a, b in {sorted(pairs)!r}:\n    out.append(stamps[b] - stamps[a])\n"
    )
    agent.readings.install()
    agent.readings.after_fork()
    agent.records.clear()
    out, _, namespace = execute(agent.rewrite.compile_user(source.encode(), "/generated/s.py", "s"))
    agent.readings.flush()
    stamps = namespace["stamps"]
    # a start and the place that subtracts from it make one region: the first difference
    first = {}
    for a, b in sorted(pairs):
        first.setdefault(stamps[a], stamps[b])
    scale = 1e-9 if clock.endswith("ns") else 1
    seconds = [record[7] for record in agent.records if record[0] == "region"]
    assert seconds == pytest.approx([(end - start) * scale for start, end in first.items()])
    assert len(out) == len(pairs)
