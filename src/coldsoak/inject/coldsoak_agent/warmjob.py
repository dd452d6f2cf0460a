"""A job of the fork server: what it asks for, and how a forked child becomes its program."""

import os
import sys

FROZEN = (
    "PYTHON",
    "LD_",
    "GLIBC_TUNABLES",
    "MALLOC_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "NUMEXPR_",
    "TORCH",
    "PYTORCH_",
    "TF_",
    "XLA_",
    "JAX_",
    "TRITON_",
)
# Beginnings of variables that the interpreter, the loader or a library reads when it starts
FREE = {
    "PYTHONBREAKPOINT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUNBUFFERED",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
}
# Of these, the ones that can be set anew in a job


class Program(object):
    """What is to run: ``kind`` is ``script``, ``module`` or ``text``; ``words`` have all of it."""

    def __init__(self, words, kind, target, arguments, unbuffered, no_bytecode):
        self.words = words
        self.kind = kind
        self.target = target
        self.arguments = arguments
        self.unbuffered = unbuffered
        self.no_bytecode = no_bytecode


class Job(object):
    """One request of a client."""

    def __init__(self, program, folder, umask, environment, fds):
        self.program = program
        self.folder = folder
        self.umask = umask
        self.environment = environment
        self.fds = list(fds)


def parse(words, environment, folder):
    """Read a command line as the interpreter would; raise ValueError for what a fork cannot be."""
    rest = list(words)
    if rest and os.path.basename(rest[0]).startswith("python") and not rest[0].endswith(".py"):
        _check_interpreter(rest.pop(0), environment, folder)
    words, unbuffered, no_bytecode = list(rest), False, False
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        for at, letter in enumerate(word[1:], 2):
            if letter == "u":
                unbuffered = True
            elif letter == "B":
                no_bytecode = True
            elif letter in "cm":
                joined = [word[at:]] if word[at:] else []
                kind = "text" if letter == "c" else "module"
                if not joined + rest:
                    raise ValueError("there is nothing after -%s" % letter)
                target, *arguments = joined + rest
                return Program(words, kind, target, arguments, unbuffered, no_bytecode)
            else:
                raise ValueError(
                    "%s needs a new interpreter; a fork has the options of its server" % word
                )
    if not rest or rest[0] == "-":
        raise ValueError("there is no script; programs from standard input are not taken")
    if not os.path.exists(os.path.join(folder, rest[0])):
        raise ValueError("%s is no Python script here (a tool can be run with -m)" % rest[0])
    return Program(words, "script", rest[0], rest[1:], unbuffered, no_bytecode)


def _check_interpreter(word, environment, folder):
    import shutil

    found = word if "/" in word else shutil.which(word, path=environment.get("PATH", os.defpath))
    if found is None:
        raise ValueError("%s is not on the PATH" % word)
    here, there = os.path.abspath(sys.executable), os.path.abspath(os.path.join(folder, found))
    same_file = os.path.realpath(here) == os.path.realpath(there)
    # The folder decides which virtual environment it is.
    if not same_file or os.path.dirname(here) != os.path.dirname(there):
        raise ValueError("the server is %s and the job asks for %s" % (here, there))


def check_environment(wanted, own):
    """Raise ValueError when a job needs other values of what was read when the server started."""
    names = sorted(
        name
        for name in set(wanted) | set(own)
        if name.startswith(FROZEN) and name not in FREE and wanted.get(name) != own.get(name)
    )
    if names:
        name = names[0]
        raise ValueError(
            "%s was read when the server started, as %s; the job has %s%s"
            % (
                name,
                own.get(name, "(unset)"),
                wanted.get(name, "(unset)"),
                " (also: %s)" % ", ".join(names[1:]) if names[1:] else "",
            )
        )


def become(job):
    """Run the job's program in this forked process, which then ends as an interpreter would."""
    for number, fd in enumerate(job.fds):
        os.dup2(fd, number)
        os.close(fd)
    os.umask(job.umask)
    os.environ.clear()
    os.environ.update(job.environment)
    _settle(job.program)
    try:
        os.chdir(job.folder)
    except OSError as error:
        sys.exit("coldsoak: the folder of the job: %s" % error)
    _reseed()
    _run(job.program)


def _settle(program):
    """Follow the variables and options that can be followed late."""
    import time

    time.tzset()
    if sys.path[:1] == [""]:
        del sys.path[0]  # the server's own folder
    for stream, fd in ((sys.stdin, 0), (sys.stdout, 1)):
        stream.reconfigure(line_buffering=os.isatty(fd))
    if program.unbuffered or os.environ.get("PYTHONUNBUFFERED"):
        _unbuffer()
    sys.dont_write_bytecode = program.no_bytecode or bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX") or None


def _unbuffer():
    import io

    for fd, name in ((1, "stdout"), (2, "stderr")):
        old = getattr(sys, name)
        raw = io.FileIO(fd, "w", closefd=False)
        raw.name = "<%s>" % name
        new = io.TextIOWrapper(raw, old.encoding, old.errors, write_through=True)
        new.mode = "w"
        setattr(sys, name, new)
        setattr(sys, "__%s__" % name, new)


def _reseed():
    """Give the shared generators new states, where a new process would have had one.

    ``random`` does so by itself after a fork; torch's generators for CUDA begin with a fixed seed.
    """
    random = sys.modules.get("random")
    if random is not None:
        random.seed()
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()


def _run(program):
    import builtins
    import types

    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    word = {"script": program.target, "module": "-m", "text": "-c"}[program.kind]
    sys.argv[:] = [word, *program.arguments]
    sys.orig_argv = [sys.executable, *program.words]
    try:
        {"script": _run_script, "module": _run_module, "text": _run_text}[program.kind](
            program.target, main
        )
    except SystemExit:
        raise
    except BaseException as error:
        _report(error)


def _run_script(target, main):
    path = os.path.join(os.getcwd(), target)  # not made shorter, as the interpreter leaves it
    if os.path.isdir(path) or _is_zip(path):
        import runpy

        _lead_path(path)
        runpy._run_module_as_main("__main__", alter_argv=False)
        return
    from importlib.machinery import SourceFileLoader

    _lead_path(os.path.dirname(os.path.realpath(path)))
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write("%s: can't open file %r: %s\n" % (sys.executable, path, error))
        sys.exit(2)
    main.__file__ = path
    main.__cached__ = None
    main.__loader__ = SourceFileLoader("__main__", path)
    exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)  # noqa: S102


def _lead_path(entry):
    """Put the program's folder where the interpreter puts it."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, entry)


def _is_zip(path):
    with open(path, "rb") as file:
        if file.read(2) != b"PK":
            return False
    import zipfile

    return zipfile.is_zipfile(path)


def _run_module(target, main):
    import runpy

    _lead_path(os.getcwd())
    runpy._run_module_as_main(target)


def _run_text(target, main):
    from importlib.machinery import BuiltinImporter

    _lead_path("")
    main.__loader__ = BuiltinImporter
    exec(compile(target, "<string>", "exec", dont_inherit=True), main.__dict__)  # noqa: S102


def _report(error):
    """Show an exception without the frames of this module, and end as the interpreter does."""
    traceback = error.__traceback__
    own = _report.__code__.co_filename
    while traceback is not None and traceback.tb_frame.f_code.co_filename == own:
        traceback = traceback.tb_next
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    if isinstance(error, KeyboardInterrupt):
        sys.excepthook = lambda *shown: None
        raise KeyboardInterrupt  # the interpreter ends by SIGINT then, after its clean-up
    sys.exit(1)
