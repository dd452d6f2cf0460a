"""A result file that was changed is read or refused in words, and never ends in a traceback.

Real results have one or several of their values deleted, exchanged, emptied, made huge, negative or
of another type, or lose their end.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from coldsoak import pipeline
from coldsoak.errors import FormatError
from coldsoak.launch.store import encode_result, read_result
from coldsoak.model.result import FORMAT
from coldsoak.report.console import render
from coldsoak.report.csvfile import csv_text
from coldsoak.report.listing import listing_sheet
from coldsoak.report.markdown import markdown
from coldsoak.stats.salvage import salvaged

DATA = Path(__file__).parents[1] / "data" / "findings"
FILES = sorted(DATA.glob("*.json.gz"))
WHOLE = [json.loads(gzip.decompress(file.read_bytes())) for file in FILES]
TEXTS = ("", "x", "gpu:0", "(0, 0)", "((((", "[bold]x", "{}", "%s", "a\nb", "\x1b[31m", "é" * 300)
OTHERS = (None, True, [], {}, 0, "x", 0.5)
steps = st.integers(0, 10**6)


def paths(value, path=()):
    """Yield the paths of all values; of a list the first few stand for all."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value[:4]):
            yield from paths(item, (*path, place))


PATHS = [list(paths(document))[1:] for document in WHOLE]


changes = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(0, 4), steps), min_size=1, max_size=6
)


def change(document, path, kind, choice):
    """Delete the value at ``path``, give it another type, or another value of its type."""
    holder = document
    try:
        for step in path[:-1]:
            holder = holder[step]
        old = holder[path[-1]]
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took it away
    if kind == 0:
        del holder[path[-1]]
    elif kind == 1:
        holder[path[-1]] = OTHERS[choice % len(OTHERS)]
    elif isinstance(old, list):
        del old[choice % (len(old) + 1) :]
    elif isinstance(old, dict) and old:
        del old[list(old)[choice % len(old)]]
    else:
        holder[path[-1]] = other(old, choice)


def other(old, choice):
    """Return another value of the same type."""
    if isinstance(old, bool):
        return not old
    values = TEXTS if isinstance(old, str) else OTHERS
    if isinstance(old, int):
        values = (0, -1, -old, 1000 * old, 2**62, -(2**62))
    elif isinstance(old, float):
        values = (0.0, -old, 1e-300, 1e300, -1e300)
    return values[choice % len(values)]


def without_a_launch_that_counts(document):
    """Change it so that figures are computed from launches that do not count."""
    for launch in document["launches"]:
        launch["status"] = "failed"
    for summary in document["summaries"]:
        summary["n"] = 0


def read(file):
    """Return the result of a file; None where it is refused, and why."""
    try:
        return read_result(file), ""
    except FormatError as error:
        return None, f"{error.what} {error.why}"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("results") / "result.json"


@settings(deadline=None, max_examples=100)
@given(which=st.integers(0, len(WHOLE) - 1), made=changes, failed=st.booleans())
def test_what_can_be_read_can_be_shown(file, which, made, failed):
    document = copy.deepcopy(WHOLE[which])
    if failed:
        without_a_launch_that_counts(document)
    for place, kind, choice in made:
        change(document, PATHS[which][place % len(PATHS[which])], kind, choice)
    file.write_text(json.dumps(document))
    result, why = read(file)
    if result is None:
        assert str(file) in why
        return
    csv_text(result)
    listing_sheet([result], "folder", 1)
    judged = pipeline.judged(result)
    assert [one.text for one in judged.findings if one.title == "This could not be judged"] == []
    render(salvaged(judged), Console(file=io.StringIO(), width=80))
    markdown(judged)
    file.write_bytes(encode_result(judged))
    assert read_result(file) == judged


@settings(deadline=None, max_examples=50)
@given(which=st.integers(0, len(WHOLE) - 1), end=steps)
def test_a_file_without_its_end_is_refused(file, which, end):
    data = json.dumps(WHOLE[which]).encode()
    file.write_bytes(data[: end % len(data)])
    with pytest.raises(FormatError, match="damaged"):
        read_result(file)


@settings(deadline=None, max_examples=50)
@given(which=st.integers(0, len(WHOLE) - 1), number=st.integers(FORMAT + 1, 2**62), more=st.text())
def test_a_newer_file_says_what_reads_it(file, which, number, more):
    file.write_text(json.dumps(WHOLE[which] | {"format": number, "launches": more}))
    with pytest.raises(FormatError, match=str(number)) as refused:
        read_result(file)
    assert "upgrade" in refused.value.do
