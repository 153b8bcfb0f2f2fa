# SPDX-License-Identifier: LGPL-2.1-or-later
"""processes.py: what processes that run do, as /proc says: whether they live, sleep or compute."""
import os
import time


def lives(pid):
    """Whether a thread of the process has not ended."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] not in "ZX":
                    return True
    except OSError:
        pass
    return False


def processor_seconds(pids):
    """What the processes have taken of a processor so far."""
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as f:
                ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def threads(pids):
    """(thread, its state, ticks that it has taken of a processor) of each thread of the processes."""
    for pid in pids:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/stat") as f:
                    words = f.read().rsplit(")", 1)[1].split()
                yield task, words[0], tuple(words[11:13])
        except OSError:
            pass


def computes(found):
    """Whether one of these threads runs, or would if a processor or a disk were free."""
    return any(state in "RD" for _, state, _ in found)


class Idle:
    """Whether processes have only slept for @seconds. @running lists them."""

    def __init__(self, running, seconds):
        self.running, self.seconds, self.seen, self.since = running, seconds, None, time.monotonic()

    def lasts(self):
        now = list(threads(self.running()))
        if now != self.seen or computes(now):
            self.seen, self.since = now, time.monotonic()
        return time.monotonic() > self.since + self.seconds


class Work:
    """Whether processes compute most of the time. What they take of a processor does not say that on a busy machine."""

    def __init__(self, pids):
        self.pids, self.looks, self.computing = pids, 0, 0

    def look(self):
        self.looks += 1
        self.computing += computes(list(threads(self.pids)))

    def is_most(self):
        return self.computing * 2 > self.looks
