"""The fork server behind ``coldsoak serve-warm``: imports once, forks a process for each job.

It runs in the interpreter of the jobs, knows the standard library alone and starts no thread, so
that a fork takes everything along. ``docs/preheat.md`` describes the protocol:

client: ``coldsoak-warm 1 LENGTH`` and a newline, then LENGTH bytes of fields that end with NUL:
folder, umask, number of words, the words, then the environment as ``NAME=VALUE``. The client's
standard streams come with the first byte (SCM_RIGHTS). Later ``signal N`` and a newline.
server: lines ``pid N``, then one of ``exit N``, ``signal N`` and ``error TEXT``.

A job runs in a session of its own. The server leaves with status 1 when it can no longer fork
rightly, because something in it has started CUDA or the backend of a framework.
"""

import os
import selectors
import signal
import socket
import sys
import time

from coldsoak_agent import warmcheck, warmjob
from coldsoak_agent.warmsocket import (
    Refused,
    own_memory,
    peer_uid,
    read_request,
    refuse_living_server,
    remove_stale,
)

REQUEST_TIMEOUT_S = 10.0
KILL_AFTER_S = 5.0
MEMORY_EVERY_S = 0.5
FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1}
FORWARDED.add(signal.SIGUSR2)
TO_GROUP = {signal.SIGINT, signal.SIGQUIT, signal.SIGHUP}  # as a terminal sends them
OWN_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


class Client(object):
    """A connection, and the job that it asked for."""

    def __init__(self, connection):
        self.connection = connection
        self.began = time.monotonic()
        self.buffer = b""
        self.fds = []
        self.pid = None
        self.kill_at = None
        self.why = ""

    def tell(self, word, value):
        """Send one line; a client that has gone does not matter here."""
        text = "%s %s" % (word, value)
        try:
            self.connection.send(text.replace("\n", " ").encode("utf-8", "replace") + b"\n")
        except OSError:
            pass

    def signal_job(self, number, group=True):
        """Send a signal to the job's processes, or to its first alone."""
        try:
            if group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            try:
                os.kill(self.pid, number)  # it has not made its session yet
            except ProcessLookupError:
                pass

    def close(self):
        """Forget the connection and the streams that came over it."""
        self.connection.close()
        for fd in self.fds:
            os.close(fd)
        self.fds = []


