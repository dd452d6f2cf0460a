"""Several remedies in one environment."""

from pathlib import Path

from coldsoak.model.result import Arm
from coldsoak.remedies.evidence import proof_file
from coldsoak.remedies.mixture import arm_of, mix
from coldsoak.remedies.registry import find

GPU = {"gpu": True, "devices": (0,), "imported": frozenset({"jax"})}
BASE = Arm(name="unchanged", argv=("python", "train.py"), cwd="/somewhere", env={"A": "1"})


def test_flags_of_one_variable_add_up_with_those_of_the_user(made):
    context = made.context(environment={"XLA_FLAGS": "--xla_dump_to=d"}, **GPU)
    mixture = mix(context, find(["xla.autotune_cache", "jax.autotune_level"]))
    flags = mixture.env["XLA_FLAGS"].split()
    assert flags == [
        "--xla_dump_to=d",
        "--xla_gpu_per_fusion_autotune_cache_dir=/store/xla-autotune",
        "--xla_gpu_autotune_level=0",
    ]
    assert mixture.parts["jax.autotune_level"][0]["XLA_FLAGS"].split() == flags


def test_an_arm_sets_and_removes_what_the_remedies_say(made):
    context = made.context(environment={"PYTHONDONTWRITEBYTECODE": "1"})
    arm = arm_of("py.pyc", BASE, context, mix(context, find(["py.pyc"])))
    assert arm.argv == BASE.argv
    assert arm.env == {
        "A": "1",
        "PYTHONPYCACHEPREFIX": "/store/bytecode",
        "PYTHONDONTWRITEBYTECODE": None,
    }


def test_stages_become_a_plan_for_the_script_with_a_report_of_its_own(made, tmp_path):
    context = made.context(tmp_path, imports=[made.an_import("torch")])
    old = proof_file(tmp_path, "py.gc_imports")
    old.parent.mkdir()
    old.write_text("of an earlier fix")
    arm = arm_of("py.gc_imports", BASE, context, mix(context, find(["py.gc_imports"])))
    assert arm.env["COLDSOAK_PREHEAT"].splitlines() == ["script train.py", "gc torch"]
    assert Path(arm.env["COLDSOAK_PREHEAT_REPORT"]) == old
    assert not old.exists()


def test_the_context_stage_expects_the_variables_that_other_remedies_set(made):
    context = made.context(
        cuda_environment={"CUDA_VISIBLE_DEVICES": "0", "CUDA_CACHE_DISABLE": "1"},
        environment={"CUDA_VISIBLE_DEVICES": "0", "CUDA_CACHE_DISABLE": "1"},
        **GPU,
    )
    mixture = mix(context, find(["cuda.context_overlap", "cuda.compute_cache"]))
    assert mixture.preheat.env_at_init == {
        "CUDA_VISIBLE_DEVICES": "0",
        "CUDA_CACHE_PATH": "/store/cuda",
        "CUDA_CACHE_MAXSIZE": "4294967296",
    }


def test_context_and_blas_stages_are_one(made, tmp_path):
    for name in ("libcublasLt.so.13", "libcublas.so.13"):
        (tmp_path / name).touch()
    library = {"library:libcublasLt.so.13": str(tmp_path / "libcublasLt.so.13")}
    context = made.context(info=library, imports=[made.an_import("torch")], gpu=True, devices=(1,))
    preheat = mix(
        context, find(["py.gc_imports", "cuda.context_overlap", "lib.blas_overlap"])
    ).preheat
    assert (preheat.context, preheat.blas, preheat.device) == (True, True, 1)
    names = [path.rpartition("/")[2] for path in preheat.libraries]
    assert names == ["libcublasLt.so.13", "libcublas.so.13"]
    assert preheat.gc == ("torch",)
