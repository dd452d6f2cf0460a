"""Whole runs of ``fix`` on launches whose times are made up: who wins, who stays out, and why."""

import random
import sys

import pytest
from msgspec.structs import replace

from coldsoak.errors import UsageError
from coldsoak.model.estimate import Estimate, Ratio
from coldsoak.model.recipe import Recipe, Trial
from coldsoak.model.result import Note, Options
from coldsoak.remedies import apply, interpreter
from coldsoak.remedies.fixing import Wanted, _covered, fix
from coldsoak.remedies.interpreter import Interpreter
from coldsoak.remedies.recipe import encode, read
from coldsoak.remedies.trials import BASELINE

STAKE = {"import_bytecode_compile": 1.5, "python_gc": 0.4, "compile": 0.9, "import_python": 1.0}
ARGV = (sys.executable, "train.py")
NOISE = 0.01


class World:
    """An executor without processes: each remedy takes its seconds off the 4 of the first result.

    Args:
        made: The fixture of the same name.
        saves: Seconds by remedy.
        overlap: Seconds that two or more of them save less together.
        most: Seconds that they save together at the most.
        later: Seconds of the later runs, by remedy; 0.1 without.
        prints: Text by remedy.

    """

    gpus = None

    def __init__(
        self, made, saves, *, overlap=0.0, most=99.0, later=None, prints=None, fails=(),
        stops_after=10**9,
    ):  # fmt: skip
        self.made, self.saves, self.overlap, self.most = made, saves, overlap, most
        self.later, self.prints, self.fails = later or {}, prints or {}, fails
        self.series = (made.series,)
        self.stops_after = stops_after
        self.random = random.Random(7)
        self.launched = []

    def check(self, arms, options):
        """Anything goes."""

    def launch(self, request):
        if len(self.launched) >= self.stops_after:
            raise KeyboardInterrupt
        self.launched.append((request.round, request.arm.name))
        mine = [name for name, mark in MARKS.items() if mark(request.arm)]
        saved = sum(self.saves.get(name, 0.0) for name in mine)
        saved -= self.overlap * (sum(self.saves.get(name, 0.0) > 0 for name in mine) > 1)
        first = (4.0 - min(saved, self.most)) * (1 + self.random.uniform(-NOISE, NOISE))
        later = max([self.later.get(name, 0.1) for name in mine], default=0.1)
        log = f"{request.index:03d}.log"
        (request.folder / log).write_text(
            f"took {first} s\n" + "".join(self.prints.get(name, "") for name in mine)
        )
        kept = self.made.process(self.made.an_import(compile_s=0.0 if "py.pyc" in mine else 1.5))
        launch = self.made.launch(first, [later] * 4, processes=(kept,), peak_rss=1 << 30)
        if set(mine) & set(self.fails):
            launch = replace(launch, status="failed", exit_code=1, invalid="exit status 1")
        return replace(
            launch,
            index=request.index,
            round=request.round,
            arm=request.arm.name,
            kind=request.kind,
            position=request.position,
            log=log,
        )


MARKS = {
    "torch.vec_isa_ok": lambda arm: "TORCHINDUCTOR_VEC_ISA_OK" in arm.env,
    "py.pyc": lambda arm: "PYTHONPYCACHEPREFIX" in arm.env,
    "py.gc_imports": lambda arm: "gc torch" in (arm.env.get("COLDSOAK_PREHEAT") or ""),
    "torch.compile_threads": lambda arm: "TORCHINDUCTOR_COMPILE_THREADS" in arm.env,
    "tf.onednn": lambda arm: "TF_ENABLE_ONEDNN_OPTS" in arm.env,
}
"""How to tell from an arm which remedies it has."""


@pytest.fixture
def run(made, store, tmp_path, monkeypatch):
    """Fix a command in a made-up world; returns what came out and the world."""
    (tmp_path / "train.py").touch()
    place = str(tmp_path / "site")
    (tmp_path / "site" / "torch-2.11.0.dist-info").mkdir(parents=True)
    answer = Interpreter("3.12.3", place, {"torch": "2.11.0"}, {"torch": place})
    monkeypatch.setattr(interpreter, "ask", lambda *args: answer)

    def run(saves, *, pairs=8, wanted=None, imports=("torch",), stake=STAKE, budget=1e9, **world):
        diagnosis = made.diagnosis(*(made.an_import(name) for name in imports), argv=ARGV, **stake)
        arm = replace(diagnosis.arms[0], cwd=str(tmp_path))
        slow = [replace(made.launch(4.0), arm=one.arm, processes=one.processes)
                for one in diagnosis.launches]  # fmt: skip
        diagnosis = replace(diagnosis, id=store.create(ARGV), arms=(arm,), launches=tuple(slow))
        executor = World(made, saves, **world)
        options = Options(launches=pairs, budget_s=budget, trace=False)
        done = fix(diagnosis, options, wanted or Wanted(), store=store, executor=executor)
        return done, executor

    return run


