"""The stage that imports without collections: what the program sees of it, which is nothing."""

import pytest

NEVER = 2**31 - 1
SHOW = "import gc; print(gc.isenabled(), gc.get_threshold())"


@pytest.fixture
def package(tmp_path):
    """Write a module into the program's folder."""

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)

    return write


def test_no_collection_runs_while_the_package_is_imported(preheated, package):
    package("heavy", "import gc\nseen = gc.get_threshold()[0]\nkept = [[] for _ in range(10**5)]\n")
    program = f"{SHOW}\nimport heavy\nprint(heavy.seen, gc.get_freeze_count() > 10**5)\n{SHOW}"
    ran = preheated(program, "gc heavy")
    before, inside, after = ran.out.splitlines()
    assert inside == f"{NEVER} True"
    assert before == after
    assert ran.stages["gc"] == ("done", "heavy")


def test_the_hook_takes_itself_out_when_all_is_imported(preheated, package):
    package("heavy", "")
    program = (
        "import _frozen_importlib as f\n"
        "print(f._find_and_load.__name__)\n"
        "import heavy\n"
        "print(f._find_and_load.__name__)\n"
    )
    assert preheated(program, "gc heavy").out == "find_and_load\n_find_and_load\n"


def test_an_exception_inside_the_import_restores_the_collector(preheated, package):
    package("broken", "raise ValueError('no luck')\n")
    program = (
        f"{SHOW}\n"
        "for _ in range(2):\n"
        "    try:\n        import broken\n    except ValueError as error:\n        print(error)\n"
        f"{SHOW}\nprint(gc.get_freeze_count())"
    )
    stock = preheated(program)
    ran = preheated(program, "gc broken")
    assert ran.out == stock.out
    assert ran.out.count("no luck") == 2
    assert ran.stages["gc"][0] == "running"


def test_a_package_that_is_missing_looks_as_without_the_hook(preheated):
    program = "import not_there_at_all"
    stock = preheated(program)
    assert "find_and_load" not in stock.err
    assert preheated(program, "gc not_there_at_all").err == stock.err


def test_nested_imports_end_with_the_outermost(preheated, package):
    package("inner", "import gc\nseen = gc.get_threshold()[0]\n")
    package("outer", "import gc, inner\nseen = gc.get_threshold()[0]\n")
    program = f"{SHOW}\nimport outer, inner\nprint(inner.seen, outer.seen)\n{SHOW}"
    ran = preheated(program, "gc outer", "gc inner")
    before, inside, after = ran.out.splitlines()
    assert inside == f"{NEVER} {NEVER}"
    assert before == after


def test_a_package_that_is_imported_again_is_left_alone(preheated, package):
    package("heavy", "import gc\nprint(gc.get_threshold()[0] > 10**6)\n")
    program = "import sys, heavy\ndel sys.modules['heavy']\nimport heavy\nimport heavy"
    assert preheated(program, "gc heavy", "gc other").out == "True\nFalse\n"


def test_threads_that_import_at_once(preheated, package):
    for name in ("one", "two", "three"):
        package(name, "import time\ntime.sleep(0.05)\n")
    program = (
        f"{SHOW}\n"
        "import threading\n"
        "threads = [threading.Thread(target=__import__, args=[n]) for n in "
        "('one', 'two', 'three', 'one')]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        f"{SHOW}"
    )
    before, after = preheated(program, "gc one", "gc two", "gc three").out.splitlines()
    assert before == after


@pytest.mark.parametrize(
    "wish", ["gc.disable()", "gc.set_threshold(0)", "gc.set_threshold(50, 4, 3)", "gc.enable()"]
)
@pytest.mark.parametrize("where", ["before", "inside"])
def test_what_the_program_sets_itself_stays(preheated, package, wish, where):
    before, inside = (wish, "") if where == "before" else ("", wish)
    package("heavy", f"import gc\n{inside}\n")
    program = f"import gc\n{before}\nimport heavy\n{SHOW}"
    ran = preheated(program, "gc heavy")
    stock = preheated(program)
    assert ran.out == stock.out


def test_garbage_of_a_program_is_collected_afterwards(preheated, package):
    package("heavy", "")
    program = (
        "import heavy, gc, weakref\n"
        "class Node: pass\n"
        "node = Node(); node.self = node; seen = weakref.ref(node)\n"
        "del node; gc.collect(); print(seen())\n"
    )
    assert preheated(program, "gc heavy").out == "None\n"
