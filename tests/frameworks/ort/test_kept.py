"""What is kept: by whom, until when, and what becomes of it when something is wrong with it."""

import ctypes
import json
import os
import shutil
import signal
import time

import pytest

pytestmark = [pytest.mark.framework("onnxruntime"), pytest.mark.timeout(600)]

PROGRAM = """
import numpy as np, onnxruntime as ort, hashlib
session = ort.InferenceSession("product.onnx", providers=["CPUExecutionProvider"])
result = session.run(None, dict(np.load("product.npz")))[0]
__import__("sys").stdout.write(hashlib.sha256(result).hexdigest() + "\\n")
"""
LOADED, KEPT = "kept models loaded: 1", "kept for the next start: 1"
SAME_SIZE_AND_TIME = """
import onnx, os
before = os.stat("product.onnx")
model = onnx.load("product.onnx")
weight = model.graph.initializer[0]
weight.raw_data = bytes(2 * onnx.numpy_helper.to_array(weight))
onnx.save(model, "product.onnx")
os.utime("product.onnx", ns=(before.st_atime_ns, before.st_mtime_ns))
assert os.stat("product.onnx").st_size == before.st_size
"""
CAPBSET_DROP, DAC_OVERRIDE = 24, 1


@pytest.fixture
def stock(ran):
    """What the program prints without the stage."""
    done = ran(PROGRAM, stage=False)
    assert done.status == 0, done.err
    return done.out


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def kept(ran, cache, stock):
    """The folder of the kept model."""
    first = ran(PROGRAM)
    assert (first.out, first.told) == (stock, KEPT)
    return folder_in(cache)


def folder_in(cache):
    (folder,) = (file for file in cache.iterdir() if file.is_dir())
    return folder


def copy_in_place(file):
    """Put a copy of a file in its place, with times and an inode of its own."""
    shutil.copy(file, file.with_suffix(".copy")).replace(file)


def table_in(cache):
    (file,) = cache.glob("*.json")
    return file


def test_starts_at_once_leave_one_kept_model(start, ended, ran, cache, stock):
    program = f"import time; time.sleep(max(0, {time.monotonic() + 4} - time.monotonic()))\n"
    done = [ended(one) for one in [start(program + PROGRAM) for _ in range(4)]]
    assert [one.out for one in done] == [stock] * 4
    told = [one.told for one in done]
    busy = "left alone: 1 (product.onnx is just being kept elsewhere)"
    assert told.count(KEPT) == 1
    assert set(told) <= {KEPT, LOADED, busy}
    assert folder_in(cache)
    assert ran(PROGRAM).told == LOADED


def test_threads_at_once_give_each_its_session(ran, stock, cache):
    program = (
        "import threading\n"
        "import onnxruntime as ort\n"
        f"text = {PROGRAM!r}\n"
        "ones = [threading.Thread(target=exec, args=(text, {})) for _ in range(6)]\n"
        "[one.start() for one in ones]; [one.join() for one in ones]\n"
    )
    for _ in range(2):
        done = ran(program)
        assert done.out.split() == [stock.strip()] * 6, done.err
    assert done.told == "kept models loaded: 6"


def test_other_weights_of_the_same_size_and_time_are_seen(ran, cache, kept, stock):
    changing = ran(SAME_SIZE_AND_TIME, stage=False)
    assert changing.status == 0, changing.err
    other = ran(PROGRAM, stage=False).out
    assert other != stock
    again = ran(PROGRAM)
    assert (again.out, again.told) == (other, KEPT)
    assert folder_in(cache) != kept, "the old one is gone"
    assert ran(PROGRAM).told == LOADED


def test_a_copy_of_the_model_in_its_place_is_known_by_its_content(ran, models, cache, kept, stock):
    copy_in_place(models / "product.onnx")
    before = table_in(cache).read_text()
    again = ran(PROGRAM)
    assert (again.out, again.told) == (stock, LOADED)
    assert folder_in(cache) == kept
    assert table_in(cache).read_text() != before, "the next start need not look into it"