def trial(done, name):
    return next(one for one in done.result.trials if one.remedy == name)


def ingredients(done):
    return [one.remedy for one in done.recipe.ingredients] if done.recipe else []


ONLY = Wanted(named=("py.pyc", "py.gc_imports", "torch.compile_threads"))


def test_a_remedy_that_saves_is_in_the_recipe_and_one_that_does_not_is_out(run):
    done, _ = run({"py.pyc": 1.5}, wanted=ONLY)
    assert ingredients(done) == ["py.pyc"]
    found = trial(done, "py.pyc")
    assert found.in_recipe
    assert found.ratio.verdict == "faster"
    assert found.saved.point == pytest.approx(1.5, abs=0.1)
    assert trial(done, "torch.compile_threads").ratio.verdict == "same"
    assert done.result.comparisons["placebo"].verdict == "same"
    assert done.recipe.before_s == pytest.approx(4.0, abs=0.1)
    assert done.recipe.after_s == pytest.approx(2.5, abs=0.1)


def test_a_slower_remedy_is_called_slower_and_stays_out(run):
    done, _ = run({"torch.compile_threads": -2.0}, wanted=ONLY)
    assert done.recipe is None
    assert trial(done, "torch.compile_threads").ratio.verdict == "slower"


def test_every_round_has_the_baseline_and_every_open_arm_once(run):
    _, world = run({"py.pyc": 1.5}, wanted=ONLY)
    for number in range(9):
        names = [arm for at, arm in world.launched if at == number]
        assert sorted(names) == sorted({*names, BASELINE, "placebo"})
    orders = {tuple(arm for at, arm in world.launched if at == number) for number in range(1, 9)}
    assert len(orders) > 1


def test_winners_are_tried_together_and_each_is_taken_away_once(run):
    done, _ = run({"py.pyc": 1.5, "torch.compile_threads": 0.8}, wanted=ONLY)
    assert sorted(ingredients(done)) == ["py.pyc", "torch.compile_threads"]
    arms = {arm.name for arm in done.result.arms}
    assert {"together", "together without py.pyc"} <= arms
    assert done.recipe.after_s == pytest.approx(1.7, abs=0.1)
    assert done.result.comparisons["together"].verdict == "faster"


def test_a_winner_that_adds_nothing_to_the_others_is_dropped(run):
    saves = {"py.pyc": 1.5, "torch.compile_threads": 0.8}
    done, _ = run(saves, overlap=0.9, wanted=ONLY)
    assert ingredients(done) == ["py.pyc"]
    dropped = trial(done, "torch.compile_threads")
    assert dropped.ratio.verdict == "faster"
    assert "adds nothing" in dropped.why


def test_two_idle_parts_are_dropped_one_after_the_other(run):
    saves = {"py.pyc": 1.5, "torch.compile_threads": 0.7, "torch.vec_isa_ok": 0.8}
    wanted = Wanted(named=tuple(saves))
    done, _ = run(saves, most=1.5, wanted=wanted)
    assert ingredients(done) == ["py.pyc"]
    assert "together 2" in done.result.comparisons


def test_a_part_of_a_better_remedy_is_no_winner_of_its_own():
    def tried(name, point):
        estimate = Estimate(point=point, n=8, minimum=point, maximum=point)
        ratio = Ratio(
            estimate=estimate, verdict="faster", clear=True, threshold=0.05, hodges_lehmann=point
        )
        return Trial(remedy=name, kind="overlap", title="", ratio=ratio)

    context, blas = "cuda.context_overlap", "lib.blas_overlap"
    assert _covered([tried(context, 0.9), tried(blas, 0.8)]) == {context}
    assert _covered([tried(context, 0.8), tried(blas, 0.9)]) == set()
    assert _covered([tried(context, 0.8)]) == set()


def test_results_that_change_keep_a_remedy_out(run):
    done, _ = run({"py.pyc": 1.5}, wanted=ONLY, prints={"py.pyc": "sum 3.5\n"})
    assert done.recipe is None
    assert trial(done, "py.pyc").outputs == "differ"
    assert "sum 3.5" not in trial(done, "py.pyc").proof
    assert "outputs differ" in trial(done, "py.pyc").why


