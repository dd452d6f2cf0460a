"""The clock readings of each place in the program, and which value was read where.

A place has a list for each thing that is known of its readings. So a reading leaves no object that
the garbage collector counts, and none of the program's collections comes at another moment than it
would. A reading's number is its place's and its own index in one integer.

By value at least the latest 50,000 are found. They move from a small table, in which most starts are
found and which the processor's caches hold, to a large one, at flushes.
"""

from coldsoak_agent.core import agent

__all__ = [
    "MASK", "PER_SITE", "SHIFT", "TWIN", "Site", "age", "begin", "find", "join", "more", "new", "old",
    "places", "ready", "twins",
]  # fmt: skip

PER_SITE = 10_000
"""Readings of one place that are recorded; later ones are counted."""
SHIFT = 14
MASK = (1 << SHIFT) - 1
TWIN = -1
"""Stands for the end of a start that has a twin and no end yet."""
_RECENT, _KEPT = 1000, 50_000
_STEP = 64
_IN_FLIGHT = 64
"""Readings of a place that other threads may be in the middle of."""

places = []
"""The places by id."""
new, old, oldest = {}, {}, {}
"""Numbers by value: of the recent readings, of those before them, and so on."""
twins = {}
"""Number of an older reading with the same value, or None, by the number of a reading."""
ready = {}
"""When the devices were done after a reading (CLOCK_MONOTONIC, ns), where it waited for them."""
more = {}
"""The subtracting places and ends beyond the first that a start was paired with."""


class Site:
    """A place that reads a clock, with its readings.

    Attributes:
        id: Counts up from 0.
        base, unit: Name of the time base, and seconds per unit of the values.
        to_ns: What makes ns of CLOCK_MONOTONIC of a value; None for other clocks.
        role: Bits of ``flow``: what the readings are for.
        where: File, line, function and text.
        lonely: An end whose readings also stand alone, so that they need keys.
        beyond: How often it was read after it was full.
        due: When regions that end here shall be written: in ns, or a value where that tells the time;
            None: at once.
        take: Gives each reading its index; raises StopIteration once it is full.
        keys: Ids of the series keys, -1 while there is none.
        threads: Native ids.
        ns: CLOCK_MONOTONIC on the outer side; None where the value itself is that.
        values: What the program got; None until the clock has been read.
        by, ends: The place that subtracted a start first, and the number of the end it took.
        ids: Ids of the records; -1 where the clock raised and there is none.
        written: How many were handed to the spool.

    """

    __slots__ = (
        "_aged", "_counter", "_from", "_renew", "base", "beyond", "by", "due", "ends", "full", "id",
        "ids", "keys", "lonely", "ns", "role", "take", "threads", "to_ns", "unit", "values",
        "where", "written",
    )  # fmt: skip

    def __init__(self, base, unit, to_ns, role, where, renew):
        """Note the place; ``renew(site)`` makes what reads the clock there anew."""
        self.base, self.unit, self.to_ns, self.role, self.where = base, unit, to_ns, role, where
        self.lonely = self.full = False
        self.due, self.beyond, self.written, self._aged, self._from = None, 0, 0, 0, 0
        self._counter, self._renew = iter(range(PER_SITE)), renew
        self.take = self._counter.__next__
        self.ids, self.threads, self.ns, self.values = [], [], [], []
        self.keys, self.by, self.ends = [], [], []
        places.append(self)
        self.id = places.index(self)  # not its length, which other threads change
        agent.emit("site", self.id, *where)

    def learn(self, role):
        """Let the readings be for that, too."""
        if not self.role & role:
            self.role |= role
            self._renew(self)

    def fill(self):
        """Record no more: from its next use on the place is only counted."""
        self.beyond += 1
        if not self.full:
            self.full = True
            self._renew(self)
            kept = "%s: %d readings kept, later ones counted" % (self.text(), PER_SITE)
            agent.note("readings_capped", kept)

    def text(self):
        """Return where that is, for people."""
        file, line, _, text = self.where
        return "%s at %s:%d" % (text, file, line)

    def taken(self):
        """Return how many readings have begun."""
        return PER_SITE - self._counter.__length_hint__()

    def grow(self, index):
        """Make room for a reading."""
        step = max(_STEP, index)
        for column in (self.ids, self.threads, self.ns, self.values, self.by, self.ends):
            if len(column) <= index:
                column.extend([None] * step)
        if len(self.keys) <= index:  # the last one: who finds room here finds it everywhere
            self.keys.extend([-1] * step)

    def ns_of(self, index):
        """Return CLOCK_MONOTONIC of a reading, in ns."""
        ns = self.ns[index]
        return int(self.values[index] * self.to_ns) if ns is None else ns

    def forget_old(self):
        """Let go of the readings that were old the last time."""
        first, last = self._from, max(self._from, self._aged - _IN_FLIGHT)
        for column in (self.threads, self.ns, self.values, self.by, self.ends):
            column[first:last] = [None] * (last - first)
        self._from, self._aged = last, self.written


def begin():
    """Forget all places and readings: this process has none of its parent's."""
    for table in (places, new, old, oldest, twins, ready, more):
        table.clear()


def find(value):
    """Return the number of the latest reading that gave a value, or None."""
    number = new.get(value)
    if number is None:
        number = old.get(value)
        if number is None:
            number = oldest.get(value)
    return number


def join(table, value, number, twin):
    """Keep two readings that gave one value, and no longer chain."""
    twins[twin] = None
    twins[number] = twin
    ends, index = places[number >> SHIFT].ends, number & MASK
    if ends[index] is None:
        ends[index] = TWIN
    table[value] = number


def age():
    """Move readings to the next table once there are many; let go of the oldest."""
    if len(new) < _RECENT:
        return
    values = list(new)
    if old.keys().isdisjoint(values):
        old.update(new)
    else:
        for value in values:
            number = new[value]
            twin = old.setdefault(value, number)
            if twin is not number:
                join(old, value, number, twin)
    for value in values:  # other threads may have added some meanwhile
        del new[value]
    if len(old) < _KEPT:
        return
    oldest.clear()
    oldest.update(old)
    old.clear()
    kept = set(oldest.values())
    for table in (twins, ready, more):
        for number in [number for number in table if number not in kept]:
            del table[number]
    for site in places:
        site.forget_old()
