"""Causes in Python and in the process."""

from __future__ import annotations

from coldsoak.ledger.pages.page import Page
from coldsoak.model.causes import Cause

__all__ = ["PAGES"]

PAGES = (
    Page(
        cause=Cause.INTERPRETER_START,
        title="the interpreter starts",
        what="From the spawn of the process to the first line of Python: the kernel maps the executable, "
        "the loader links it, the interpreter sets itself up and runs `site` with every `.pth` file. "
        "Some 10 to 60 ms on a common machine.",
        scales="nothing in the program; a little with the number of packages that install `.pth` files.",
        evidence="the time between the spawn and the agent's first line. The agent's own start is taken out.",
        remedies=(
            ("", "Fork prepared processes instead of starting new ones: `coldsoak serve-warm`."),
            ("", "Look for `.pth` files that import packages: `python -X importtime -c pass`."),
        ),
    ),
    Page(
        cause=Cause.IMPORT_PYTHON,
        title="modules are found, read and executed",
        what="`import` runs the module's top level, and that of all modules that it imports. Big frameworks "
        "execute thousands of modules. Frameworks also import lazily, so part of it can hide inside "
        "the first call: `torch.compile` alone brings in well over a thousand modules.",
        scales="the number of modules; it is paid again by every process, rank and data-loader worker.",
        evidence="import spans, less what nests in them: compiling, loading libraries, collecting garbage, driver calls.",
        remedies=(
            ("py.import_trim", "import only what the run needs, late imports for the rest."),
            (
                "",
                "Fork from a process that has already imported: `coldsoak serve-warm`.",
            ),
            (
                "cuda.context_overlap",
                "does not shorten the import, but hides the GPU's start under it.",
            ),
        ),
        traps="moving an import later moves the time into the first call; it does not remove it.",
    ),
    Page(
        cause=Cause.IMPORT_BYTECODE_COMPILE,
        title="source is compiled because no bytecode is cached",
        what="A module without a usable `.pyc` is parsed and compiled in each process anew. Two things cause it "
        "most often: `PYTHONDONTWRITEBYTECODE=1` in an image, and packages installed with their bytecode left out. "
        "A framework can lose seconds per process to it.",
        scales="lines of source imported; constant per process until the bytecode is kept.",
        evidence="compile spans inside imports, or host samples in the parser and the compiler of the interpreter.",
        remedies=(
            (
                "py.pyc",
                "write the bytecode once: `python -m compileall`, or a `PYTHONPYCACHEPREFIX` that is kept.",
            ),
            (
                "",
                "Install with `uv pip install --compile-bytecode`, and unset `PYTHONDONTWRITEBYTECODE`.",
            ),
        ),
        traps="bytecode of another minor version of Python is ignored without a word.",
    ),
    Page(
        cause=Cause.PYTHON_GC,
        title="Python's garbage collector runs",
        what="Imports and tracing make many long-lived objects, and the collector examines them again and again "
        "though nothing can be freed. A tenth of a framework's import time is common.",
        scales="the number of live objects times the number of collections.",
        evidence="the collector's own callbacks on this thread, or samples in its functions.",
        remedies=(
            ("", "`gc.disable()` before the imports, `gc.freeze()` and `gc.enable()` after them."),
            ("", "Raise the first threshold during start-up: `gc.set_threshold(50_000, 20, 100)`."),
        ),
        traps="a program that makes cyclic garbage while the collector is off grows until it is on again.",
    ),
    Page(
        cause=Cause.LIBRARY_LOAD,
        title="shared libraries are loaded and linked",
        what="`dlopen` maps a library, loads what it depends on, applies relocations, looks up symbols, and runs "
        "static constructors, in which frameworks register their operations. It holds a global lock meanwhile.",
        scales="relocations, symbols and constructors of the libraries; constant per process.",
        evidence="the import of an extension module, or samples in the loader.",
        remedies=(
            ("py.import_trim", "do not import what pulls the library in."),
            ("", "Libraries built with packed relative relocations link faster."),
            ("", "Fork from a process that has loaded them: `coldsoak serve-warm`."),
        ),
        traps="loading on a second thread gains little: the loader's lock lets one through at a time.",
    ),
    Page(
        cause=Cause.PAGE_IN,
        title="files are read from the disk",
        what="The file is not in the page cache: the process sleeps until the storage delivers. It is why the first start after "
        "a boot or an image pull is slow, and the next is fast even in another container. Model "
        "weights that are memory-mapped pay here too, inside the first use.",
        scales="bytes touched over the speed of the storage; lazily pulled images and network disks multiply it.",
        evidence="sleeping in the kernel's block layer or in a page fault with I/O, major faults, "
        "or time off the CPU in a span that does nothing but read files.",
        remedies=(
            (
                "os.readahead_recorded",
                "read ahead exactly the ranges that the recorded run touched.",
            ),
            ("", "Keep the files in memory on a long-lived host."),
            ("", "Check whether the image or the volume delivers its blocks lazily."),
            ("", "Load weights with large sequential reads instead of page by page."),
        ),
        traps="reading whole libraries ahead can cost more than it saves: a framework touches a few per cent of its files.",
    ),
    Page(
        cause=Cause.PAGE_FAULT,
        title="memory is touched for the first time",
        what="A fresh page must be found, cleared and mapped when it is first written. The first run pays for its "
        "buffers, later runs reuse them. On a virtual machine a page that the host has never "
        "backed costs several times more. The second run may still fault: the allocator gives large blocks "
        "back until it has learnt their size.",
        scales="bytes touched, about 0.1 to 0.5 ms per MB with 4 KiB pages.",
        evidence="host samples in the fault path of the kernel that are not part of loading or compiling. "
        "Counts of faults are shown, but never multiplied into times.",
        remedies=(
            (
                "",
                "Reuse buffers, or touch them before the clock starts (`np.full`, not `np.empty`).",
            ),
            (
                "",
                "`MALLOC_MMAP_THRESHOLD_` and `MALLOC_TRIM_THRESHOLD_` keep large blocks in the process.",
            ),
            ("", "Transparent huge pages make fewer, larger faults."),
        ),
        traps="huge pages help big sequential buffers and can hurt many small threads.",
    ),
    Page(
        cause=Cause.THREAD_START,
        title="threads are created",
        what="Thread pools start their threads when the first parallel region runs. Libraries with pools of their own "
        "(OpenMP, MKL, Eigen, a framework's) each do it, and switching between sizes can repeat it for ever.",
        scales="threads, pools, and cores.",
        evidence="samples in thread creation, in the C library or the kernel, and short waits for a thread "
        "that was just started to come up.",
        remedies=(
            (
                "threads.usable_cores",
                "one pool, no larger than the cores that the process may use.",
            ),
            ("", "Set `OMP_NUM_THREADS` to the container's quota and not to the host's cores."),
        ),
    ),
    Page(
        cause=Cause.CHILD_PROCESS,
        title="the thread waits for a child process",
        what="Compilers, linkers, probes and tools run as children: `g++`, `ptxas`, `nvcc`, `ldconfig`, `python -c`. "
        "Inductor checks the vector instructions of the CPU this way and can spend longer there than on the program.",
        scales="the number of children; each new Python among them pays for its own start and imports.",
        evidence="a wait that ends with the child's exit, or the thread idle while a busy child lives. The child's command is the item.",
        remedies=(
            ("torch.isa_replay", "answer the vector probes of Inductor from a record."),
            ("torch.vec_isa_ok", "leave out some of these probes by a variable."),
            ("torch.caches_on_disk", "keep the compile caches where the next process finds them."),
            ("torch.static_launcher", "build launchers without calling a C compiler."),
            ("torch.compile_threads", "compile without a pool of worker processes."),
        ),
    ),
    Page(
        cause=Cause.NETWORK_WAIT,
        title="the thread waits for the network",
        what="Model hubs are asked for the newest revision, licences and metrics are sent, hosts are resolved. With an "
        "unreachable host the first run hangs until a time-out.",
        scales="requests times round trips; not with the program's work.",
        evidence="sleeping in the network part of the kernel, or a wait that names a socket.",
        remedies=(
            ("", "`HF_HUB_OFFLINE=1`, or a local path instead of a name."),
            ("", "Resolve names and download before the process that is timed."),
        ),
        traps="each component has an offline switch of its own.",
    ),
    Page(
        cause=Cause.LOCK_WAIT,
        title="the thread waits or sleeps, and nothing else was seen to work for it",
        what="A lock, a queue, a future, a timer, a file lock that a killed build has left behind. What could be followed "
        "(to a kernel, a compiler thread, a child, a disk) is booked there; the rest is here.",
        scales="whatever the wait is for.",
        evidence="off the CPU and not runnable, by the context switches of the kernel; the item tells the kind.",
        remedies=(
            (
                "",
                "Look at the item: a sleep is the program's own, a lock file may be stale (`TORCH_EXTENSIONS_DIR`).",
            ),
        ),
    ),
    Page(
        cause=Cause.RUN_QUEUE,
        title="the thread could run, but the CPU was taken",
        what="Other processes, other threads of this program, or a CPU quota kept a thread from running. This is no property "
        "of the first run: it spoils the measurement. One busy neighbour on two cores made a 7 ms first run take 33 ms.",
        scales="the load on the machine.",
        evidence="context switches that left the thread runnable.",
        remedies=(
            ("", "Measure on an idle machine; coldsoak marks launches that were disturbed."),
            (
                "threads.usable_cores",
                "no more threads than usable cores, so that the program does not disturb itself.",
            ),
        ),
    ),
    Page(
        cause=Cause.PROCESS_EXIT,
        title="the process shuts down",
        what="After the last line of the program: atexit hooks, destructors, worker pools that are waited for, device memory "
        "that is given back, mappings that are undone. It is part of the launch and not of the first result.",
        scales="memory held, pools alive.",
        evidence="from the end of the main program to the end of the process.",
        remedies=(
            ("", "`os._exit(0)` after flushing, where nothing must be cleaned up."),
            ("", "Shut worker pools down yourself while the last result is being used."),
        ),
    ),
)
