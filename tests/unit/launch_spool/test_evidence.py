"""Whether a source of evidence was on for a launch, and what is said of one that was not."""

from __future__ import annotations

import pytest

from coldsoak.launch.evidence import Fared, last_word, losing, over_processes
from coldsoak.model import spool
from coldsoak.model.result import SourceState

ON = SourceState(name="perf", state="on", reason="user space only", cost_ns=5)
OFF = SourceState(name="perf", state="off", reason="process 10 samples this one too", cost_ns=2)
LOST = SourceState(name="perf", state="lost", reason="the file could not be written", lost=3)


def merged(*states):
    (found,) = over_processes({state.name: Fared(state)} for state in states)
    return found


def said(*records):
    fared = None
    for record in records:
        fared = last_word(record, fared)
    return fared


def test_one_process_that_had_it_is_enough():
    expected = SourceState(name="perf", state="on", reason="user space only", cost_ns=7)
    assert merged(ON, OFF) == merged(OFF, ON) == expected


def test_off_everywhere_has_the_first_reason_that_was_given():
    silent = SourceState(name="perf", state="off")
    assert merged(silent, OFF, OFF).reason == "process 10 samples this one too"


def test_records_lost_in_one_process_are_lost_for_the_launch():
    found = merged(ON, OFF, LOST, LOST)
    assert (found.state, found.lost, found.cost_ns) == ("lost", 6, 7)
    assert found.reason == "the file could not be written"


def test_the_reason_is_of_a_process_in_the_same_state():
    nameless = SourceState(name="perf", state="lost", lost=1)
    assert merged(OFF, nameless).reason == ""
    assert merged(OFF, nameless, LOST).reason == "the file could not be written"


def test_sources_are_told_apart_and_come_by_name():
    cupti = SourceState(name="cupti", state="off", reason="no NVIDIA device")
    found = over_processes([{"perf": Fared(ON), "cupti": Fared(cupti)}, {"perf": Fared(OFF)}, {}])
    assert [(one.name, one.state) for one in found] == [("cupti", "off"), ("perf", "on")]
    assert over_processes([]) == ()


def test_the_last_word_counts_with_the_largest_cost_and_loss():
    state = said(
        spool.Source("jax", "on", "", 5000, 2), spool.Source("jax", "off", "no register", 0)
    ).state
    assert state == SourceState(
        name="jax", state="lost", reason="no register", cost_ns=5000, lost=2
    )


def test_what_was_lost_stays_lost():
    state = said(
        spool.Source("cupti", "lost", "taken over", 1, 4), spool.Source("cupti", "on", "", 9)
    ).state
    assert (state.state, state.lost, state.cost_ns) == ("lost", 4, 9)


@pytest.mark.parametrize("word", ["", "asleep", "ON"])
def test_a_word_of_a_newer_agent_promises_nothing(word):
    assert said(spool.Source("perf", word)).state.state == "lost"


def test_a_source_that_gave_up_in_one_process_is_off_for_the_launch():
    """Every process says that it is on until a framework is imported that it does not know."""
    on = spool.Source("jax", "on", "", 5)
    unknown = spool.Source("jax", "off", "unknown version of jax: no register", 2)
    gave_up, never_asked = said(on, unknown), said(on)
    for order in ([gave_up, never_asked], [never_asked, gave_up]):
        (found,) = over_processes({"jax": one} for one in order)
        assert (found.state, found.reason, found.cost_ns) == ("off", unknown.reason, 10)


def test_a_source_that_came_back_is_on():
    on, off = spool.Source("perf", "on"), spool.Source("perf", "off", "not yet")
    assert [one.state for one in over_processes([{"perf": said(off, on)}])] == ["on"]
    assert [one.state for one in over_processes([{"perf": said(on, off, on)}])] == ["on"]


def test_missing_records_are_told_with_what_the_source_said():
    before = said(spool.Source("perf", "on", "user space only", 7))
    cut = losing("perf", before, "the end of the file is missing").state
    assert (cut.state, cut.reason, cut.cost_ns) == ("lost", "the end of the file is missing", 7)
    counted = losing("perf", before, "", 3).state
    assert (counted.state, counted.reason, counted.lost) == ("lost", "user space only", 3)
    assert losing("perf", None, "gone").state.reason == "gone"