def test_other_options_are_kept_beside(ran, cache, kept, stock):
    program = PROGRAM.replace("session = ", "o = ort.SessionOptions()\n{}\nsession = ")
    program = program.replace('onnx", ', 'onnx", o, ')
    for line in (
        "o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC",
        'o.add_free_dimension_override_by_name("n", 5)',
        'o.add_session_config_entry("session.disable_prepacking", "1")',
    ):
        assert ran(program.format(line)).told == KEPT
        again = ran(program.format(line))
        assert (again.out, again.told) == (stock, LOADED)
    assert len(list(cache.glob("*.json"))) == 4


def truncated(folder):
    with (folder / "weights.bin").open("r+b") as file:
        file.truncate(100)


def weights_gone(folder):
    (folder / "weights.bin").unlink()


def folder_gone(folder):
    shutil.rmtree(folder)


def graph_overwritten(folder):
    state = (folder / "model.onnx").stat()
    (folder / "model.onnx").write_bytes(bytes(state.st_size))
    os.utime(folder / "model.onnx", ns=(state.st_atime_ns, state.st_mtime_ns))


def weights_written_later(folder):
    os.utime(folder / "weights.bin", (1, 1))


def no_table(folder):
    table_in(folder.parent).write_text("{")


def half_a_table(folder):
    record = json.loads(table_in(folder.parent).read_text())
    del record["facts"]
    table_in(folder.parent).write_text(json.dumps(record))


@pytest.mark.parametrize(
    "damage",
    [
        truncated, weights_gone, folder_gone, graph_overwritten, weights_written_later, no_table,
        half_a_table,
    ],
)  # fmt: skip
def test_what_is_damaged_is_kept_anew(ran, cache, kept, stock, damage):
    damage(kept)
    again = ran(PROGRAM)
    assert (again.status, again.out, again.told) == (0, stock, KEPT), again.err
    assert ran(PROGRAM).told == LOADED
    assert folder_in(cache) != kept, "nothing else is left"


def test_what_cannot_be_loaded_is_given_up(ran, cache, kept, stock):
    """A graph that is not as the table has it would not be loaded at all: so the table says it is."""
    (kept / "model.onnx").write_bytes(b"\xff" * 100)
    record = json.loads(table_in(cache).read_text())
    sizes = [[one.name, one.stat().st_size, int(one.stat().st_mtime)] for one in kept.iterdir()]
    record["files"] = [*sorted(sizes), ["3ee50bd2cd5d1c8bd0a1ae2d1fdba0a7"]]
    table_in(cache).write_text(json.dumps(record))
    trust = "preheat_ort_cache.content = lambda path: '3ee50bd2cd5d1c8bd0a1ae2d1fdba0a7'"
    again = ran(PROGRAM, extra=trust)
    assert (again.out, again.state) == (stock, "off")
    assert again.told == "left alone: 1 (what was kept of product.onnx could not be loaded)"
    assert ran(PROGRAM).told == KEPT


def test_a_session_that_tells_something_else_is_given_up(ran, cache, kept, stock):
    record = json.loads(table_in(cache).read_text())
    record["facts"][0][0][0] = "z"
    table_in(cache).write_text(json.dumps(record))
    again = ran(PROGRAM)
    assert (again.out, again.state) == (stock, "off")
    assert ran(PROGRAM).told == KEPT


def test_a_form_that_gives_another_session_is_not_kept(ran, cache, stock):
    """Tried in both forms, and never again."""
    lie = (
        "real = preheat_ort_keep.facts\n"
        "preheat_ort_keep.facts = lambda session: ['other', real(session)]"
    )
    first = ran(PROGRAM, extra=lie)
    assert (first.out, first.state) == (stock, "off")
    assert "its session differs from that of the model itself" in first.told
    assert ran(PROGRAM).told == first.told
    assert not [file for file in cache.iterdir() if file.is_dir()]


def keep_in_a_folder_that_cannot_be_made(ran, tmp_path, cache):
    (tmp_path / "file").touch()
    return ran(PROGRAM, cache=tmp_path / "file" / "cache")


def keep_in_a_folder_that_cannot_be_written(ran, tmp_path, cache):
    cache.mkdir()
    cache.chmod(0o555)
    return ran(PROGRAM, preexec_fn=without_privilege)


