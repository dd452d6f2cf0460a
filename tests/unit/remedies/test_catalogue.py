"""Each remedy: when it applies, what it changes, how its effect is told."""

import inspect
import re
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from coldsoak.errors import UsageError
from coldsoak.model.estimate import Estimate
from coldsoak.model.ledger import Evidence, Item
from coldsoak.model.result import Child, Device, Machine, Options
from coldsoak.remedies.base import Seen
from coldsoak.remedies.catalogue.region_warm_up import WarmUpCall
from coldsoak.remedies.evidence import proof_file
from coldsoak.remedies.rank import rank
from coldsoak.remedies.registry import ADVICE, PLACEBO, REMEDIES, find

EVERY = (*REMEDIES, PLACEBO)
GPU = {"gpu": True, "devices": (0,)}


@pytest.mark.parametrize("remedy", EVERY, ids=lambda remedy: remedy.id)
def test_every_remedy_explains_itself(remedy):
    words = inspect.getdoc(type(remedy))
    assert len(words) > 100
    assert words.partition("\n")[0].endswith((".", ")."))
    assert len(remedy.title) <= 36
    assert re.fullmatch(r"[a-z]+\.[a-z_]+|placebo", remedy.id)
    assert remedy.kind == "placebo" or remedy.causes


def test_ids_are_unique():
    ids = [one.id for one in (*EVERY, *ADVICE)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.id)
def test_what_changes_numerics_says_so_among_its_risks(remedy):
    speaks = re.search(r"digits|order|choice", " ".join(remedy.risks))
    assert bool(speaks) == (remedy.numerics == "may change")


def test_an_unknown_remedy_is_answered_with_those_that_are_near():
    with pytest.raises(UsageError, match=r"py\.pyk") as caught:
        find(["py.pyk"])
    assert "py.pyc" in caught.value.do


def why(made, name, **fields):
    return find([name])[0].applies(made.context(**fields))


def test_gpu_remedies_want_a_gpu_and_their_package(made):
    assert "GPU" in why(made, "jax.preallocate_off", imported=frozenset({"jax"}))
    assert "import jax" in why(made, "jax.preallocate_off", **GPU)
    assert not why(made, "jax.preallocate_off", imported=frozenset({"jax"}), **GPU)


def test_a_setting_that_is_there_already_is_not_tried(made):
    there = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    said = why(made, "jax.preallocate_off", imported=frozenset({"jax"}), environment=there, **GPU)
    assert "already" in said


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"forks": True}, "forks"),
        ({"cuda_environment": None}, "do not tell"),
        ({"cuda_environment": {"CUDA_VISIBLE_DEVICES": "1"}}, "changes CUDA_VISIBLE_DEVICES"),
        ({"environment": {"CUDA_MODULE_LOADING": "EAGER"}}, "changes CUDA_MODULE_LOADING"),
    ],
)
def test_no_context_is_made_early_where_that_is_unsafe(made, fields, word):
    assert word in why(made, "cuda.context_overlap", **GPU, **fields)


def test_the_context_is_made_early_where_all_fits(made):
    assert not why(made, "cuda.context_overlap", **GPU)


def test_eager_loading_is_removed_only_where_it_is_set(made):
    assert "already" in why(made, "cuda.module_loading", **GPU)
    eager = {"CUDA_MODULE_LOADING": "EAGER"}
    assert not why(made, "cuda.module_loading", environment=eager, **GPU)


def test_one_card_is_shown_only_where_there_are_several(made):
    assert "several" in why(made, "cuda.visible_devices", **GPU)
    context = made.context(**GPU)
    cards = tuple(Device(kind="gpu", name="card", index=n) for n in range(2))
    context = replace(context, diagnosis=changed(context.diagnosis, machine=Machine(devices=cards)))
    remedy = find(["cuda.visible_devices"])[0]
    assert not remedy.applies(context)
    assert remedy.change(context).env == {"CUDA_VISIBLE_DEVICES": "0"}


def test_new_torch_needs_no_help_with_vector_instructions(made):
    torch = {"imported": frozenset({"torch"})}
    assert not why(made, "torch.vec_isa_ok", packages={"torch": "2.13.0+cu130"}, **torch)
    for name in ("torch.vec_isa_ok", "torch.isa_replay"):
        assert "2.14.1+cpu keeps" in why(made, name, packages={"torch": "2.14.1+cpu"}, **torch)


def trying(made, context, trials):
    """A context whose launches start that many children that try vector instructions."""
    words = "\nfrom ctypes import cdll\ncdll.LoadLibrary('/cache/x.so')\n"
    children = [Child(pid=9, ppid=7, argv=("python", "-c", words), start_ns=0, end_ns=1)] * trials
    children.append(Child(pid=9, ppid=7, argv=("g++", "x.cpp"), start_ns=0, end_ns=1))
    launch = changed(context.diagnosis.launches[0], children=tuple(children))
    return replace(context, diagnosis=changed(context.diagnosis, launches=(launch,))), launch


