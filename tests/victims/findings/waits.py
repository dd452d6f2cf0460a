"""Runs that are slow for one known reason: ``waits.py REASON``; ``waits.py none REASON`` is the control.

every-third  every third run waits
second       run 1 waits as run 0 does
shape        each new size waits once
thread       each new thread waits once
pause        runs after a pause wait
"""

import statistics
import sys
import threading
import time

REASON = sys.argv[1]
WAIT = 0.25
known = set()
here = threading.local()


def work(number=0, size=0, rested=False):
    time.sleep(0.002)
    slow = {
        "every-third": number % 3 == 0,
        "second": number == 1,
        "shape": ("size", size) not in known,
        "thread": not hasattr(here, "known"),
        "pause": rested,
    }.get(REASON, False)
    if slow or not known:
        time.sleep(WAIT)
    known.add(("size", size))
    here.known = True


def shapes():
    for size in (100, 200, 300):
        shape = (size, size)
        for _ in range(3):
            start = time.perf_counter()
            work(size=shape[0])
            print(time.perf_counter() - start)


def twice():
    for _ in range(2):
        start = time.perf_counter()
        work()
        print(time.perf_counter() - start)


def threads():
    for _ in range(4):
        worker = threading.Thread(target=twice)
        worker.start()
        worker.join()


def pauses():
    for number in range(12):
        rested = number % 3 == 2
        time.sleep(0.3 if rested else 0.0)
        start = time.perf_counter()
        work(rested=rested)
        print(time.perf_counter() - start)


def loop():
    times = []
    for number in range(14):
        start = time.perf_counter()
        work(number)
        elapsed = time.perf_counter() - start
        times.append(elapsed)
    print("first", times[0], "later", statistics.median(times[1:]))


{"shape": shapes, "thread": threads, "pause": pauses}.get(sys.argv[-1], loop)()
