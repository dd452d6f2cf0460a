"""Waits of a known length: a sleep, a lock, a child, a pipe."""
import os, subprocess, sys, threading, time

what = sys.argv[1]
if what == "sleep":
    time.sleep(0.3)
elif what == "lock":
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(0.3, lock.release).start()
    lock.acquire()
elif what == "child":
    os.waitpid(subprocess.Popen(["sleep", "0.3"]).pid, 0)
elif what == "pipe":
    subprocess.run(["sh", "-c", "sleep 0.3; echo done"], stdout=subprocess.PIPE)