def without_privilege():
    """Have permissions apply to the superuser too."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(CAPBSET_DROP, DAC_OVERRIDE, 0, 0, 0) == 0


@pytest.mark.parametrize(
    "way", [keep_in_a_folder_that_cannot_be_made, keep_in_a_folder_that_cannot_be_written]
)
def test_without_a_folder_the_program_runs_as_always(ran, tmp_path, cache, stock, way):
    done = way(ran, tmp_path, cache)
    assert (done.status, done.out, done.state) == (0, stock, "off")
    assert "product.onnx cannot be kept: " in done.told


def test_what_is_kept_is_used_where_nothing_can_be_written(ran, models, cache, kept, stock):
    copy_in_place(models / "product.onnx")
    for folder in (kept, cache):
        folder.chmod(0o555)
    done = ran(PROGRAM, preexec_fn=without_privilege)
    assert (done.out, done.told) == (stock, LOADED)


def test_a_full_disk_keeps_nothing(ran, cache, stock):
    done = ran(PROGRAM, extra="preheat_ort_keep.ROOM = 1 << 40")
    assert (done.out, done.state) == (stock, "off")
    assert "there is no room on the disk to keep product.onnx" in done.told
    assert ran(PROGRAM).told == KEPT


def test_a_disk_that_fails_on_the_way_keeps_nothing(ran, cache, stock):
    fail = "def fail(path): raise OSError(28, 'No space left on device')\npreheat_ort_keep._sync = fail"
    done = ran(PROGRAM, extra=fail)
    assert (done.out, done.state) == (stock, "off")
    assert "No space left on device" in done.told
    assert [file.suffix for file in cache.iterdir()] == [".lock"]
    assert ran(PROGRAM).told == KEPT


def test_a_model_that_changes_meanwhile_is_not_kept(ran, models, cache, stock):
    touch = (
        "import os\nreal = preheat_ort_keep.facts\n"
        "def facts(session):\n    os.utime('product.onnx')\n    return real(session)\n"
        "preheat_ort_keep.facts = facts"
    )
    done = ran(PROGRAM, extra=touch)
    assert (done.out, done.state) == (stock, "off")
    assert "product.onnx has changed meanwhile" in done.told
    assert not list(cache.glob("*.json"))


def test_there_is_a_limit_to_what_is_kept(ran, cache, kept, stock):
    program = PROGRAM.replace("product.onnx", "half.onnx").replace("product.npz", "half.npz")
    done = ran(program, extra="preheat_ort_keep.MOST = 1")
    assert (done.status, done.told) == (0, "left alone: 1 (1 models are kept already)")
    assert ran(PROGRAM, extra="preheat_ort_keep.MOST = 1").told == LOADED


KILL = """
import os, signal
def end(*_):
    os.kill(os.getpid(), signal.{})
preheat_ort_keep.Keeper._optimised = end
"""


def test_starts_that_are_killed_meanwhile_are_counted(ran, cache, stock):
    """A process that is killed for want of memory must not be so at every start."""
    for _ in range(2):
        assert ran(PROGRAM, extra=KILL.format("SIGKILL")).status == -signal.SIGKILL
    third = ran(PROGRAM, extra=KILL.format("SIGKILL"))
    assert (third.out, third.state) == (stock, "off")
    assert "2 starts did not end while they kept product.onnx" in third.told
    table_in(cache).unlink()
    assert ran(PROGRAM).told == KEPT
    assert folder_in(cache)


def test_an_interrupt_is_the_programs_and_not_counted(ran, cache):
    done = ran(PROGRAM, extra=KILL.format("SIGINT"))
    assert done.status == -signal.SIGINT
    assert "KeyboardInterrupt" in done.err
    assert [file.suffix for file in cache.iterdir()] == [".lock"]


def test_forked_children_load_what_is_kept(ran, kept, stock):
    program = (
        "import os, onnxruntime, sys\n"
        f"text = {PROGRAM!r}\n"
        "for _ in range(2):\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        exec(text); sys.stdout.flush(); os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
    )
    done = ran(program)
    assert done.out.split() == [stock.strip()] * 2, done.err
