import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldsoak.errors import UsageError
from coldsoak.launch import pagecache
from coldsoak.launch.caches import CACHES, redirect
from coldsoak.launch.coldness import Coldness, parse_cold
from coldsoak.launch.environment_files import command_files, python_folders
from coldsoak.launch.pagecache import evict, resident_bytes
from coldsoak.machine.mounts import file_system, mounts

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("process", ("process",)),
        ("cache", ("cache",)),
        ("bytecode,cache", ("cache", "bytecode")),
        ("disk, process", ("disk",)),
        ("cache,cache", ("cache",)),
    ],
)
def test_levels(text, levels):
    assert parse_cold(text) == levels


@pytest.mark.parametrize("text", ["", ",", "warm", "cache,frozen"])
def test_unknown_levels(text):
    with pytest.raises(UsageError) as caught:
        parse_cold(text)
    assert "--cold process" in caught.value.do


def test_each_cache_has_one_variable_and_a_description():
    variables = [cache.variable for cache in CACHES]
    assert len(set(variables)) == len(variables)
    assert all(cache.holds for cache in CACHES)


def test_redirected_caches_are_empty_folders(tmp_path):
    env = redirect(tmp_path, {})
    folders = [Path(env[c.variable]) for c in CACHES if not c.only_if_set]
    assert all(list(folder.iterdir()) == [] for folder in folders)
    assert len(set(folders)) == len(folders)


def test_caches_that_are_off_stay_off(tmp_path):
    assert "JAX_COMPILATION_CACHE_DIR" not in redirect(tmp_path, {})
    env = redirect(tmp_path, {"JAX_COMPILATION_CACHE_DIR": "/mine"})
    assert env["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "jax")


def test_a_cache_inside_flags(tmp_path):
    flags = "--tf_xla_auto_jit=2 --tf_xla_persistent_cache_directory=/mine --other=1"
    env = redirect(tmp_path, {"TF_XLA_FLAGS": flags})
    folder = tmp_path / "tensorflow-xla"
    assert folder.is_dir()
    assert env["TF_XLA_FLAGS"] == flags.replace("/mine", str(folder))
    assert "TF_XLA_FLAGS" not in redirect(tmp_path, {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2"})


def test_settings_of_matplotlib_stay_in_force(tmp_path):
    settings = tmp_path / ".config" / "matplotlib" / "matplotlibrc"
    settings.parent.mkdir(parents=True)
    settings.touch()
    assert redirect(tmp_path / "a", {"HOME": str(tmp_path)})["MATPLOTLIBRC"] == str(settings)
    assert "MATPLOTLIBRC" not in redirect(tmp_path / "b", {"HOME": "/nowhere"})


def test_the_process_level_changes_nothing():
    with Coldness(("process",)).prepared("/bin/true", ("true",), "", {}) as state:
        assert state.env == {}
        assert state.notes == ()


def test_folders_go_away_even_after_an_error():
    seen = []

    def fail():
        with Coldness(("cache",)).prepared("/bin/true", ("true",), "", {}) as state:
            seen.append(Path(state.env["CUDA_CACHE_PATH"]))
            assert seen[0].is_dir()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not seen[0].parent.exists()


@pytest.fixture
def big_file(tmp_path):
    if file_system(str(tmp_path), mounts()) in {"tmpfs", "ramfs", "overlay"}:
        pytest.skip("the temporary folder is in memory")
    file = tmp_path / "big"
    file.write_bytes(os.urandom(4 * MIB))
    return str(file)


def test_evicted_and_proved(big_file):
    assert resident_bytes(big_file) == (4 * MIB, 4 * MIB)
    found = evict([big_file, big_file])
    assert (found.files, found.total, found.before) == (1, 4 * MIB, 4 * MIB)
    assert found.after == resident_bytes(big_file)[0]
    assert found.share <= 0.05
    assert "4.0 MiB were in memory before" in found.text()


def test_a_file_in_use_is_refused_with_its_holder(big_file):
    with (
        Path(big_file).open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view,
    ):
        assert sum(view[:: mmap.PAGESIZE]) >= 0
        with pytest.raises(UsageError, match="cannot be made") as caught:
            evict([big_file])
    assert "mapped by coldsoak itself" in caught.value.why
    assert "--cold cache" in caught.value.do


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no memory file system here")
def test_a_file_in_memory_is_refused():
    file = Path("/dev/shm") / f"coldsoak-test-{os.getpid()}"
    file.write_bytes(bytes(MIB))
    try:
        with pytest.raises(UsageError) as caught:
            evict([str(file)])
        assert "tmpfs" in caught.value.why
    finally:
        file.unlink()


def test_files_of_another_user_cannot_be_proved(big_file, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not pagecache._hidden(big_file)
    monkeypatch.setattr(os, "access", lambda file, mode: False)
    assert pagecache._hidden(big_file)
    assert "another user" in pagecache._reason(big_file)


def test_files_that_are_gone_or_empty(tmp_path):
    (tmp_path / "empty").touch()
    found = evict([str(tmp_path / "empty"), str(tmp_path / "gone"), str(tmp_path)])
    assert (found.files, found.total, found.share) == (0, 0, 0.0)


def test_hard_links_count_once(big_file, tmp_path):
    os.link(big_file, tmp_path / "same")
    assert evict([big_file, str(tmp_path / "same")]).files == 1


def test_files_of_a_python_command(tmp_path):
    script = tmp_path / "train.py"
    script.touch()
    (tmp_path / "data.txt").touch()
    files = command_files(sys.executable, ("python", "train.py"), str(tmp_path), dict(os.environ))
    assert {str(script), str(tmp_path / "data.txt")} <= files
    assert json_file() in files
    assert os.path.realpath(sys.executable) in files
    assert any("libc" in Path(name).name for name in files)


def json_file():
    code = "import json; print(json.__file__)"
    return subprocess.check_output([sys.executable, "-c", code], text=True).strip()


def test_files_of_another_command():
    files = command_files("/bin/sh", ("sh",), "", {})
    assert files == {os.path.realpath("/bin/sh")}


def test_an_interpreter_that_does_not_answer(tmp_path):
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(UsageError, match="does not tell"):
        python_folders(str(fake), {})


def test_what_a_launch_mapped_is_learned(big_file):
    coldness = Coldness(("disk",))
    coldness.learn(("tool",), {big_file})
    before = resident_bytes(big_file)[0]
    with coldness.prepared("/nonexistent", ("tool",), "", {}) as state:
        assert state.notes[0].code == "evicted"
    assert before == 4 * MIB
    assert resident_bytes(big_file)[0] <= 0.05 * 4 * MIB