def test_trials_are_recorded_for_a_command_that_makes_some(made):
    remedy = find(["torch.isa_replay"])[0]
    context = made.context(imported=frozenset({"torch"}))
    assert "makes no trials" in remedy.applies(trying(made, context, 0)[0])
    assert not remedy.applies(trying(made, context, 6)[0])


def test_replayed_trials_are_believed_when_the_children_are_gone(made, tmp_path):
    remedy = find(["torch.isa_replay"])[0]
    context, before = trying(made, made.context(tmp_path), 6)
    kept, gone = (
        changed(trying(made, context, trials)[1], arm="x", processes=(made.process(),))
        for trials in (6, 0)
    )
    file = proof_file(tmp_path, "x")
    file.parent.mkdir()
    file.write_text("7\tisa\tdone\t1.0\t1.0\t6 trials answered from the record\n")
    found = remedy.verify(context, Seen(launch=gone, before=before))
    assert found.effect is True
    assert found.proof.endswith("6 before, now 0")
    assert remedy.verify(context, Seen(launch=kept, before=before)).effect is False
    file.write_text("7\tisa\toff\t1.0\t1.0\tit was recorded with another torch\n")
    found = remedy.verify(context, Seen(launch=gone, before=before))
    assert (found.effect, "another torch" in found.proof) == (False, True)


def test_keys_are_recorded_where_they_were_seen_or_a_gpu_runs_triton(made):
    remedy = find(["torch.keys_memo"])[0]
    context = made.context(imported=frozenset({"torch"}), seconds={"cache_lookup": 0.4})
    assert "no key" in remedy.applies(context)
    ledger = context.diagnosis.ledgers[0]
    item = Item(label="inductor_codecache_torch_key", ns=100_000_000)
    line = changed(ledger.lines[0], evidence=Evidence(items=(item,)))
    seen_it = changed(context.diagnosis, ledgers=(changed(ledger, lines=(line,)),))
    assert not remedy.applies(replace(context, diagnosis=seen_it))
    triton = {"imported": frozenset({"triton"}), "seconds": {"compile": 0.4}}
    assert "no key" in why(made, "torch.keys_memo", **triton)
    assert not why(made, "torch.keys_memo", **triton, **GPU)


def test_replayed_keys_are_believed_when_the_stage_reports(made, tmp_path):
    remedy = find(["torch.keys_memo"])[0]
    context = made.context(tmp_path)
    assert remedy.verify(context, seen(made)).effect is False
    file = proof_file(tmp_path, "x")
    file.parent.mkdir()
    file.write_text("7\ttorch_key\tdone\t1.0\t1.0\ttorch_key answered from the record\n")
    assert remedy.verify(context, seen(made)).effect is True
    file.write_text("7\ttorch_key\toff\t1.0\t1.0\tx.py has changed since it was recorded\n")
    found = remedy.verify(context, seen(made))
    assert (found.effect, found.proof) == (
        False,
        "torch_key off: x.py has changed since it was recorded",
    )


def test_blas_is_found_among_loaded_libraries_or_in_the_environment(made, tmp_path):
    remedy = find(["lib.blas_overlap"])[0]
    assert "libcublas" in remedy.applies(made.context(site=str(tmp_path), **GPU))
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    for name in ("libcublas.so.13", "libcublasLt.so.13"):
        (folder / name).touch()
    context = made.context(site=str(tmp_path), **GPU)
    assert not remedy.applies(context)
    names = [path.rpartition("/")[2] for path in remedy.change(context).preheat.libraries]
    assert names == ["libcublasLt.so.13", "libcublas.so.13"]


# Whether it took effect


def seen(made, *, compiled=0.4, collected=0.1, arm="x", **fields):
    process = made.process(made.an_import(compile_s=compiled, gc_s=collected))
    before = made.launch(processes=(made.process(made.an_import()),))
    return Seen(launch=made.launch(arm=arm, processes=(process,)), before=before, **fields)


def test_kept_bytecode_is_seen_by_what_the_imports_compiled(made):
    remedy = find(["py.pyc"])[0]
    assert remedy.verify(made.context(), seen(made, compiled=0.0)).effect is True
    assert remedy.verify(made.context(), seen(made, compiled=0.4)).effect is False


def test_a_cache_without_files_had_no_effect(made, tmp_path):
    remedy = find(["jax.cache_thresholds"])[0]
    context = made.context(tmp_path)
    assert remedy.verify(context, seen(made)).effect is False
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "entry").write_bytes(bytes(100))
    assert remedy.verify(context, seen(made)).effect is True


