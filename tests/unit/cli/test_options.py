"""The command line's values become the model's options, or are refused with a way out."""

import pytest

from coldsoak.cli.options import to_options
from coldsoak.errors import UsageError

DEFAULTS = {
    "launches": None,
    "budget": 60.0,
    "timeout": 600.0,
    "cold": "process",
    "target": 0.05,
    "no_trace": False,
    "source_off": None,
}


def test_defaults_are_those_of_the_model():
    from coldsoak.model.result import Options

    assert to_options(**DEFAULTS) == Options()


def test_everything_arrives():
    made = to_options(
        **DEFAULTS | {"launches": 7, "cold": "cache,bytecode", "source_off": ["perf", "cupti"]},
        until="port:80",
        rerun=3,
        tf1=True,
    )
    assert made.launches == 7
    assert set(made.cold) == {"cache", "bytecode"}
    assert made.sources_off == ("perf", "cupti")
    assert (made.until, made.rerun, made.tf1) == ("port:80", 3, True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": -1.0},
        {"timeout": 0.0},
        {"target": 0.0},
        {"target": 2.0},
        {"cold": "ice"},
        {"source_off": ["pref"]},
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError) as caught:
        to_options(**DEFAULTS | wrong)
    assert next(iter(wrong)).partition("_")[0] in str(caught.value)
    assert caught.value.do
