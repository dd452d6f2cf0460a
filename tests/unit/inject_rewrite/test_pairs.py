"""Which readings form regions: each program says so in its own comments.

``#S1`` marks the line that reads the start of pair 1, ``#E1`` the line that reads its end; a
number after ``x`` says how often the pair occurs (once if left out).
"""

import re
from collections import Counter

import pytest

PROGRAMS = {
    "statement": """
import time
start = time.time()                #S1
end = time.time()                  #E1
print(end - start)
""",
    "direct subtraction": """
import time
start = time.time()                #S1
print(time.time() - start)         #E1
""",
    "formatted string": """
import time
start = time.time()                #S1
text = f"took {1000 * (time.time() - start):.2f} ms"   #E1
assert text.startswith("took 0.") and text.endswith(" ms")
""",
    "format method": """
from time import perf_counter
t0 = perf_counter()                #S1
"{:.3f}".format(perf_counter() - t0)   #E1
""",
    "import as": """
from time import time as T, perf_counter as pc
a = T()                            #S1
b = pc()                           #S2
c = pc() - b                       #E2
d = T() - a                        #E1
""",
    "module under another name": """
import time as clocks
a = clocks.monotonic()             #S1
b = clocks.monotonic() - a         #E1
""",
    "assigned clock": """
import time
pc = time.perf_counter
t = pc()                           #S1
dt = pc() - t                      #E1
""",
    "clock from getattr": """
import time
pc = getattr(time, "perf_counter")
t = pc()                           #S1
dt = pc() - t                      #E1
""",
    "dictionary of clocks": """
import time
CLOCKS = {"wall": time.time, "cpu": time.process_time}
t = CLOCKS["wall"]()               #S1
dt = CLOCKS["wall"]() - t          #E1
""",
    "clock as a default argument": """
import time
def measure(work, timer=time.perf_counter):
    before = timer()               #S1 x2
    work()
    return timer() - before        #E1
measure(int)
measure(int, time.process_time)
""",
    "clock as an argument": """
import time
def measure(ticks):
    before = ticks()               #S1
    return ticks() - before        #E1
measure(time.perf_counter)
""",
    "clock in an attribute": """
import time
class Bench:
    def __init__(self):
        self.tick = time.perf_counter
    def go(self):
        t = self.tick()            #S1
        return self.tick() - t     #E1
Bench().go()
""",
    "every clock": """
import time, timeit
for clock in [time.time, time.monotonic, time.perf_counter, time.process_time, time.thread_time,
              timeit.default_timer]:
    t = clock()                    #S1 x6
    for _ in range(1000): pass
    dt = clock() - t               #E1
""",
    "nanoseconds": """
import time
a = time.perf_counter_ns()         #S1
b = time.time_ns()                 #S2
c = time.process_time_ns()         #S3
d = time.perf_counter_ns() - a     #E1
e = time.time_ns() - b             #E2
f = (time.process_time_ns() - c) / 1e9   #E3
assert type(d) is type(e) is int
""",
    "clock_gettime": """
import time
a = time.clock_gettime(time.CLOCK_MONOTONIC)        #S1
b = time.clock_gettime(time.CLOCK_MONOTONIC) - a    #E1
""",
    "default_timer": """
from timeit import default_timer as timer
start = timer()                    #S1
elapsed = timer() - start          #E1
""",
    "datetime": """
from datetime import datetime, timedelta
start_time = datetime.now()        #S1
elapsed_time = datetime.now() - start_time   #E1
assert type(elapsed_time) is timedelta and type(start_time) is datetime
""",
    "datetime of the module, utc and with a zone": """
import datetime, time
a = datetime.datetime.now(datetime.timezone.utc)          #S1
b = datetime.datetime.now(tz=datetime.timezone.utc)       #S2
time.sleep(0.001)
c = (datetime.datetime.now(datetime.timezone.utc) - a).total_seconds()     #E1
d = (datetime.datetime.now(tz=datetime.timezone.utc) - b).total_seconds()  #E2
""",
    "subclass of datetime": """
import datetime, time
class Stamp(datetime.datetime):
    pass
a = Stamp.now()                    #S1
time.sleep(0.001)
b = Stamp.now() - a                #E1
assert type(a) is Stamp
""",
    "chain": """
import time
t0 = time.perf_counter()           #S1 #S3
t1 = time.perf_counter()           #E1 #S2
t2 = time.perf_counter()           #E2 #E3
print(t1 - t0, t2 - t1, t2 - t0)
""",
    "the same pair twice": """
import time
t0 = time.perf_counter()           #S1
t1 = time.perf_counter()           #E1
print(t1 - t0)
print("again", t1 - t0)
""",
    "start minus end": """
import time
t0 = time.perf_counter()           #S1
t1 = time.perf_counter()           #E1
print(abs(t0 - t1))
""",
    "walrus": """
import time
if (t0 := time.perf_counter()) and (    #S1
    (t1 := time.perf_counter()) - t0    #E1
) >= 0:
    pass
""",
    "list of stamps": """
import time
stamps = []
for _ in range(4):
    stamps.append(time.perf_counter())   #S1 #E1 x3
laps = [b - a for a, b in zip(stamps, stamps[1:])]
assert len(laps) == 3
""",
    "indexed stamps": """
import time
stamps = [0.0] * 3
for i in range(3):
    stamps[i] = time.perf_counter()      #S1 #E1 x2
print(stamps[1] - stamps[0], stamps[2] - stamps[1])
""",
    "dictionary of stamps": """
import time
stamps = {}
stamps["load"] = time.time()       #S1
stamps["done"] = time.perf_counter()
t = stamps["load"]
print(time.time() - t)             #E1
""",
    "tuple": """
import time
a, b = time.time(), time.process_time()      #S1 #S2
x, y = time.time() - a, time.process_time() - b   #E1 #E2
""",
    "in a function": """
import time
def f():
    t = time.time()                #S1 x3
    return time.time() - t         #E1
f(); f(); f()
""",
    "helper that subtracts": """
import time
def since(begin):
    return time.time() - begin     #E1
t = time.time()                    #S1
since(t)
""",
    "helper that reads": """
import time
def now():
    return time.perf_counter()     #S1 #E1
t = now()
print(now() - t)
""",
    "difference helper": """
import time
def difference(a, b):
    return b - a
x = time.time()                    #S1
y = time.time()                    #E1
difference(x, y)
""",
    "lambda": """
import time
tick = lambda: time.perf_counter() #S1 #E1
t = tick()
print(tick() - t)
""",
    "method and attribute": """
import time
class Timer:
    def start(self):
        self.begin = time.perf_counter()      #S1
    def stop(self):
        self.elapsed = time.perf_counter() - self.begin   #E1
        return self.elapsed
t = Timer()
t.start()
t.stop()
""",
    "private names": """
import time
class Timer:
    def __init__(self):
        self.__begin = time.perf_counter()    #S1
    def __stop(self):
        __now = time.perf_counter()           #E1
        return __now - self.__begin
    def stop(self):
        return self.__stop()
Timer().stop()
""",
    "context manager class": """
import time
class Timer:
    def __enter__(self):
        self.t0 = time.perf_counter()         #S1
        return self
    def __exit__(self, *error):
        self.t1 = time.perf_counter()         #E1
        self.seconds = self.t1 - self.t0
with Timer() as t:
    pass
assert t.seconds > 0
""",
    "context manager generator": """
import time
from contextlib import contextmanager
@contextmanager
def timed(name):
    begin = time.perf_counter()    #S1 x2
    try:
        yield
    finally:
        print(name, time.perf_counter() - begin)   #E1
with timed("a"):
    pass
with timed("b"):
    pass
""",
    "decorator": """
import functools, time
def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()          #S1 x2
        try:
            return function(*args, **kwargs)
        finally:
            print(time.perf_counter() - start)   #E1
    return wrapper
@timed
def work(n):
    "Work."
    return n
assert work(1) == 1 and work(2) == 2 and work.__doc__ == "Work."
""",
    "closure kept in an attribute": """
import time
class Task:
    def begin(self):
        t = time.time()            #S1
        def finish():
            return time.time() - t #E1
        self.finish = finish
task = Task()
task.begin()
task.finish()
""",
    "nonlocal": """
import time
def outer():
    last = time.perf_counter()     #S1
    def lap():
        nonlocal last
        now = time.perf_counter()  #E1 #S2 #E2
        gap, last = now - last, now
        return gap
    lap()
    lap()
outer()
""",
    "global": """
import time
begin = None
def start():
    global begin
    begin = time.time()            #S1
def stop():
    return time.time() - begin     #E1
start()
stop()
""",
    "dataclass": """
import time
from dataclasses import dataclass, field
@dataclass
class Run:
    name: str
    begin: float = field(default_factory=time.perf_counter)
    end: float = 0.0
    @property
    def seconds(self):
        return self.end - self.begin
run = Run("a", time.perf_counter())    #S1
run.end = time.perf_counter()          #E1
run.seconds
""",
    "dataclass by position": """
import time
from dataclasses import dataclass
@dataclass
class Run:
    begin: float
    end: float
a = time.perf_counter()                #S1
b = time.perf_counter()                #E1
run = Run(a, b)
print(run.end - run.begin)
""",
    "namedtuple": """
import time
from collections import namedtuple
Event = namedtuple("Event", "begin end")
event = Event(begin=time.time(), end=None)   #S1
event = event._replace(end=time.time())      #E1
print(event.end - event.begin)
""",
    "generator": """
import time
def laps():
    while True:
        yield time.perf_counter()  #S1 #E1
ticks = laps()
a = next(ticks)
b = next(ticks)
print(b - a)
""",
    "generators that interleave": """
import time
def job(n):
    t = time.perf_counter()        #S1 x2
    for _ in range(n):
        yield
    print(time.perf_counter() - t) #E1
jobs = [job(1), job(2)]
while jobs:
    jobs = [j for j in jobs if next(j, "done") is None]
""",
    "loop": """
import time
for i in range(5):
    t = time.time()                #S1 x5
    print(time.time() - t)         #E1
""",
    "while loop with a deadline polls once": """
import time
t = time.time()                    #S1
n = 0
while time.time() - t < 0.002 and n < 100:   #E1
    n += 1
""",
    "accumulated": """
import time
total = 0.0
for _ in range(3):
    total -= time.perf_counter()   #S1 x3
    total += time.perf_counter()   #E1
""",
    "negative start": """
import time
t = -time.time()                   #S1
t += time.time()                   #E1
""",
    "in-place difference": """
import time
t = time.time()                    #S1
elapsed = time.time()              #E1
elapsed -= t
""",
    "nested": """
import time
outer = time.perf_counter()        #S1
for _ in range(2):
    inner = time.perf_counter()    #S2 x2
    print(time.perf_counter() - inner)   #E2
print(time.perf_counter() - outer) #E1
""",
    "recursion": """
import time
def f(n):
    t = time.perf_counter()        #S1 x4
    if n:
        f(n - 1)
    return time.perf_counter() - t #E1
f(3)
""",
    "threads": """
import threading, time
def work(seconds):
    t = time.perf_counter()        #S1 x4
    time.sleep(seconds)
    return time.perf_counter() - t #E1
threads = [threading.Thread(target=work, args=(n / 1000,)) for n in (4, 1, 3, 2)]
for t in threads: t.start()
for t in threads: t.join()
""",
    "a start from another thread": """
import queue, threading, time
q = queue.Queue()
def work():
    begin = q.get()
    print(time.time() - begin)     #E1
thread = threading.Thread(target=work)
thread.start()
q.put(time.time())                 #S1
thread.join()
""",
    "asyncio": """
import asyncio, time
async def work(seconds):
    t = time.perf_counter()        #S1 x3
    await asyncio.sleep(seconds)
    return time.perf_counter() - t #E1
async def main():
    return await asyncio.gather(work(0.006), work(0.002), work(0.004))
for got, want in zip(asyncio.run(main()), (0.006, 0.002, 0.004)):
    assert got >= want * 0.9
""",
    "executor": """
from concurrent.futures import ThreadPoolExecutor
import time
def work(begin):
    return time.time() - begin     #E1
with ThreadPoolExecutor(1) as pool:
    pool.submit(work, time.time()).result()   #S1
""",
    "callback": """
import time
class Client:
    def send(self, on_done):
        self.sent = time.monotonic()      #S1
        on_done(time.monotonic())         #E1
    def done(self, at):
        self.seconds = at - self.sent
client = Client()
client.send(client.done)
assert client.seconds >= 0
""",
    "class scope and super": """
import time
class Base:
    def tick(self):
        return time.perf_counter()        #S1 #E1
class Child(Base):
    made = time.perf_counter()
    def tick(self):
        return super().tick()
c = Child()
a = c.tick()
b = c.tick()
print(b - a)
""",
    "a method called time that is no clock": """
import time
class Sim:
    def __init__(self): self.t = 0
    def time(self):
        self.t += 1
        return self.t
sim = Sim()
a = sim.time()
assert sim.time() - a == 1
""",
    "two clocks do not pair": """
import time
a = time.time()
b = time.perf_counter()
print(a - b)
""",
    "match": """
import sys, time
t = time.time()                    #S1
class P: pass
print(time.time() - t)             #E1
""",
    "conditional": """
import time
verbose = True
t = time.time() if verbose else None   #S1
if t is not None:
    print(time.time() - t)             #E1
""",
    "ternary clock": """
import time
clock = time.perf_counter if hasattr(time, "perf_counter") else time.clock
t = clock()                        #S1
print(clock() - t)                 #E1
""",
    "star assignment": """
import time
a, *rest = time.time(), 1, 2       #S1
print(time.time() - a)             #E1
""",
    "exception": """
import time
t = time.time()                    #S1
try:
    raise ValueError
except ValueError:
    print(time.time() - t)         #E1
""",
    "del and rebind": """
import time
t = time.time()                    #S1
u = t
del t
print(time.time() - u)             #E1
""",
}


