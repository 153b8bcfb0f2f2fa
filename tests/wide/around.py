# SPDX-License-Identifier: LGPL-2.1-or-later
"""around.py: whether two traces of one run differ in nothing but on which side of a signal's handler an event
stands: docs/limits.md, "Right before a call or a return". Of each thread, what its handlers did taken out, the
events are to be the same, in the same order; its handlers too, each with the same events inside of it (in which
other handlers may stand, of which the same is to hold); and at most one event may lie between the places at
which a handler stands in the two."""
import collections
import sys

NOT_COMPARED = ("enter", "unwind", "switch")  # as by tests/oracle/compare


class Part:
    """What a thread or a handler did: `events`, and `handlers`, each with how many of these come before it."""

    def __init__(self):
        self.events, self.handlers = [], []


def frames(words):
    """By how many an event changes the number of open frames."""
    kind, outside = words[0], words[0] in ("call", "tail") and words[3] == "-"
    if kind == "call":
        return 0 if outside else 1
    return {"enter": 1, "ret": -1, "unwind": -1, "tail": -1 if outside else 0}.get(kind, 0)


def part_of(lines):
    """A thread's events, without its number, as a Part."""
    thread = Part()
    within = [[thread, 0]]  # the thread, and handlers that are open, each with how many frames it has open
    for line in lines:
        words = line.split()
        if words[0] == "enter" and words[-1] == "signal":
            handler = Part()
            handler.events.append(line)
            around = within[-1][0]
            around.handlers.append((len(around.events), handler))
            within.append([handler, 1])
            continue
        at = within[-1]
        if words[0] not in NOT_COMPARED:
            at[0].events.append(line)
        at[1] += frames(words)
        if at[1] == 0 and len(within) > 1:
            within.pop()
    return thread


def moved_in(one, other):
    """How often a handler of two Parts stands on another side of an event; None: they differ in more."""
    if one.events != other.events or len(one.handlers) != len(other.handlers):
        return None
    moved = 0
    for (place, handler), (elsewhere, same) in zip(one.handlers, other.handlers):
        inside = moved_in(handler, same)
        if inside is None or abs(place - elsewhere) > 1:
            return None
        moved += inside + abs(place - elsewhere)
    return moved


def threads_of(dumped):
    threads = collections.defaultdict(list)
    with open(dumped, errors="replace") as f:
        for line in f:
            thread, _, event = line.rstrip("\n").partition(" ")
            threads[thread].append(sys.intern(event))
    return {thread: part_of(lines) for thread, lines in threads.items()}


def moved(one, other):
    """The same of two files that `pugmark dump` has written."""
    one, other = threads_of(one), threads_of(other)
    if one.keys() != other.keys():
        return None
    counts = [moved_in(part, other[thread]) for thread, part in one.items()]
    return None if None in counts else sum(counts)
