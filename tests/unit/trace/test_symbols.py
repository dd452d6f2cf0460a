from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.launch.perfdata import MapRecord, parse_maps
from coldsoak.launch.symbols import AddressSpace, Elf, Kernel, elf, library_name, short


def mapping(start: int, end: int, name: str, offset: int = 0) -> MapRecord:
    return MapRecord(0, 1, 1, start, end, offset, executable=True, name=name)


def own_place(address: int) -> tuple[str, int]:
    space = AddressSpace()
    space.extend(parse_maps(Path("/proc/self/maps").read_text(encoding="utf-8"), 1, 0))
    return space.place(address)


def test_the_address_of_a_real_function_gives_its_name():
    function = ctypes.cast(ctypes.pythonapi.PyList_New, ctypes.c_void_p).value
    path, offset = own_place(function)
    assert Elf(path).name(offset) == "PyList_New"
    assert Elf(path).name(offset + 1) == "PyList_New"


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_stripped_library_names_exported_functions_only_as_far_as_they_reach(tmp_path):
    source = tmp_path / "x.c"
    source.write_text(
        "__attribute__((noinline)) static int hidden(int x) { volatile int y = x; return y * 3; }\n"
        "int shown(int x) { return hidden(x) + 1; }\n"
        "int pointer(void) { return (int)(long)&hidden; }\n"
    )
    library = tmp_path / "libx.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    full = Elf(str(library))
    where = {name: offset for offset in range(0x3000) if (name := full.name(offset))}
    assert {"hidden", "shown"} <= set(where)
    stripped = tmp_path / "libs.so"
    subprocess.run(["strip", "-o", stripped, library], check=True)
    assert Elf(str(stripped)).name(where["shown"]) == "shown"
    assert Elf(str(stripped)).name(where["hidden"]) == ""


def test_a_file_that_is_no_elf_has_no_symbols(tmp_path):
    for content in (b"", b"\x7fELF", b"#!/bin/sh\n" * 100, b"\x7fELF\x02\x01" + b"\xff" * 200):
        path = tmp_path / "f"
        path.write_bytes(content)
        assert Elf(str(path)).name(10) == ""


def test_a_file_is_read_again_when_it_changed(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"one")
    first = elf(str(path))
    assert elf(str(path)) is first
    path.write_bytes(b"other")
    assert elf(str(path)) is not first
    path.unlink()
    assert elf(str(path)) is None


def test_a_fork_keeps_its_own_mappings():
    parent = AddressSpace()
    parent.add(mapping(0x1000, 0x2000, "/a"))
    child = parent.copy()
    parent.add(mapping(0x1000, 0x2000, "/b", 0x40))
    assert child.place(0x1800) == ("/a", 0x800)
    assert parent.place(0x1800) == ("/b", 0x840)


def test_memory_that_cannot_be_executed_is_no_code():
    space = AddressSpace()
    space.add(mapping(0x1000, 0x2000, "//anon")._replace(executable=False))
    assert space.place(0x1800) == ("[unmapped]", 0)


def test_a_mapping_in_the_middle_splits_the_old_one():
    space = AddressSpace()
    space.add(mapping(0x1000, 0x5000, "/a"))
    space.add(mapping(0x2000, 0x3000, "//anon"))
    assert space.place(0x1FFF) == ("/a", 0xFFF)
    assert space.place(0x2000) == ("[jit]", 0)
    assert space.place(0x3000) == ("/a", 0x2000)
    assert space.place(0x5000) == ("[unmapped]", 0)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20), st.sampled_from("abc")), max_size=25)
)
def test_the_last_mapping_of_an_address_counts(maps):
    space, truth = AddressSpace(), {}
    for start, size, name in maps:
        space.add(mapping(start, start + size, "/" + name))
        truth.update(
            {address: ("/" + name, address - start) for address in range(start, start + size)}
        )
    for address in range(85):
        assert space.place(address) == truth.get(address, ("[unmapped]", 0))


def test_kernel_symbols_know_their_module():
    kernel = Kernel(
        "ffffffff81000000 T _stext\n"
        "ffffffff81000100 t futex_wait\n"
        "ffffffff81000180 d data\n"
        "ffffffffc0000000 t nv_ioctl\t[nvidia]\n"
        "0000000000000000 T hidden\n"
    )
    assert kernel.resolve(0xFFFFFFFF81000190) == ("[kernel]", "futex_wait")
    assert kernel.resolve(0xFFFFFFFFC0000010) == ("[nvidia]", "nv_ioctl")
    assert kernel.resolve(0xFFFFFFFF80000000) == ("[kernel]", "")
    assert Kernel("").resolve(0xFFFFFFFF81000190) == ("[kernel]", "")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/lib/libc.so.6", "libc.so.6"),
        ("/tmp/x.so (deleted)", "x.so"),
        ("//anon", "[jit]"),
        ("/memfd:jit (deleted)", "[jit]"),
        ("[heap]", "[jit]"),
        ("[vdso]", "[vdso]"),
    ],
)
def test_library_names(path, name):
    assert library_name(path) == name


@pytest.mark.parametrize(
    ("symbol", "readable"),
    [
        ("PyList_New", "PyList_New"),
        ("_ZN5Xbyak13CodeGenerator4evexEi", "Xbyak::CodeGenerator::evex"),
        ("_ZNSt6vectorIiE9push_backEi", "std::vector"),
        ("_ZNK4llvm5Twine3strEv", "llvm::Twine::str"),
        ("_ZZN4dnnl4impl3cpuENKUliE", "dnnl::impl::cpu"),
        ("_Z18ggc_internal_allocmPFvPvEmm", "ggc_internal_alloc"),
        ("_Z", "_Z"),
    ],
)
def test_short_names(symbol, readable):
    assert short(symbol) == readable


def test_reading_symbols_imports_numpy_only_when_asked():
    code = "import sys, coldsoak.launch.symbols; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