def expected(source):
    starts, ends, counts = {}, {}, {}
    for number, line in enumerate(source.splitlines(), 1):
        for kind, label in re.findall(r"#([SE])(\d)", line):
            (starts if kind == "S" else ends).setdefault(label, []).append(number)
            found = re.search(r" x(\d+)", line)
            if found:
                counts[label] = int(found.group(1))
    pairs = Counter()
    for label, lines in starts.items():
        pairs[lines[0], ends[label][0]] += counts.get(label, 1)
    return pairs


def test_deadlines_are_no_readings(listener):
    listener.run(
        "import time\nlimit = time.time() + 0.001\nwhile time.time() < limit: pass\n"
        "t = time.time()\nif 0 < time.time() - t: pass\n"
    )
    assert listener.pairs() == [(4, 5)]
    assert len(listener.of("reading")) == 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_of_program(name, listener, capsys):
    source = PROGRAMS[name]
    listener.run(source)
    assert Counter(listener.pairs()) == expected(source)
    assert not listener.of("note")


@pytest.mark.parametrize("name", PROGRAMS)
def test_seconds_agree_with_the_monotonic_clock(name, listener, capsys):
    listener.run(PROGRAMS[name])
    for region in listener.of("region"):
        outer = (region[5] - region[4]) / 1e9
        assert 0 <= region[6] <= outer + 0.02
