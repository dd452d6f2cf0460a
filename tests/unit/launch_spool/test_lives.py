"""Starts, ends, phases, stretches and imports of processes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from coldsoak.launch.stretches import import_costs
from coldsoak.model import spool

MS = 1_000_000


def stretches(process):
    return {(one.kind, one.name): one.ns / MS for one in process.stretches}


def adds_up(process):
    return sum(one.ns for one in process.stretches) == process.end_ns - process.start_ns


PHASES = {"agent_ready": 24, "main_start": 30, "main_end": 900, "exit": 950}


def test_a_script_without_regions(write, read):
    write().phases(**PHASES)
    (process,) = read().processes
    assert stretches(process) == {
        ("start", "interpreter"): 20,
        ("agent", "start"): 4,
        ("start", "site and main module"): 6,
        ("script", ""): 870,
        ("exit", "atexit"): 50,
        ("exit", "shutdown"): 50,
    }
    assert (process.start_ns, process.ready_ns, process.agent_ns) == (0, 20 * MS, 4 * MS)
    assert (process.main_start_ns, process.main_end_ns) == (30 * MS, 900 * MS)
    assert (process.exit_ns, process.end_ns, process.complete) == (950 * MS, 1000 * MS, True)


def test_regions_imports_and_what_lies_between(write, read):
    writer = write().phases(**PHASES).site(0, 8).site(1, 11)
    writer.imported("numpy.core", 40, 90, depth=1).imported("numpy", 35, 100)
    writer.timed(200, 300, reading=0).timed(350, 500, reading=2)
    writer.imported("lazy", 210, 250)
    contents = read()
    (process,) = contents.processes
    region = contents.series[0].id
    assert stretches(process) == {
        ("start", "interpreter"): 20,
        ("agent", "start"): 4,
        ("start", "site and main module"): 6,
        ("between", "before script.py:8"): 105,
        ("import", "numpy"): 65,
        ("region", region): 250,
        ("between", "script.py:11 to 8"): 50,
        ("between", "after script.py:11"): 400,
        ("exit", "atexit"): 50,
        ("exit", "shutdown"): 50,
    }
    assert adds_up(process)
    assert {cost.package for cost in process.imports} == {"numpy", "lazy"}


def test_the_agents_own_work_outside_regions_is_its_own_stretch(write, read):
    writer = write().phases(**PHASES).site(0, 8).site(1, 11).timed(200, 300, reading=0)
    for first, last in ((25, 29), (45, 50), (210, 220)):
        moments = (1_000_000_000_000 + ms * MS for ms in (first, last))
        writer.add(spool.Cost("rewrite", 10, *moments))
    writer.imported("mine", 40, 60)
    (process,) = read().processes
    found = stretches(process)
    assert found["agent", "rewrite"] == 9
    assert found["import", "mine"] == 15
    assert found["start", "site and main module"] == 2
    assert sum(one.ns for one in process.stretches if one.kind == "region") == 100 * MS
    assert process.measurement_ns == (4 + 4 + 5 + 10) * MS
    assert adds_up(process)


def test_nested_and_foreign_regions_count_once(write, read):
    writer = write().phases(**PHASES)
    for number, line in enumerate((3, 9, 5, 6)):
        writer.site(number, line)
    writer.timed(100, 400, reading=0, sites=(0, 1)).timed(150, 200, reading=2, sites=(2, 3))
    writer.region(-1, -1, 100, 600, kind="declared", name="thread", thread=77)
    (process,) = read().processes
    assert sum(one.ns for one in process.stretches if one.kind == "region") == 300 * MS
    assert adds_up(process)


def test_a_killed_process_lasts_to_its_last_record(write, read):
    write().phases(agent_ready=24, main_start=30).imported("numpy", 40, 480)
    (process,) = read(end=None).processes
    assert not process.complete
    assert process.end_ns == 480 * MS
    assert stretches(process)["script", ""] == 10
    assert adds_up(process)


def test_a_process_record_alone_still_adds_up(write, read):
    write()
    write(11, 100, ppid=10, how="fork")
    for process in read().processes:
        assert adds_up(process)
        assert not process.complete


class TestStarts:
    def test_a_child_starts_when_its_parent_says(self, write, read):
        write().add(spool.Child(10, 1_000_000_000_000 + 200 * MS, "spawn", ["python", "c.py"], 11))
        write(11, 230, ppid=10)
        child = read().processes[1]
        assert (child.pid, child.start_ns) == (11, 200 * MS)

    def test_without_a_pid_the_last_child_before_it_counts(self, write, read):
        moments = (100, 200, 300)
        write().add(*(spool.Child(10, 1_000_000_000_000 + ms * MS, "fork", []) for ms in moments))
        write(11, 230, ppid=10, how="fork")
        assert read().processes[1].start_ns == 200 * MS

    def test_nothing_starts_before_the_spawn_or_after_its_first_line(self, write, read):
        write(11, 50, ppid=5, starttime_ticks=1)
        write(12, 60, ppid=5, starttime_ticks=10**12)
        first, second = read(spawn_pid=None).processes
        assert (first.start_ns, second.start_ns) == (0, 60 * MS)

    def test_processes_stand_in_the_order_of_their_start(self, write, read):
        write(11, 100, ppid=10)
        write(10, 20)
        assert [process.pid for process in read().processes] == [10, 11]


class TestOnePid:
    def test_exec_makes_two_processes_that_meet(self, write, read):
        moment = 1_000_000_000_000 + 300 * MS
        write().phases(agent_ready=24, main_start=30).add(
            spool.Child(10, moment, "exec", ["python", "b.py"])
        )
        write(10, 340, argv=["python", "b.py"]).phases(**{**PHASES, "agent_ready": 350})
        before, after = read().processes
        assert (before.start_ns, before.end_ns, before.complete) == (0, 300 * MS, True)
        assert (after.start_ns, after.end_ns) == (300 * MS, 1000 * MS)
        assert adds_up(before)
        assert adds_up(after)

    def test_a_reused_pid_is_another_process(self, write, read):
        write(11, 100, ppid=10, starttime_ticks=5).phases(exit=150)
        write(11, 500, ppid=10, starttime_ticks=45).phases(exit=550)
        first, second = read().processes
        assert first.end_ns == 150 * MS
        assert second.end_ns == 550 * MS


def test_ends_that_others_saw_are_used(write, read):
    write()
    write(11, 100, ppid=10).phases(exit=150)
    child = read(ends={11: 1_000_000_000_000 + 170 * MS}).processes[1]
    assert child.end_ns == 170 * MS


def test_processes_without_an_agent_are_children(write, read):
    moment = 1_000_000_000_000 + 200 * MS
    write().add(
        spool.Child(10, moment, "spawn", ["gcc", "-v"], 55),
        spool.Child(10, moment, "fork", [], 11),
        spool.Child(10, moment, "fork", []),
    )
    write(11, 230, ppid=10)
    (child,) = read().children
    assert (child.pid, child.ppid, child.argv) == (55, 10, ("gcc", "-v"))
    assert (child.start_ns, child.end_ns) == (200 * MS, None)


def test_an_exec_into_a_stranger_is_a_child_of_the_same_pid(write, read):
    write().add(spool.Child(10, 1_000_000_000_000 + 200 * MS, "exec", ["/bin/true"]))
    contents = read()
    assert [(child.pid, child.ppid) for child in contents.children] == [(10, 1)]
    assert contents.processes[0].complete


def test_the_agent_admits_what_it_took(write, read):
    begin = 1_000_000_000_000
    write().phases(agent_ready=24).add(
        spool.Cost("inside", 10, begin + 21 * MS, begin + 22 * MS),
        spool.Cost("flush", 10, begin + 100 * MS, begin + 103 * MS),
    )
    assert read().processes[0].measurement_ns == 7 * MS


class TestImports:
    @staticmethod
    def record(name, start, end, *, thread=1, compile_ns=0, gc_ns=0):
        return spool.Imported(name, thread, start, end, 0, "", compile_ns, gc_ns)

    def test_self_and_cumulative(self):
        costs = import_costs(
            [
                self.record("numpy.core", 20, 50, compile_ns=5, gc_ns=4),
                self.record("json", 30, 40, gc_ns=3),
                self.record("numpy", 10, 100, gc_ns=6),
                self.record("numpy.late", 200, 210),
            ]
        )
        numpy, json = costs
        assert (numpy.package, numpy.modules, numpy.self_ns) == ("numpy", 3, 90)
        assert numpy.cumulative_ns == 100
        assert (numpy.compile_ns, numpy.gc_ns) == (5, 3)
        assert (json.self_ns, json.cumulative_ns, json.gc_ns) == (10, 10, 3)

    def test_threads_are_apart(self):
        costs = import_costs([self.record("a", 0, 100), self.record("b", 10, 60, thread=2)])
        assert {cost.package: cost.self_ns for cost in costs} == {"a": 100, "b": 50}

    @settings(max_examples=60)
    @given(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.integers(0, 90), st.integers(1, 40)), max_size=12
        )
    )
    def test_own_times_add_up_to_the_time_covered(self, spans):
        records = [self.record(name, start, start + length) for name, start, length in spans]
        covered = {ns for _, start, length in spans for ns in range(start, start + length)}
        costs = import_costs(records)
        ends = [(start, start + length) for _, start, length in spans]
        if not any(a < c < b < d for a, b in ends for c, d in ends):
            assert sum(cost.self_ns for cost in costs) == len(covered)
        for cost in costs:
            assert cost.self_ns <= len(covered)


@settings(max_examples=60)
@given(data=st.data())
def test_stretches_always_add_up(tmp_path_factory, data):
    """Whatever regions, imports and phases there are, and in whatever order they lie."""
    from coldsoak.launch import spool as reader

    moment = st.integers(0, 1000)
    folder = tmp_path_factory.mktemp("spool")
    records = [spool.Process(1, 10, 1, 10, 20, "3", "py", [], "/", "script", 0)]
    seen = data.draw(st.sets(st.sampled_from(["agent_ready", "main_start", "main_end", "exit"])))
    records += [spool.Phase(name, data.draw(moment), 10) for name in sorted(seen)]
    for _ in range(data.draw(st.integers(0, 6))):
        start, end = sorted((data.draw(moment), data.draw(moment)))
        records.append(spool.Region(-1, -1, 0, 10, start, end, 1.0, "declared", "r"))
        records.append(spool.Imported("m.n", 10, start + 3, end + 5, 0, "", 0, 0))
    import msgspec

    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    (folder / "10-20.jsonl").write_bytes(lines)
    end_ns = data.draw(st.none() | st.integers(20, 1100))
    for process in reader.read(folder, t0_ns=0, spawn_pid=10, end_ns=end_ns).processes:
        assert all(stretch.ns > 0 for stretch in process.stretches)
        assert adds_up(process)
