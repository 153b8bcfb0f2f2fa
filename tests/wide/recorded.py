# SPDX-License-Identifier: LGPL-2.1-or-later
"""recorded.py: runs the command under test, and asks it what a recording says. Used for programs and
for services alike; a row of the table is made of what is here."""
import collections
import json
import os
import re
import subprocess
import time

import around

PUGMARK = os.environ["PUGMARK"]
TOOLS = os.environ["TOOLS"]
MODES = ("full", "casper", "best")


class Row(dict):
    """COLUMN: value; COLUMNS is the order in the table."""

    COLUMNS = (
        "kind package program verdict events gaps causes plan_s plan_mb plain_ms recorded_ms"
        " slowdown work why"
    ).split()

    def line(self):
        return "\t".join(str(self.get(c, "-")).replace("\t", " ").replace("\n", " ") for c in self.COLUMNS)


def plan(binary, row):
    """A plan made from nothing: processor time and memory of that."""
    pid = subprocess.Popen(
        [PUGMARK, "plan", "--fresh", binary], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).pid
    _, status, usage = os.wait4(pid, 0)
    row["plan_s"] = f"{usage.ru_utime + usage.ru_stime:.2f}"
    row["plan_mb"] = usage.ru_maxrss // 1024
    return status == 0


def gaps_of(recording, row):
    """Events, gaps and their causes, into the row; what the recorder says of a death."""
    said = subprocess.run([PUGMARK, "verify", "--format", "json", recording], capture_output=True, text=True)
    try:
        told = json.loads(said.stdout)
    except ValueError:
        row["why"] = f"verify says: {said.stderr.strip()[:200]}"
        return False
    causes = collections.Counter(g["cause"] for g in told["gaps"])
    row["events"], row["gaps"] = told["events"], len(told["gaps"])
    row["causes"] = " ".join(f"{n} {c}" for c, n in sorted(causes.items())) or "-"
    if told.get("deaths"):
        row["why"] = f"a traced process died: {told['deaths']}"
    return True


def without_own_words(err):
    """What a program wrote to the standard error that it had from the recorder, without the recorder's own lines.
    One of these may stand behind a line that the program did not end."""
    return re.sub(rb"pugmark: [^\n]*\n", b"", err)


def is_incomplete(recording):
    """Whether the recording itself says that something is missing of it."""
    return subprocess.run([PUGMARK, "verify", recording], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 3


def gaps_in(dumped):
    with open(dumped, errors="replace") as f:
        return sum(" gap " in line for line in f)


def dump(recording, module, to):
    with open(to, "wb") as f:
        subprocess.run([PUGMARK, "dump", "--format", "text", "--module", str(module), recording], stdout=f)


def difference(one, other):
    """None, or the first difference between two files of events."""
    said = subprocess.run([f"{TOOLS}/compare", one, other], capture_output=True, text=True, errors="replace")
    return None if said.returncode == 0 else said.stdout[:2000] or said.stderr[:300] or f"status {said.returncode}"


def modes_agree(recording, folder):
    """Whether the three plans of one run (--twin) tell the same: (gaps, first difference or None, how often a handler
    stands on another side of an event, where that is all that differs)."""
    told, first, moved = [], None, 0
    for k, mode in enumerate(MODES):
        told.append(f"{folder}/told.{mode}")
        dump(recording, k, told[-1])
    gaps = sum(map(gaps_in, told))
    for other in told[1:]:
        differs = difference(told[0], other)
        sides = around.moved(told[0], other) if differs and not gaps else None
        if differs and sides is None:
            first = first or differs
        moved += sides or 0
    return gaps, first, moved


def around_handlers(moved):
    return f"modes differ only in {moved} events before a handler by one and behind it by another"


class Recorder:
    """`record -a` of a copy, while something else starts what runs it."""

    def __init__(self, binary, to, *options):
        self.to = to
        with open(f"{to}.log", "w") as log:
            self.process = subprocess.Popen(
                [PUGMARK, "record", "-o", to, *options, "-a", binary],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        # The folder is there before all probes are: a program that runs meanwhile is recorded from its middle.
        until = time.monotonic() + 60
        while ": recording" not in self.said() and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)

    def end(self):
        """Stops it; its exit status."""
        self.process.send_signal(2)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return -9

    def said(self):
        with open(f"{self.to}.log", errors="replace") as log:
            return log.read()[-300:]
