"""Eight threads that burn CPU for a moment each."""
import threading, time


def burn():
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        sum(range(1000))


threads = [threading.Thread(target=burn) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
