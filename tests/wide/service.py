# SPDX-License-Identifier: LGPL-2.1-or-later
"""service.py: the row of one service.

    service.py ROOT FOLDER PACKAGE

As program.py, but what runs is what the package's systemd unit starts, with the package's own
configuration, in folders laid over /usr, /etc, /var and /run; and it is asked over loopback what
many protocols ask first (traffic.py).

    plain    started, asked, ended
    -a       the same while a recorder waits for whoever runs the copy, in the default mode
    --twin   the same by the plans of three modes at once: that they tell the same"""
import os
import shutil
import signal
import subprocess
import sys
import time

import isolation
import packages
import recorded
import traffic
import unit

READY_SECONDS, RECORDED_SECONDS, IDLE_SECONDS, GONE_SECONDS, END_SECONDS = 30, 90, 5, 2, 15
ROUNDS, MOST_PORTS, PLAIN_LIVES = 3, 3, 4


def fixed(ports):
    """Those of @ports that are not the kernel's choice, which is another one each time."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        first, last = map(int, f.read().split())
    return [p for p in ports if isinstance(p[1], str) or not first <= p[1] <= last]


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


def processor_ticks(pids):
    """What the processes have taken of a processor so far."""
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as f:
                ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            pass
    return ticks


def is_recorder(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", recorded.PUGMARK)
    except OSError:
        return False


class Idle:
    """Whether processes have only slept for some time, and not waited for a processor."""

    def __init__(self, running):
        self.running, self.seen, self.since = running, None, time.monotonic()

    def lasts(self):
        now = []
        for pid in self.running():
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/stat") as f:
                        words = f.read().rsplit(")", 1)[1].split()
                    now.append((task, words[0], words[11:13]))
            except OSError:
                pass
        if now != self.seen or any(state in "RD" for _, state, _ in now):
            self.seen, self.since = now, time.monotonic()
        return time.monotonic() > self.since + IDLE_SECONDS


class Service:
    def __init__(self, root, folder, package):
        self.folder, self.usual = folder, None
        self.before, program, self.words, given = unit.command_of(package, root)
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", **given}
        self.row = recorded.Row(kind="service", package=package, program=os.path.basename(program))
        self.row["work"] = " ".join(self.words[1:])[:60] or "-"
        os.makedirs(f"{folder}/bin")
        os.chmod(folder, 0o755)
        self.binary = f"{folder}/bin/{self.row['program']}"
        shutil.copyfile(program, self.binary)
        os.chmod(self.binary, 0o755)
        isolation.mount("--bind", self.binary, program)  # whoever starts it runs the copy

    def running(self):
        """Processes that run the copy."""
        for pid in isolation.processes_here():
            try:
                if os.path.samefile(f"/proc/{pid}/exe", self.binary):
                    yield pid
            except OSError:
                pass

    @staticmethod
    def forget_processes():
        """Takes away what says which process it is: one that was killed has left that."""
        for below in ("/run", "/var/lib", "/var/log", "/var/spool"):
            for folder, _, names in os.walk(below):
                for name in names:
                    if name.endswith(".pid"):
                        os.unlink(os.path.join(folder, name))

    def start(self, seconds):
        """The ports that it listens on, within @seconds: all those that it was asked on in a life before, unless it
        only sleeps without them. self.late: it has run all that time without one, or without all of these."""
        self.late = False
        wanted = {p for p in fixed(getattr(self, "ports", ())) if isinstance(p[1], int)}  # paths may have numbers
        self.forget_processes()
        self.log = open(f"{self.folder}/log", "a+")
        starter = subprocess.Popen(
            ["setarch", "-R", *self.before, *self.words], cwd="/", env=self.environment,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
        )
        began, idle = time.monotonic(), Idle(self.running)
        gone = None  # since when neither it nor what starts it runs
        while time.monotonic() < began + seconds:
            time.sleep(0.2)
            if starter.poll() is None or list(self.running()):
                gone = None
            elif (gone := gone or time.monotonic()) < time.monotonic() - GONE_SECONDS:
                return []
            ports = traffic.listening()
            if ports and wanted <= set(ports):
                time.sleep(0.3)
                return traffic.listening()
            if idle.lasts():
                return ports
        self.late = True
        return traffic.listening()

    def stop(self):
        """Ends it and all that it has started, as a service manager does; whether what runs the copy went by itself.
        self.ends_late: it did not, but was computing all the time."""
        left = [pid for pid in isolation.processes_here() if not is_recorder(pid)]
        for pid in left:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        until, ticks = time.monotonic() + END_SECONDS, processor_ticks(left)
        while time.monotonic() < until:
            time.sleep(0.1)
            for pid in left:  # not the recorder, whose status is asked for elsewhere
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
            # A process whose first thread has ended runs nothing that has a name, and may have other threads.
            if not list(self.running()) and not any(map(lives, left)):
                break
        by_itself = not list(self.running())
        used = (processor_ticks(left) - ticks) / os.sysconf("SC_CLK_TCK")
        self.ends_late = not by_itself and used > END_SECONDS / 2
        until = time.monotonic() + END_SECONDS
        # What is left would be in the next life, and in the midst of something when the recorder ends.
        while time.monotonic() < until and (killed := [p for p in {*left, *self.running()} if lives(p)]):
            for pid in killed:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)
        return by_itself

    def serve(self, seconds=READY_SECONDS):
        """One life of it: (answers, milliseconds of the load, ended by itself), or why there is none."""
        ports = self.start(seconds)
        if not ports or not list(self.running()):
            self.stop()
            self.log.seek(0)
            return " ".join(self.log.read()[-160:].split()) or "listens nowhere"
        if not getattr(self, "ports", None):
            self.ports = (fixed(ports) or ports)[:MOST_PORTS]
        began = time.monotonic()
        seen, served = traffic.load(self.ports, ROUNDS, self.usual)
        ms = (time.monotonic() - began) * 1000
        alive = bool(list(self.running()))
        ended = self.stop()
        return {"seen": seen, "served": served, "ms": ms, "alive": alive, "ended": ended, "late": self.ends_late}

    def say(self, verdict, why=""):
        if "verdict" not in self.row:
            self.row["verdict"] = verdict
            self.row["why"] = " ".join(why.split())[:400]

    def changed(self, life):
        """What of a recorded life was in no plain one, or None. What differs from the first is looked for in some
        more: a service that chance ends in another way does so without a recorder too."""
        more = PLAIN_LIVES - len(self.plain)
        wrong = self.unlike_plain(life)
        while wrong and more > 0:
            again = self.serve(RECORDED_SECONDS)
            if isinstance(again, dict):
                self.plain.append(again)
            elif isinstance(life, str):
                raise packages.Skip(f"starts now and then: {again}")
            more -= 1
            wrong = self.unlike_plain(life)
        return wrong

    def unlike_plain(self, life):
        """What of @life was in none of the plain ones seen so far, or None."""
        if isinstance(life, str):
            return f"does not start: {life}"
        for what in ("alive", "ended"):
            if life[what] not in [plain[what] for plain in self.plain] and not (what == "ended" and life["late"]):
                return f"{what}: {life[what]}"
        for job, answers in life["seen"].items():
            usual = set().union(*(plain["seen"].get(job, set()) for plain in self.plain))
            if b"refused" in answers - usual or (answers <= {b"silent", b"closed"}) and not (usual & {b"silent", b"closed"}):
                return f"{job}: {answers}, was {usual}"
        return None

    def recorded_life(self, to, *options):
        recorder = recorded.Recorder(self.binary, to, *options)
        life = self.serve(RECORDED_SECONDS)
        status = recorder.end()
        if status not in (0, 3):
            self.say("FAILED", f"record: status {status}: {recorder.said()}")
            return None
        if self.late:
            self.say("slow", f"it runs, and does not listen after {RECORDED_SECONDS} s")
            return None
        wrong = self.changed(life)
        if wrong:
            self.say("HARM", wrong)
        elif life["late"] and not any(plain["late"] for plain in self.plain):
            self.say("slow", f"it has not ended after {END_SECONDS} s, and was computing")
        return life

    def measure(self):
        if not recorded.plan(self.binary, self.row):
            raise packages.Skip("cannot be planned")
        plain = self.serve()
        if isinstance(plain, str):
            raise packages.Skip(f"does not start here: {plain}")
        self.plain, self.usual = [plain], plain["seen"]
        if not plain["served"]:
            raise packages.Skip("answers nobody")
        life = self.recorded_life(f"{self.folder}/rec")
        if isinstance(life, dict):
            self.row["plain_ms"], self.row["recorded_ms"] = f"{plain['ms']:.0f}", f"{life['ms']:.0f}"
            self.row["slowdown"] = f"{life['ms'] / plain['ms']:.2f}"
            if not recorded.gaps_of(f"{self.folder}/rec", self.row):
                self.say("FAILED")
        self.recorded_life(f"{self.folder}/twin", "--mode", "full", "--twin", "casper", "--twin", "best")
        gaps, first, moved = recorded.modes_agree(f"{self.folder}/twin", self.folder)
        if first and not gaps:
            self.say("WRONG", f"modes differ, without a gap: {first}")
        if self.row.get("gaps") or gaps:
            self.say("gaps", f"{gaps} by three plans at once")
        elif not os.path.getsize(f"{self.folder}/told.full"):
            self.say("FAILED", "nothing recorded")
        elif moved:
            self.say("around", recorded.around_handlers(moved))
        self.say("agree")


def main():
    root, folder, package = sys.argv[1:4]
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    row = recorded.Row(kind="service", package=package)
    try:
        isolation.lay_over(root, folder, ("usr", "etc", "var"))
        service = Service(root, folder, package)
        row = service.row
        service.measure()
    except packages.Skip as why:
        row.update(verdict="skip", why=str(why))
    finally:
        isolation.end_all()
    print(row.line())


if __name__ == "__main__":
    main()
