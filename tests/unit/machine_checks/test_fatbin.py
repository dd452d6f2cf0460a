"""Device code in ELF files that are made here, header by header."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldsoak.machine.checks import architectures
from coldsoak.machine.checks.fatbin import DeviceCode, _listed, device_code


def entry(kind, arch, body=b"x" * 40, header=64):
    head = struct.pack("<HHIQIIHHI", kind, 0x101, header, len(body), 0, 0, 0, 0, arch)
    return head.ljust(header, b"\0") + body


def container(*entries):
    payload = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(payload)) + payload


def elf(sections):
    """Return a 64-bit ELF file with the named sections and a table of their names."""
    names = b"\0" + b"".join(name + b"\0" for name in sections) + b".shstrtab\0"
    body, rows = b"", [(0, 0, 0, 0, 0, 0)]
    for name, content in sections.items():
        rows.append((names.index(name + b"\0"), 1, 0, 0, 64 + len(body), len(content)))
        body += content
    rows.append((names.index(b".shstrtab"), 3, 0, 0, 64 + len(body), len(names)))
    body += names
    table = b"".join(struct.pack("<IIQQQQ", *row).ljust(64, b"\0") for row in rows)
    head = b"\x7fELF\x02\x01".ljust(40, b"\0") + struct.pack("<Q", 64 + len(body))
    head = head.ljust(58, b"\0") + struct.pack("<HHH", 64, len(rows), len(rows) - 1)
    return head + body + table


@pytest.fixture
def library(tmp_path):
    def make(**sections):
        file = tmp_path / "lib.so"
        file.write_bytes(elf({name.encode(): content for name, content in sections.items()}))
        return str(file)

    return make


def test_architectures_of_all_containers_are_found(library):
    fat = container(entry(2, 80), entry(2, 90)) + b"\0" * 8 + container(entry(1, 90))
    found = device_code(library(**{".text": b"code", ".nv_fatbin": fat}))
    assert (found.machine, found.ptx) == ({80, 90}, {90})
    assert found.complete
    assert found.size == len(fat)


def test_relocatable_device_code_counts_too(library):
    found = device_code(library(__nv_relfatbin=container(entry(2, 120))))
    assert found.machine == {120}


def test_a_library_without_device_code_is_none(library, tmp_path):
    assert device_code(library(**{".text": b"code"})) is None
    text = tmp_path / "script.so"
    text.write_text("INPUT(libc.so.6)")
    assert device_code(str(text)) is None
    assert device_code(str(tmp_path / "absent.so")) is None


def test_a_truncated_file_is_not_trusted(library, tmp_path):
    whole = library(**{".nv_fatbin": container(entry(2, 90))})
    cut = tmp_path / "cut.so"
    cut.write_bytes(Path(whole).read_bytes()[:100])
    assert device_code(str(cut)) is None


def test_headers_that_make_no_sense_are_not_guessed_at(library, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    found = device_code(library(**{".nv_fatbin": container(entry(2, 4_000_000))}))
    assert (found.machine, found.ptx, found.complete) == (set(), set(), False)


@settings(deadline=None, max_examples=300)
@given(place=st.integers(0, 10**4), value=st.binary(min_size=1, max_size=8))
def test_no_header_raises(tmp_path_factory, place, value):
    file = tmp_path_factory.mktemp("elf") / "lib.so"
    data = bytearray(elf({b".nv_fatbin": container(entry(2, 90), entry(1, 80))}))
    at = place % len(data)
    data[at : at + len(value)] = value
    file.write_bytes(data)
    found = device_code(str(file), seconds=0.1)
    assert found is None or found.machine | found.ptx <= set(range(20, 1000))


def test_cuobjdump_lists_are_understood():
    text = (
        "ELF file    1: a.1.sm_80.cubin\nELF file    2: a.2.sm_90a.cubin\nPTX file 1: a.sm_90.ptx\n"
    )
    assert _listed(text, "elf") == {80, 90}
    assert _listed(text, "ptx") == {90}


@pytest.mark.parametrize(
    ("machine", "ptx", "card", "way"),
    [
        ({80, 90}, set(), 90, "machine"),
        ({80}, set(), 86, "machine"),
        ({86}, set(), 80, "none"),
        ({70, 80}, {80}, 90, "ptx"),
        ({120}, {120}, 90, "none"),
    ],
)
def test_how_a_card_would_run_a_library(machine, ptx, card, way):
    code = DeviceCode(file="l", machine=frozenset(machine), ptx=frozenset(ptx))
    assert code.runs_on(card) == way


def test_each_library_that_would_be_compiled_is_named():
    good = DeviceCode(file="/x/libgood.so", machine=frozenset({90}))
    old = DeviceCode(file="/x/libold.so", machine=frozenset({70}), ptx=frozenset({70}))
    check = architectures.Architectures()
    fine = architectures.Code(libraries=(good,), capabilities=(90,))
    assert [one.state for one in check.judge(fine)] == ["ok"]
    mixed = architectures.Code(libraries=(good, old), capabilities=(90,))
    (verdict,) = check.judge(mixed)
    assert verdict.state == "bad"
    assert verdict.what.startswith("libold.so has no machine code for sm_90, only PTX")


def test_without_a_card_the_architectures_are_told():
    code = DeviceCode(file="l", machine=frozenset({80, 90}))
    check = architectures.Architectures()
    (verdict,) = check.judge(architectures.Code(libraries=(code,), capabilities=()))
    assert verdict.state == "unknown"
    assert "sm_80, sm_90" in verdict.what
    assert list(check.judge(architectures.Code(libraries=(), capabilities=(90,)))) == []