def test_a_remedy_that_may_change_results_needs_leave(run):
    saves = {"tf.onednn": 1.0}
    stake = {"compile": 1.0, "import_python": 1.0}
    done, _ = run(saves, imports=["tensorflow"], stake=stake)
    assert done.recipe is None
    assert "--numerics" in trial(done, "tf.onednn").why
    done, _ = run(saves, imports=["tensorflow"], stake=stake, wanted=Wanted(numerics=True))
    assert ingredients(done) == ["tf.onednn"]
    assert done.recipe.ingredients[0].numerics == "may change"


def test_slower_later_runs_have_a_price_and_keep_a_remedy_out(run):
    stake = {"compile": 1.0, "import_python": 1.0}
    world = {"imports": ["torch"], "stake": stake, "later": {"torch.compile_threads": 0.3}}
    saves = {"torch.compile_threads": 1.0}
    done, _ = run(saves, **world)
    found = trial(done, "torch.compile_threads")
    assert done.recipe is None
    assert found.steady.verdict == "slower"
    assert found.break_even_runs == pytest.approx(5, abs=1)
    named = Wanted(named=("torch.compile_threads",))
    assert ingredients(run(saves, **world, wanted=named)[0]) == ["torch.compile_threads"]


def test_a_remedy_without_its_effect_is_not_believed(run):
    done, _ = run({"py.gc_imports": 1.0}, wanted=ONLY)
    assert done.recipe is None
    assert trial(done, "py.gc_imports").took_effect is False


def test_a_remedy_that_breaks_the_program_is_left_out(run):
    done, _ = run({"py.pyc": 1.5}, wanted=ONLY, fails=["torch.compile_threads"])
    assert ingredients(done) == ["py.pyc"]
    broken = trial(done, "torch.compile_threads")
    assert not broken.arm
    assert "left out" in broken.why


def test_pairs_that_cannot_be_clear_are_made_more(run):
    done, _ = run({"py.pyc": 1.5}, wanted=ONLY, pairs=2)
    assert trial(done, "py.pyc").ratio.estimate.n == 8
    assert any("8 pairs instead of 2" in note.text for note in done.result.notes)


def test_without_a_number_the_trials_end_at_a_look(run):
    done, _ = run({"py.pyc": 1.5}, wanted=ONLY, pairs=None)
    assert trial(done, "py.pyc").ratio.estimate.n == 12
    assert ingredients(done) == ["py.pyc"]


@pytest.mark.parametrize("launches", [2, 7, 13, 60])
def test_an_interruption_keeps_what_was_measured(run, store, launches):
    saves = {"py.pyc": 1.5, "torch.compile_threads": 0.8}
    done, world = run(saves, wanted=ONLY, stops_after=launches)
    assert not done.result.complete
    assert len(store.load("last").launches) == launches == len(world.launched)
    assert len(done.result.trials) == 3


def test_nothing_that_applies_means_nothing_is_launched(run):
    done, world = run({}, imports=[], stake={"import_python": 1.0})
    assert done.recipe is None
    assert not world.launched
    assert all(one.why for one in done.result.trials)


def test_an_unknown_remedy_is_refused_before_any_launch(run):
    with pytest.raises(UsageError, match=r"no remedy py\.pyk"):
        run({}, wanted=Wanted(named=("py.pyk",)))


def test_the_result_is_stored_with_trials_and_recipe(run, store):
    done, _ = run({"py.pyc": 1.5}, wanted=ONLY)
    assert store.load("last") == done.result
    assert done.result.recipe == done.recipe
    assert done.result.kind == "fix"


def test_the_recipe_of_a_command_that_is_not_utf8_is_written(run, tmp_path):
    done, _ = run({"py.pyc": 1.5}, wanted=ONLY)
    file = tmp_path / "r.toml"
    file.write_bytes(encode(replace(done.recipe, command=("python", "caf\udce9.py"))))
    assert read(file).command == ("python", "caf?.py")


def test_a_recipe_survives_its_file_and_is_applied_as_it_was_tried(run, tmp_path):
    done, _ = run({"py.pyc": 1.5, "torch.compile_threads": 0.8}, wanted=ONLY)
    file = tmp_path / "r.toml"
    file.write_bytes(encode(done.recipe, file.name))
    assert read(file) == done.recipe
    assert isinstance(read(file), Recipe)
    applied = apply.apply(apply.load_tables(file))
    arm = next(arm for arm in done.result.arms if arm.name == "together")
    assert dict(applied.env) == {k: v for k, v in arm.env.items() if v is not None}
    assert list(applied.unset) == [name for name, value in arm.env.items() if value is None]
    assert not applied.messages


