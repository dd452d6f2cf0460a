"""What is the same although it is printed differently, and what is not."""

import pytest

from coldsoak.remedies.outputs import compare, learn

RUN = """\
2026-11-30 12:00:01.{log} I tensorflow/core/util/port.cc:153] oneDNN custom operations are on
run {run} took {took} s, at 0x7f{address} ({other:.4f} rows per batch)
sum {total}
"""


def text(*, run=0, took="0.123", log="123", address="aa01", other=0.1, total="17.25"):
    return RUN.format(run=run, took=took, log=log, address=address, other=other, total=total)


BEFORE = [text(), text(took="0.2", log="999", address="bb", other=0.7)]


def state(*texts, against=None):
    return compare(learn(list(texts)), against).state


def test_times_addresses_log_lines_and_what_varies_anyway_are_not_compared():
    assert state(*BEFORE, against=text(took="5", log="0", address="12", other=0.9)) == "equal"


@pytest.mark.parametrize(
    "changed", [text(total="17.26"), text(run=3), text() + "oops\n", "sum 17.25\n"]
)
def test_another_result_a_new_line_and_a_missing_line_differ(changed):
    found = compare(learn(BEFORE), changed)
    assert found.state == "differ"
    assert found.why


def test_a_unit_of_time_is_masked_even_where_the_figures_agreed_by_chance():
    assert state(text(), text(), against=text(took="0.9")) == "equal"


def test_a_number_that_is_no_time_is_compared_however_many_decimals_it_has():
    assert state(text(other=0.5), text(other=0.5), against=text(other=0.6)) == "differ"


def test_lines_whose_number_varies_without_a_remedy_may_vary_with_it():
    assert state("a\nb\nb\n", "a\nb\n", against="a\n") == "equal"


def test_one_launch_is_too_few_to_learn_from():
    assert state(text(), against=text()) == "not compared"


def test_a_random_number_varies_and_its_neighbour_does_not():
    learned = learn(["loss 0.31 acc 7", "loss 0.77 acc 7"])
    assert compare(learned, "loss 0.5 acc 7").state == "equal"
    assert compare(learned, "loss 0.5 acc 8").state == "differ"


def test_repeated_lines_are_told_apart_by_their_order():
    learned = learn(["step 1\nstep 2\n"] * 2)
    assert compare(learned, "step 1\nstep 2\n").state == "equal"
    assert compare(learned, "step 2\nstep 1\n").state == "differ"