def test_a_stage_is_believed_when_it_reports(made, tmp_path):
    remedy = find(["cuda.context_overlap"])[0]
    context = made.context(tmp_path)
    assert remedy.verify(context, seen(made)).effect is False
    file = proof_file(tmp_path, "x")
    file.parent.mkdir()
    file.write_text("7\tcontext\tdone\t1.0\t205.0\t\n")
    found = remedy.verify(context, seen(made))
    assert found.effect is True
    assert "205 ms" in found.proof
    file.write_text("7\tcontext\tfailed\t1.0\t2.0\tcuInit gave error 100\n")
    assert remedy.verify(context, seen(made)).effect is False
    file.write_text("8\tcontext\tdone\t1.0\t2.0\t\n")
    assert remedy.verify(context, seen(made)).effect is False, "of another process"


def test_reading_ahead_is_for_a_cold_disk_and_believed_when_it_reports(made, tmp_path):
    remedy = find(["os.readahead_recorded"])[0]
    assert "--cold disk" in remedy.applies(made.context())
    context = made.context(tmp_path)
    cold = changed(context.diagnosis, options=Options(cold=("disk",)))
    context = replace(context, diagnosis=cold)
    assert not remedy.applies(context)
    assert remedy.verify(context, seen(made)).effect is False
    file = proof_file(tmp_path, "x")
    file.parent.mkdir()
    file.write_text("7\treadahead 0\tdone\t1.0\t90.0\t12 bytes asked for\n")
    assert remedy.verify(context, seen(made)).effect is True


def test_a_variable_is_seen_by_the_seconds_that_are_gone_from_its_causes(made):
    remedy = find(["jax.preallocate_off"])[0]
    context = made.context(seconds={"pool_reserve": 1.75})
    gone = {next(iter(remedy.causes)): 0.0}
    assert remedy.verify(context, seen(made, seconds=gone)).effect is True
    assert remedy.verify(context, seen(made)).effect is None


# The order in which they are tried


def names(found):
    return [one.remedy.id for one in found if not one.left_out]


def test_remedies_are_ranked_by_the_seconds_at_stake(made):
    context = made.context(
        imports=[made.an_import("torch")],
        seconds={"import_bytecode_compile": 1.7, "python_gc": 0.3, "import_python": 1.0},
    )
    assert names(rank(context, REMEDIES)) == ["py.pyc", "py.gc_imports"]


def test_what_has_next_to_nothing_at_stake_is_tried_only_by_name(made):
    seconds = {"import_bytecode_compile": 0.001, "import_python": 1.0}
    context = made.context(imports=[made.an_import("torch")], seconds=seconds)
    assert names(rank(context, REMEDIES)) == []
    assert names(rank(context, REMEDIES, named=["py.pyc"])) == ["py.pyc"]


def test_what_does_not_apply_is_not_tried_even_by_name(made):
    assert names(rank(made.context(), REMEDIES, named=["jax.preallocate_off"])) == []


def test_folklore_is_tried_by_name_or_on_request(made):
    context = made.context(seconds={"library_load": 1.0})
    assert "folklore.bind_now" not in names(rank(context, REMEDIES))
    assert "folklore.bind_now" in names(rank(context, REMEDIES, folklore=True))
    assert names(rank(context, REMEDIES, named=["folklore.bind_now"])) == ["folklore.bind_now"]


def test_an_excluded_remedy_is_left_out(made):
    context = made.context(seconds={"import_bytecode_compile": 1.7})
    assert names(rank(context, REMEDIES, excluded=["py.pyc"])) == []


def warm_up(made, paid, case=None):
    """The advice for a region whose first run of 1 s has ``paid`` seconds that come once."""
    diagnosis = made.diagnosis()
    [row] = diagnosis.summaries[0].series
    overhead = Estimate(point=paid, n=3, minimum=paid, maximum=paid)
    summary = changed(diagnosis.summaries[0], series=(changed(row, overhead=overhead),))
    series = tuple(changed(one, case=case or {}) for one in diagnosis.series)
    diagnosis = changed(diagnosis, summaries=(summary,), series=series)
    return WarmUpCall().text(replace(made.context(), diagnosis=diagnosis))


def test_a_warm_up_call_is_advised_with_the_case_that_it_must_have(made):
    text = warm_up(made, 0.4, {"shape": "(1000, 1000)"})
    assert "work" in text
    assert "shape=(1000, 1000)" in text
    assert "400 ms" in text
    assert "no earlier" in text, "it moves the time and does not shorten it"


def test_no_warm_up_call_is_advised_where_the_first_run_is_like_the_others(made):
    assert warm_up(made, 0.05) == ""
    assert WarmUpCall().text(made.context()) == ""