def test_notes_of_the_agent_tell_what_the_program_declared(made):
    from coldsoak.remedies.outputs import declared

    notes = (
        Note(code="data", text='{"output": "y", "digest": "ab"}'),
        Note(code="data", text='{"cuda_environment": {}}'),
        Note(code="other", text='"output"'),
    )
    check = {"check": {"exit": 0, "digest": "cd"}}
    assert declared(made.launch(notes=notes, data=check)) == {"y": "ab", "--check": "exit 0 cd"}


SHORT = 300.0
"""Seconds of budget that carry three remedies together and one at a time, but not by themselves."""


def arms_of(world):
    return {arm for _, arm in world.launched}


@pytest.fixture
def soon(run):
    """Fix with a budget that is too short for each remedy by itself."""

    def soon(saves, *, budget=SHORT, **options):
        return run(saves, pairs=None, wanted=options.pop("wanted", ONLY), budget=budget, **options)

    return soon


def test_a_short_budget_tries_all_together_first_and_then_without_each(soon):
    named = ("py.pyc", "torch.compile_threads", "torch.vec_isa_ok")
    saves = {"py.pyc": 1.5, "torch.compile_threads": 0.5}
    done, world = soon(saves, wanted=Wanted(named=named))
    assert ingredients(done) == ["py.pyc", "torch.compile_threads"]
    assert not arms_of(world) & set(named), "none was launched by itself"
    assert done.recipe.after_s == pytest.approx(2.0, abs=0.1)
    pyc = trial(done, "py.pyc")
    assert (pyc.arm, pyc.against) == ("together", "together without py.pyc")
    assert pyc.saved.point == pytest.approx(1.5, abs=0.1)
    assert pyc.ratio.verdict == "faster"
    isa = trial(done, "torch.vec_isa_ok")
    assert not isa.in_recipe
    assert isa.ratio.verdict == "same"
    assert any("too short" in note.text for note in done.result.notes)


def test_what_adds_nothing_to_the_whole_goes_at_once_and_the_rest_is_compared(soon):
    done, world = soon({"py.pyc": 1.5})
    assert ingredients(done) == ["py.pyc"]
    assert "together 2" in arms_of(world)
    assert done.result.comparisons["together 2"].verdict == "faster"


def test_the_whole_is_kept_when_the_rest_is_slower(soon):
    """Each of two is idle beside the other, but one of them is needed."""
    done, _ = soon({"py.gc_imports": 1.0, "torch.compile_threads": 1.0}, most=1.0)
    assert done.recipe is not None
    assert done.recipe.after_s == pytest.approx(3.0, abs=0.1)


def test_parts_that_there_was_no_time_for_are_named(soon):
    done, world = soon({"py.pyc": 1.5, "py.gc_imports": 0.5}, budget=1)
    assert ingredients(done) == ["py.pyc", "torch.compile_threads"], "the third took no effect"
    assert arms_of(world) == {BASELINE, "placebo", "together"}
    assert trial(done, "py.pyc").ratio is None
    assert any("no time" in note.text for note in done.result.notes)


def test_a_part_without_effect_goes_without_being_tested(soon):
    done, world = soon({"py.pyc": 1.5})
    assert ingredients(done) == ["py.pyc"]
    assert "together without py.gc_imports" not in arms_of(world), "its stage did not run"


def test_a_whole_that_does_nothing_is_not_taken_apart(soon):
    done, world = soon({})
    assert done.recipe is None
    assert not [arm for arm in arms_of(world) if "without" in arm]


def test_a_whole_that_breaks_the_program_is_told(soon):
    done, _ = soon({"py.pyc": 1.5}, fails=("torch.compile_threads",))
    assert done.recipe is None
    assert any("do not work together" in note.text for note in done.result.notes)


def test_a_whole_that_slows_later_runs_is_not_offered(soon):
    wanted = Wanted(excluded=("torch.vec_isa_ok",))
    done, _ = soon({"py.pyc": 1.5}, later={"py.gc_imports": 0.3}, budget=1, wanted=wanted)
    assert done.recipe is None
    assert any("later runs become slower" in note.text for note in done.result.notes)


def test_what_may_change_results_is_not_in_the_whole_unasked(soon):
    done, _ = soon({"py.pyc": 1.5}, imports=("torch", "tensorflow"), wanted=Wanted(), budget=1)
    assert not trial(done, "tf.onednn").arm
    assert "results may change" in trial(done, "tf.onednn").why