class Server(object):
    """Accepts, forks, waits and ends.

    ``settings``: ``socket`` (path), ``imports`` (module names), ``max_jobs``, ``idle_timeout_s``
    and ``memory_limit`` (bytes; 0 for none), ``grace_s``, ``keep`` (variables of the server that
    hold for each job).
    """

    def __init__(self, settings):
        self.settings = settings
        self.pid = os.getpid()
        self.clients = {}
        self.listener = None
        self.inode = None
        self.status = 0
        self.ending_at = None
        self.last_used = time.monotonic()
        self.selector = selectors.PollSelector()
        self.wake, self.waker = socket.socketpair()
        self.asked = []
        self.began_with = dict(os.environ)

    def run(self):
        """Serve until the end and return the exit status; in a forked child return its job."""
        _fill_standard_streams()
        refuse_living_server(self.settings["socket"])
        _import(self.settings["imports"])
        why = warmcheck.touched()
        if why:
            _say("this server cannot fork: %s" % why)
            return 1
        self.open()
        try:
            return self.loop()
        finally:
            if os.getpid() == self.pid:
                self.stop_listening()

    def open(self):
        """Listen on the socket, which only this user may use."""
        path = self.settings["socket"]
        remove_stale(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self.listener.bind(path)
        finally:
            os.umask(before)
        self.inode = os.stat(path).st_ino
        self.listener.listen(64)
        self.listener.setblocking(False)
        for end in (self.wake, self.waker):
            end.setblocking(False)
        signal.set_wakeup_fd(self.waker.fileno(), warn_on_full_buffer=False)
        for number in OWN_SIGNALS:
            signal.signal(number, lambda number, frame: self.asked.append(number))
        self.selector.register(self.wake, selectors.EVENT_READ)
        self.selector.register(self.listener, selectors.EVENT_READ)
        _warn_of_threads()
        _say(
            "ready on %s, process %d, %s, at most %d jobs"
            % (path, self.pid, sys.executable, self.settings["max_jobs"])
        )

    def loop(self):
        while True:
            for key, _ in self.selector.select(self.patience()):
                if key.fileobj is self.wake:
                    self.heed_signals()
                elif key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj in self.clients:  # not one that another event has ended
                    job = self.hear(key.data)
                    if job is not None:
                        return job
            self.tend()
            if self.ending_at is not None and not self.clients:
                return self.status

    def patience(self):
        """Return how long nothing needs to be looked at, in seconds; None for ever."""
        now = time.monotonic()
        times = [client.kill_at for client in self.clients.values() if client.kill_at]
        times += [c.began + REQUEST_TIMEOUT_S for c in self.clients.values() if c.pid is None]
        if self.ending_at is not None:
            times.append(self.ending_at)
        elif self.settings["idle_timeout_s"] and not self.clients:
            times.append(self.last_used + self.settings["idle_timeout_s"])
        if self.settings["memory_limit"] and self.clients:
            times.append(now + MEMORY_EVERY_S)
        return max(0.0, min(times) - now) if times else None

    def heed_signals(self):
        try:
            while self.wake.recv(512):
                pass
        except BlockingIOError:
            pass
        asked, self.asked = self.asked, []
        for number in asked:
            if number == signal.SIGCHLD:
                self.reap()
            elif self.ending_at is None:
                _say("ending: no new jobs, %d running" % len(self.clients))
                self.end(self.settings["grace_s"])
            else:
                self.ending_at = time.monotonic()

    def end(self, grace_s):
        """Take no new jobs; those that run have ``grace_s`` to end by themselves."""
        self.stop_listening()
        self.ending_at = time.monotonic() + grace_s

    def stop_listening(self):
        """Close the listener and remove its file, unless another server has put its own there."""
        if self.listener is None:
            return
        path = self.settings["socket"]
        if self.listener in self.selector.get_map():
            self.selector.unregister(self.listener)
        try:
            if os.stat(path).st_ino == self.inode:
                os.unlink(path)
        except OSError:
            pass
        self.listener.close()
        self.listener = None

    def accept(self):
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        client = Client(connection)
        if peer_uid(connection) != os.geteuid():
            client.tell("error", "this server takes jobs of its own user only")
            client.close()
            return
        self.clients[connection] = client
        self.selector.register(connection, selectors.EVENT_READ, client)
        if len(self.clients) >= self.settings["max_jobs"]:
            self.selector.unregister(self.listener)  # the others wait in its queue

    def hear(self, client):
        """Read from a client; return a job in the child that was forked for it, else None."""
        try:
            data = self.receive(client)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            self.hang_up(client)
            return None
        client.buffer += data
        try:
            job = self.begin(client) if client.pid is None else None
            if job is None and client.pid is not None:
                self.forward(client)
        except Refused as reason:
            client.tell("error", reason)
            self.drop(client)
            return None
        else:
            return job

    def receive(self, client):
        if client.pid is not None:
            return client.connection.recv(4096)
        data, fds, _, _ = socket.recv_fds(client.connection, 1 << 16, 16)
        client.fds += fds
        return data

    def begin(self, client):
        request = read_request(client.buffer, client.fds)
        if request is None:
            return None
        folder, umask, words, environment, client.buffer = request
        self.overlay(environment)
        try:
            program = warmjob.parse(words, environment, folder)
            warmjob.check_environment(environment, self.began_with)
        except ValueError as reason:
            raise Refused(reason) from None
        why = warmcheck.touched()
        if why:
            self.status = 1
            _say("ending: this server can no longer fork: %s" % why)
            self.end(self.settings["grace_s"])
            raise Refused("the server can no longer fork: %s" % why)
        self.add_imported(environment)
        return self.fork(client, warmjob.Job(program, folder, umask, environment, client.fds))

    def overlay(self, environment):
        """Give a job the variables of the server's recipe."""
        for name in self.settings["keep"]:
            if name in self.began_with:
                environment[name] = self.began_with[name]
            else:
                environment.pop(name, None)

    def add_imported(self, environment):
        """Set what the imports set in the server, where the job came as the server was then."""
        for name, value in os.environ.items():
            before = self.began_with.get(name)
            if before != value and environment.get(name) == before:
                environment[name] = value

    def fork(self, client, job):
        """Fork; return the job in the child and None in the server."""
        sys.stdout.flush()
        sys.stderr.flush()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED | set(OWN_SIGNALS))
        pid = os.fork()
        if pid == 0:
            self.leave(client)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            return job
        client.pid = pid
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for fd in client.fds:
            os.close(fd)
        client.fds = []
        client.tell("pid", pid)
        return None

    def leave(self, client):
        """In the child: keep nothing that belongs to the server but the job's streams."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in OWN_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.selector.close()
        for one in (self.listener, self.wake, self.waker, client.connection):
            if one is not None:
                one.close()
        for other in self.clients.values():
            if other is not client:
                other.close()

    def forward(self, client):
        *lines, client.buffer = client.buffer.split(b"\n")
        for line in lines:
            word, _, number = line.partition(b" ")
            if word != b"signal" or not number.isdigit() or int(number) not in FORWARDED:
                raise Refused("this is no word of the protocol: %r" % line[:40])
            client.signal_job(int(number), group=int(number) in TO_GROUP)
        if len(client.buffer) > 64:
            raise Refused("this is no word of the protocol: %r" % client.buffer[:40])

    def hang_up(self, client):
        """The client has gone: its job goes too."""
        if client.pid is None:
            self.drop(client)
            return
        if client.connection in self.selector.get_map():
            self.selector.unregister(client.connection)
        client.signal_job(signal.SIGTERM)
        client.kill_at = time.monotonic() + KILL_AFTER_S

    def drop(self, client):
        """Forget a client; a job that still runs is ended."""
        if client.connection in self.selector.get_map():
            self.selector.unregister(client.connection)
        if client.pid is not None:
            client.signal_job(signal.SIGKILL)
            return  # until it has been waited for
        self.clients.pop(client.connection, None)
        client.close()
        self.last_used = time.monotonic()
        if self.listener is not None and self.listener not in self.selector.get_map():
            self.selector.register(self.listener, selectors.EVENT_READ)

    def reap(self):
        for client in list(self.clients.values()):
            if client.pid is None:
                continue
            pid, status = os.waitpid(client.pid, os.WNOHANG)
            if pid:
                client.pid = None
                if client.why:
                    client.tell("error", client.why)
                elif os.WIFSIGNALED(status):
                    client.tell("signal", os.WTERMSIG(status))
                else:
                    client.tell("exit", os.WEXITSTATUS(status))
                self.drop(client)

    def tend(self):
        """Do what is due: late requests, jobs over their limits, the end of the server."""
        now = time.monotonic()
        for client in list(self.clients.values()):
            if client.pid is None and now > client.began + REQUEST_TIMEOUT_S:
                client.tell("error", "no request came")
                self.drop(client)
            elif client.kill_at is not None and now >= client.kill_at:
                client.signal_job(signal.SIGKILL)
                client.kill_at = None
        if self.settings["memory_limit"]:
            self.limit_memory()
        if self.ending_at is not None:
            self.press(now)
            return
        idle = self.settings["idle_timeout_s"]
        if idle and not self.clients and now >= self.last_used + idle:
            _say("ending: idle for %g s" % idle)
            self.end(0)

    def press(self, now):
        """After the grace: ask each job to end, then end it."""
        if now < self.ending_at:
            return
        for client in list(self.clients.values()):
            if client.pid is None:
                self.drop(client)
            else:
                client.signal_job(signal.SIGTERM)
                client.kill_at = client.kill_at or now + KILL_AFTER_S
        self.ending_at = now + KILL_AFTER_S

    def limit_memory(self):
        limit = self.settings["memory_limit"]
        for client in self.clients.values():
            used = own_memory(client.pid) if client.pid else 0
            if used > limit and not client.why:
                client.why = "the job was ended: it used %d MiB, the limit is %d MiB" % (
                    used >> 20,
                    limit >> 20,
                )
                client.signal_job(signal.SIGKILL)


def _fill_standard_streams():
    """Make sure that no stream of a job gets a number below 3."""
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd > 2:
            os.close(fd)
            return


def _import(names):
    """Import with the collector off and freeze what came, so that jobs share its pages."""
    import gc
    import importlib

    begin = time.monotonic()
    gc.disable()
    try:
        for name in names:
            importlib.import_module(name)
    except ImportError as error:
        raise SystemExit("coldsoak: %s cannot be imported: %s" % (name, error)) from None
    gc.enable()
    gc.collect()
    gc.freeze()
    if names:
        _say("imported %s in %.2f s" % (", ".join(names), time.monotonic() - begin))


def _warn_of_threads():
    import threading

    python = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    native = len(os.listdir("/proc/self/task")) - 1 - len(python)
    if python:
        _say("warning: the imports left threads that jobs will not have: %s" % ", ".join(python))
    if native:
        left = "1 native thread" if native == 1 else "%d native threads" % native
        _say("the imports left %s; their libraries have to make new ones" % left)


def _say(text):
    sys.stderr.write("coldsoak: %s\n" % text)
    sys.stderr.flush()


def main(settings):
    """Serve; in a forked child become the job's program instead."""
    outcome = Server(settings).run()
    if isinstance(outcome, warmjob.Job):
        warmjob.become(outcome)
    else:
        sys.exit(outcome)
