import io

from coldsoak.launch.logs import Echo, open_log
from coldsoak.launch.tail import ByteTail, LineTail, last_lines


def append(file, data):
    with file.open("ab") as stream:
        stream.write(data)


def test_only_what_is_new(tmp_path):
    file = tmp_path / "log"
    tail = ByteTail(file)
    assert tail.read() == b""
    append(file, b"one")
    assert tail.read() == b"one"
    assert tail.read() == b""
    append(file, b"\x00two")
    assert tail.read() == b"\x00two"


def test_a_letter_in_two_halves(tmp_path):
    file = tmp_path / "log"
    tail = LineTail(file)
    append(file, "ready ü".encode()[:-1])
    assert tail.read() == ["ready "]
    append(file, "ü\nnext".encode()[1:])
    assert tail.read() == ["ready ü", "next"]


def test_last_lines(tmp_path):
    file = tmp_path / "log"
    assert last_lines(file) == ()
    append(file, b"\n".join(b"%d" % n for n in range(100)))
    assert last_lines(file, 2) == ("98", "99")
    append(file, b"\nred \x1b[31m \xff " + b"x" * 900)
    (line,) = last_lines(file, 1)
    assert len(line) == 400
    file.write_bytes(b"\x1b[1;31mred\x1b[0m \xff\x00\x01\xfe\tok \x1b")
    assert last_lines(file) == ("red \ufffd    ok \ufffd",)


def test_echo_survives_a_terminal_that_went_away(tmp_path):
    class Gone(io.RawIOBase):
        def write(self, data):
            raise BrokenPipeError

    file = tmp_path / "log"
    append(file, b"text")
    Echo(file, Gone()).copy()


def test_echo(tmp_path):
    file, out = tmp_path / "log", io.BytesIO()
    echo = Echo(file, out)
    append(file, b"a\xff")
    echo.copy()
    append(file, b"b")
    echo.copy()
    assert out.getvalue() == b"a\xffb"


def test_a_log_is_emptied_and_appended_to(tmp_path):
    import os

    file = tmp_path / "logs" / "000.log"
    for _ in range(2):
        descriptor = open_log(file)
        os.write(descriptor, b"x")
        append(file, b"y")
        os.write(descriptor, b"z")
        os.close(descriptor)
    assert file.read_bytes() == b"xyz"
