"""From a trace to what was compiled again and who had the driver compile."""

from coldsoak.findings.repeats import explained, jit_callers, modules, repeats, shared_misses
from coldsoak.model.result import Execution, Launch
from coldsoak.model.trace import Frames, Samples, Spans, Trace, Track, pack

LOG = """TRACING CACHE MISS at a.py:4 (<module>):
  never seen function:
    step id=1 defined at a.py:2
TRACING CACHE MISS at a.py:5:11 (<module>):
  for step defined at a.py:2
  all previously seen cache keys differ. For the closest previous key:
  different input types:
  * at x, now f32[]{weak_type=False} and before f32[]{weak_type=True}https://docs.jax.dev/x
"""


class Builder:
    def __init__(self):
        self.strings, self.rows = [], []

    def index(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def span(self, source, name, start, end, detail, *, track=0):
        texts = (self.index(source), self.index(name))
        self.rows.append((start, end, track, *texts, self.index(detail) if detail else -1, 0))

    def spans(self):
        names = ("start", "end", "track", "source", "name", "detail", "correlation")
        return Spans(
            **{n: pack(c) for n, c in zip(names, zip(*self.rows, strict=True), strict=True)}
        )

    def trace(self, **more):
        tracks = (Track(pid=1, tid=1), Track(pid=2, tid=2))
        return Trace(launch=0, arm="a", strings=tuple(self.strings), tracks=tracks,
                     spans=self.spans(), **more)  # fmt: skip


def test_the_same_function_traced_twice_in_one_process():
    b = Builder()
    b.span("jax", "trace", 0, 10, "fun_name=step")
    b.span("jax", "trace", 20, 50, "fun_name=step")
    b.span("jax", "trace", 60, 70, "fun_name=other")
    b.span("jax", "trace", 80, 90, "fun_name=other", track=1)
    b.span("jax", "lower", 91, 92, "fun_name=step")
    (one,) = repeats(b.trace())
    assert (one.function, one.count, one.ns, one.starts) == ("step", 2, 30, (20,))


def test_frameworks_name_their_functions_differently():
    b = Builder()
    for start in (0, 100):
        b.span("tensorflow", "trace", start, start + 9, f"fn_name=f, retrace={start // 100}")
        b.span("torch", "dynamo", start + 10, start + 19, "compile_id=0/0, co_name=g")
    assert {(one.source, one.function) for one in repeats(b.trace())} == {
        ("tensorflow", "f"),
        ("torch", "g"),
    }


def test_a_trace_without_spans_has_no_repeats():
    assert repeats(Trace(launch=0, arm="a")) == ()
    assert jit_callers(Trace(launch=0, arm="a")) == {}


def test_the_caller_is_the_first_library_beyond_the_driver():
    b = Builder()
    b.span("cuda.jit", "COMPILE", 100, 200, "PTX_TO_CUBIN 9 bytes")
    b.span("cuda.jit", "CACHE_LOAD", 300, 400, "PTX_TO_CUBIN 9 bytes")
    libraries = ["/x/libnvidia-ptxjitcompiler.so.1", "/x/libcuda.so.1", "/y/libmine.so"]
    at = [b.index(name) for name in libraries]
    frames = Frames(library=pack(at), symbol=pack([-1, -1, -1]), stacks=((0, 1, 2), (0, 1)))
    samples = Samples(
        time=pack([150, 160, 350, 170]), track=pack([0, 0, 0, 1]), stack=pack([0, 1, 0, 0])
    )
    assert jit_callers(b.trace(frames=frames, samples=samples)) == {"libmine.so": 1}


def test_jax_explains_what_differs():
    assert explained(LOG) == (
        "step: at x, now f32[]{weak_type=False} and before f32[]{weak_type=True}",
    )
    assert explained("nothing of the kind\n") == ()


def test_keys_that_several_processes_miss():
    b = Builder()
    for track in (0, 1):
        b.span("jax", "cache_read", track, track + 1, "hit=False, key=jit_f-1", track=track)
        b.span("jax", "cache_read", track, track + 1, "hit=True, key=jit_g-2", track=track)
    b.span("jax", "cache_read", 5, 6, "hit=False, key=jit_h-3")
    b.span("jax", "cache_read", 7, 8, "hit=False, key=jit_h-3")
    assert shared_misses(b.trace()) == {"jit_f-1": 2}


def test_modules_that_the_first_run_imports_are_counted():
    b = Builder()
    for start in (5, 15, 16, 25):
        b.span("import", "m", start, start + 1, "")
    b.span("import", "m", 15, 16, "", track=1)
    b.span("import.exec", "m", 15, 16, "")
    runs = [
        Execution(series="s", run=run, pid=1, thread=1, start_ns=at, end_ns=at + 10, seconds=0.0)
        for run, at in enumerate((10, 20))
    ]
    launch = Launch(index=0, round=1, arm="a", kind="traced", executions=tuple(runs))
    assert modules(b.trace(), launch) == {"s": 2}
