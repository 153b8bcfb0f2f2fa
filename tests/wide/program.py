# SPDX-License-Identifier: LGPL-2.1-or-later
"""program.py: the row of one program.

    program.py ROOT FOLDER PACKAGE [PROGRAM]

ROOT is where packages.py has unpacked the package, or - for a program that is installed; FOLDER an
empty one to work in. Prints the row, and what does not fit, after it. It is started in namespaces
of its own, and what it runs has no rights (isolation.py).

    plain    twice: what it prints, its status; whether that is the same each time
    -a       recorded in the default mode while it runs as before: that it prints the same
    --twin   one run by the plans of three modes: that they tell the same
    QEMU     that what QEMU saw is what mode full tells, where the program runs the same way each time:
             twice under QEMU, and with its memory laid out in another way"""
import hashlib
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time

import isolation
import packages
import recorded
import work
from recorded import PUGMARK, TOOLS

TRIAL_SECONDS, RUN_SECONDS, TWIN_SECONDS, QEMU_SECONDS = 2, 30, 60, 60
ELSEWHERE = 8  # runs with memory laid out in another way
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "USER": "nobody", "LOGNAME": "nobody", "HOME": "/nonexistent",
               "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}


def processor_seconds():
    """What processes that this one has started and that have ended took of a processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Run:
    """One run: what can be seen of it. One that is not done in time is ended, with all that runs here but @spare."""

    def __init__(self, folder, before, binary, args, stdin, seconds, qemu=False, spare=()):
        at = f"{folder}/work"
        shutil.rmtree(at, ignore_errors=True)
        work.fill(at, isolation.NOBODY)
        variables = [f"{k}={v}" for k, v in {**ENVIRONMENT, "XDG_CACHE_HOME": f"{folder}/cache"}.items()]
        # QEMU hands the environment on the other way round.
        command = ["env", "-i", *(variables[::-1] if qemu else variables), *before, binary, *args]
        began, used = time.monotonic(), processor_seconds()
        with open(f"{at}/{stdin}" if stdin else os.devnull, "rb") as given:
            process = subprocess.Popen(
                command, cwd=at, stdin=given, start_new_session=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28)),
            )
            try:
                self.out, self.err = process.communicate(timeout=seconds)
                self.status = process.returncode
            except subprocess.TimeoutExpired:
                isolation.end_all(spare)
                self.out, self.err = process.communicate()
                self.status = None
        self.ms = (time.monotonic() - began) * 1000
        self.busy_seconds = processor_seconds() - used
        self.made = self.files(at)

    def stood_still(self, seconds):
        """Whether a run that was ended after @seconds has waited, where one that is only slow computes."""
        return self.busy_seconds < seconds / 10

    @staticmethod
    def files(at):
        """A hash of each file that is there now."""
        found = []
        for folder, _, names in os.walk(at):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        found.append((path, hashlib.sha256(f.read()).hexdigest()))
        return sorted(found)

    def differs(self, other):
        """What differs, or None."""
        for what in ("status", "out", "err", "made"):
            mine, others = getattr(self, what), getattr(other, what)
            if mine != others:
                at = self.same(mine, others)
                return f"{what}: {self.part(mine, at)}, was {self.part(others, at)}"
        return None

    @staticmethod
    def same(a, b):
        """How much of the beginning of both is the same."""
        if not isinstance(a, bytes) or not isinstance(b, bytes):
            return 0
        return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))

    @staticmethod
    def part(value, at):
        """What of @value is around @at."""
        if not isinstance(value, bytes):
            return str(value)[:150]
        return f"{value[max(0, at - 60):at + 90]!r} at {at} of {len(value)}"


class Program:
    def __init__(self, folder, package, installed, now):
        self.folder = folder
        self.name = os.path.basename(installed)
        self.row = recorded.Row(kind="program", package=package, program=self.name)
        os.makedirs(f"{folder}/bin")
        self.binary = f"{folder}/bin/{self.name}"
        shutil.copyfile(now, self.binary)
        os.chmod(self.binary, 0o755)
        self.details = []

    def run(self, before=(), seconds=RUN_SECONDS, qemu=False, spare=()):
        before = [*before] if qemu else [*isolation.as_nobody(), "setarch", "-R", *before]
        return Run(self.folder, before, self.binary, self.args, self.stdin, seconds, qemu, spare)

    def choose_work(self):
        best = None
        for self.args, self.stdin in work.trials():
            tried = self.run(seconds=TRIAL_SECONDS)
            if tried.status in (126, 127):
                raise packages.Skip(f"does not run here: {tried.err[:120].decode(errors='replace')}")
            if tried.status is None or tried.status < 0:
                continue
            is_help = self.args and self.args in work.HELP
            order = (tried.status == 0, not is_help, len(tried.out) + sum(len(p) for p, _ in tried.made))
            if best is None or order > best[0]:
                best = order, self.args, self.stdin
        if best is None:
            raise packages.Skip("nothing that it is given lets it end by itself")
        _, self.args, self.stdin = best
        self.row["work"] = " ".join(self.args) + (f" <{self.stdin}" if self.stdin else "")

    def say(self, verdict, why=""):
        """The first verdict that is not good stays."""
        if "verdict" not in self.row:
            self.row["verdict"] = verdict
            if why:
                self.row["why"] = " ".join(why.split())[:400]
                self.details.append(why)

    def plain(self):
        self.first, second = self.run(), self.run()
        self.steady = self.first.differs(second) is None
        self.row["plain_ms"] = f"{min(self.first.ms, second.ms):.0f}"

    def change_by_probes(self, run):
        """What of a recorded run differs from plain ones, or None. What differs from the first plain run
        is compared with one more: a log that says the minute was the same twice, and is not later."""
        changed = run.differs(self.first)
        if not self.steady or not changed:
            return None
        self.steady = self.run().differs(self.first) is None
        return changed if self.steady else None

    def attached(self):
        """By a recorder that waits for whoever runs the copy. Whether there is more to be tried."""
        recorder = recorded.Recorder(self.binary, f"{self.folder}/rec")
        again = self.run(spare=(recorder.process.pid,))
        status = recorder.end()
        if status not in (0, 3):
            self.say("FAILED", f"record: status {status}: {recorder.said()}")
            return True
        self.row["recorded_ms"] = f"{again.ms:.0f}"
        if float(self.row["plain_ms"]) >= 50:
            self.row["slowdown"] = f"{again.ms / float(self.row['plain_ms']):.2f}"
        if not recorded.gaps_of(f"{self.folder}/rec", self.row):
            self.say("FAILED")
        elif again.status is None and not again.stood_still(RUN_SECONDS):
            self.say("gaps" if self.row["gaps"] else "slow", f"not done under probes after {RUN_SECONDS} s")
            return False
        changed = self.change_by_probes(again)
        if changed or (again.status or 0) < 0 <= (self.first.status or 0):
            self.say("HARM", changed or f"died of signal {-again.status}")
        return True

    def launched(self, layout, to, *modes):
        """One run that the recorder itself starts, by the plans of @modes at once."""
        command = [*layout, PUGMARK, "record", "-q", "-o", to, "--user", "nobody", "--mode", modes[0]]
        for mode in modes[1:]:
            command += ["--twin", mode]
        run = Run(self.folder, [*command, "--"], self.binary, self.args, self.stdin, TWIN_SECONDS)
        run.err = recorded.without_own_words(run.err)
        return run

    def twin(self):
        """Three plans of one run; what mode full tells of it is in told.full."""
        run = self.launched(["setarch", "-R"], f"{self.folder}/twin", *recorded.MODES)
        if run.status is None:
            self.say("gaps" if self.row.get("gaps") else "slow", "three plans at once take too long")
            return 1
        if run.status == 3 and self.first.status == 0 and recorded.is_incomplete(f"{self.folder}/twin"):
            run.status = 0  # the recorder's own word for gaps, where the program ended with 0
        changed = self.change_by_probes(run)
        if changed:
            self.say("HARM", f"by three plans at once: {changed}")
        gaps, first, moved = recorded.modes_agree(f"{self.folder}/twin", self.folder)
        if first and not gaps:
            self.say("WRONG", f"modes differ, without a gap: {first}")
        elif moved and not self.row.get("gaps"):
            self.say("around", recorded.around_handlers(moved))
        return gaps

    def logged(self, *before, command=None):
        """The lines that a tool, which writes to the file behind its last option, logs of a run."""
        log = f"{self.folder}/logged"
        with open(log, "w") as f:
            os.fchmod(f.fileno(), 0o666)
        before = [*isolation.as_nobody(), *before, log]
        if command:
            subprocess.run([*before, command])
        else:
            self.run(before, QEMU_SECONDS, qemu=True)
        with open(log, errors="replace") as f:
            return f.read().splitlines()

    def refused(self, *before, **command):
        """The names of system calls that are not there, or not with these arguments, as a tool logs them."""
        found = (re.search(r"(\w+)\(.*= -1 (?:errno=(?:22|38)|EINVAL|ENOSYS)\b", line)
                 for line in self.logged(*before, **command))
        return {m[1] for m in found if m}

    def unknown_to_qemu(self):
        """A system call of the program that QEMU does not know, or refuses where the kernel does not, or None: one
        that any program makes (the C library goes on without it) does not count."""
        unimplemented = ("qemu-x86_64", "-d", "unimp", "-D")
        usual = self.logged(*unimplemented, command="/bin/true")
        for line in self.logged(*unimplemented):
            if line.startswith("Unsupported") and line not in usual:
                return line.strip()
        if not shutil.which("strace"):
            return None
        traced = ("qemu-x86_64", "-strace", "-D")
        refused = self.refused(*traced) - self.refused(*traced, command="/bin/true")
        if refused:
            refused -= self.refused("strace", "-f", "-o")
        return f"QEMU refuses {min(refused)}()" if refused else None

    def emulated(self, to):
        """The events that QEMU saw, in the file @to; False if it could not run it."""
        traces = f"{self.folder}/trace"
        shutil.rmtree(traces, ignore_errors=True)
        os.makedirs(traces)
        os.chmod(traces, 0o777)
        plugin = f"{TOOLS}/blocktrace.so,dir={traces},module={self.binary}"
        run = self.run([*isolation.as_nobody(), "qemu-x86_64", "-plugin", plugin], QEMU_SECONDS, qemu=True)
        if run.status != self.first.status:
            return False
        with open(to, "wb") as f:
            subprocess.run([f"{TOOLS}/calls", f"{self.folder}/model", self.binary, traces], stdout=f,
                           stderr=subprocess.DEVNULL)
        return os.path.getsize(to) > 0

    def against_qemu(self):
        """`exact` if mode full's events are QEMU's; `agree` where it does not run the same way twice;
        `unseen` where QEMU cannot judge a run that is always the same."""
        one, two, full = (f"{self.folder}/{n}" for n in ("qemu.1", "qemu.2", "told.full"))
        subprocess.run([PUGMARK, "cfg", self.binary, "--export", f"{self.folder}/model"], check=True)
        if not self.emulated(one):
            return self.say("unseen", "QEMU does not run it as the processor does")
        first = recorded.difference(one, full)
        if not first:
            return self.say("exact")
        if not self.emulated(two) or recorded.difference(one, two):
            return self.say("agree", "two runs under QEMU differ")
        for n in range(ELSEWHERE):  # what two pointers' order decides is another way each second time
            self.launched([], f"{self.folder}/elsewhere{n}", "full")
            recorded.dump(f"{self.folder}/elsewhere{n}", 0, two)
            if recorded.difference(full, two):
                return self.say("unseen", f"it depends on where its memory lies; QEMU's run: {first}")
        unknown = self.unknown_to_qemu()
        if unknown:
            return self.say("unseen", f"{unknown}; QEMU's run: {first}")
        return self.say("OTHER", f"QEMU saw another run: {first}")

    def measure(self):
        # Before trials: the kernel counts the most memory of who starts a command as the command's own.
        if not recorded.plan(self.binary, self.row):
            raise packages.Skip("cannot be planned")
        self.choose_work()
        self.plain()
        if not self.attached():
            return
        gaps = self.twin()
        if self.row.get("gaps"):
            self.say("gaps")
        if gaps:
            self.say("gaps", f"{gaps} by three plans at once")
        else:
            self.against_qemu()


def main():
    root, folder, package = sys.argv[1:4]
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    row, details = recorded.Row(kind="program", package=package), []
    try:
        if root != "-":
            isolation.lay_over(root, folder)
        found = [(sys.argv[4], sys.argv[4])] if len(sys.argv) > 4 else packages.programs_of(package, root)
        if not found or not packages.is_program(found[0][1]):
            raise packages.Skip("has no program")
        program = Program(folder, package, *random.Random(package).choice(found))
        row, details = program.row, program.details
        program.measure()
    except packages.Skip as why:
        row.update(verdict="skip", why=str(why))
    finally:
        isolation.end_all()
    print(row.line())
    print("\n".join(details))


if __name__ == "__main__":
    main()
