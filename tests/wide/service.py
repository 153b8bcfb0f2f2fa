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
import processes
import recorded
import traffic
import unit

READY_SECONDS, RECORDED_SECONDS, GONE_SECONDS = 30, 90, 2
IDLE_SECONDS, LATER_SECONDS = 5, 15  # how long it may sleep without listening: at first, and once it has listened
END_SECONDS, LONGEST_END_SECONDS = 15, 60  # how long it may take to end: as many, or more if it is slow
LOAD_SECONDS, ROW_SECONDS = 30, 220
ROUNDS, MOST_PORTS, PLAIN_LIVES = 3, 3, 4


def fixed(ports):
    """Those of @ports that are not the kernel's choice, which is another one each time."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        first, last = map(int, f.read().split())
    return [p for p in ports if isinstance(p[1], str) or not first <= p[1] <= last]


def is_recorder(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", recorded.PUGMARK)
    except OSError:
        return False


def started():
    """All processes here but a recorder."""
    return (pid for pid in isolation.processes_here() if not is_recorder(pid))


class Service:
    doing = "plain"

    def __init__(self, root, folder, package):
        self.folder, self.usual, self.plain, self.ports = folder, None, [], []
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

    def wanted(self):
        """The ports that it was asked on in a life before."""
        return {p for p in fixed(self.ports) if isinstance(p[1], int)}  # paths may have numbers

    def start(self, seconds):
        """The ports that it listens on, within @seconds: all that are wanted, unless it only sleeps without them.
        self.late: it has run all that time without one, or without all of these."""
        self.late = False
        wanted = self.wanted()
        self.forget_processes()
        self.log = open(f"{self.folder}/log", "a+")
        starter = subprocess.Popen(
            ["setarch", "-R", *self.before, *self.words], cwd="/", env=self.environment,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
        )
        began = time.monotonic()
        idle = processes.Idle(started, LATER_SECONDS if wanted else IDLE_SECONDS)
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

    def longest_end(self, seconds):
        """How long it may take to end if it computes all that time, where it has taken @seconds of a processor so far:
        as long as the first life, times how much more this one has computed."""
        if not self.plain:
            return END_SECONDS
        first = self.plain[0]
        slower = seconds / max(first["processor_s"], 0.01)
        return min(max(END_SECONDS, 2 * slower * first["end_s"]), LONGEST_END_SECONDS)

    def stop(self):
        """Ends it and all that it has started, as a service manager does: {"ended": whether what runs the copy went by
        itself, "ends_late": it did not, but was computing all the time, "end_s": how long that took, "processor_s":
        what it had computed before}."""
        left = list(started())
        used, work, began = processes.processor_seconds(left), processes.Work(left), time.monotonic()
        longest = self.longest_end(used)
        for pid in left:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        while time.monotonic() < began + (longest if work.is_most() else END_SECONDS):
            time.sleep(0.1)
            work.look()
            for pid in left:  # not the recorder, whose status is asked for elsewhere
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
            # A process whose first thread has ended runs nothing that has a name, and may have other threads.
            if not list(self.running()) and not any(map(processes.lives, left)):
                break
        ended, took = not list(self.running()), time.monotonic() - began
        self.kill(left)
        return {"ended": ended, "ends_late": not ended and work.is_most(), "end_s": took, "processor_s": used}

    def kill(self, left):
        """Ends what is left: it would be in the next life, and in the midst of something when the recorder ends."""
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until and (lives := [p for p in {*left, *self.running()} if processes.lives(p)]):
            for pid in lives:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)

    def opens(self, missing):
        """Those of the ports @missing that it opens within some time after it was asked."""
        until = time.monotonic() + LATER_SECONDS
        while missing - {*traffic.listening()} and time.monotonic() < until and list(self.running()):
            time.sleep(0.2)
        return missing & {*traffic.listening()}

    def serve(self, seconds=READY_SECONDS):
        """One life of it: what came of the load and of its end, or why there is none."""
        ports = self.start(seconds)
        if not ports or not list(self.running()):
            self.stop()
            self.log.seek(0)
            return " ".join(self.log.read()[-160:].split()) or "listens nowhere"
        if not self.ports:
            self.ports = (fixed(ports) or ports)[:MOST_PORTS]
        began = time.monotonic()
        seen, asked, served = traffic.load(self.ports, ROUNDS, self.usual, LOAD_SECONDS)
        ms = (time.monotonic() - began) * 1000 / asked
        alive = bool(list(self.running()))
        opens_late = self.opens(self.wanted() - {*ports})
        return {"seen": seen, "served": served, "ms": ms, "alive": alive, "opens_late": opens_late, **self.stop()}

    def out_of_time(self, *_):
        """Ends the row with what is known of it."""
        self.say_slow(f"not done after {ROW_SECONDS} s: {self.doing}")
        isolation.end_all()
        print(self.row.line(), flush=True)
        os._exit(0)

    def say(self, verdict, why=""):
        if "verdict" not in self.row:
            self.row["verdict"] = verdict
            self.row["why"] = " ".join(why.split())[:400]

    def say_slow(self, why):
        """Unless what was recorded until then has gaps: a slow program may have those as well."""
        self.say("gaps" if self.row.get("gaps") else "slow", why)

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
            if life[what] not in [plain[what] for plain in self.plain] and not (what == "ended" and life["ends_late"]):
                return f"{what}: {life[what]}"
        for job, answers in life["seen"].items():
            if job[:2] in life["opens_late"]:
                continue
            usual = set().union(*(plain["seen"].get(job, set()) for plain in self.plain))
            nothing = answers <= {b"silent", b"closed"} and not usual & {b"silent", b"closed"}
            if usual and (nothing or b"refused" in answers - usual):
                return f"{job}: {answers}, was {usual}"
        return None

    def recorded_life(self, to, *options):
        self.doing = f"record {' '.join(options)}".rstrip()
        recorder = recorded.Recorder(self.binary, to, *options)
        life = self.serve(RECORDED_SECONDS)
        status = recorder.end()
        if status not in (0, 3):
            self.say("FAILED", f"record: status {status}: {recorder.said()}")
            return None
        if not options and not recorded.gaps_of(to, self.row):
            self.say("FAILED")
        return life if self.judge(life) else None

    def judge(self, life):
        """Says what of a recorded life is not as without a recorder; False: it did not come so far as to be asked."""
        if self.late:
            self.say_slow(f"{self.doing}: it runs, and does not listen after {RECORDED_SECONDS} s")
            return False
        wrong = self.changed(life)
        if wrong:
            self.say("HARM", f"{self.doing}: {wrong}")
        elif life["opens_late"]:
            self.say_slow(f"{self.doing}: it was asked before it listened on {life['opens_late']}")
        elif life["ends_late"] and not any(plain["ends_late"] for plain in self.plain):
            self.say_slow(f"{self.doing}: it has not ended after {life['end_s']:.0f} s, and was computing")
        return isinstance(life, dict)

    def measure(self):
        signal.signal(signal.SIGALRM, self.out_of_time)
        signal.alarm(ROW_SECONDS)
        if not recorded.plan(self.binary, self.row):
            raise packages.Skip("cannot be planned")
        plain = self.serve()
        if isinstance(plain, str):
            raise packages.Skip(f"does not start here: {plain}")
        self.plain, self.usual = [plain], plain["seen"]
        if not plain["served"]:
            raise packages.Skip("answers nobody")
        life = self.recorded_life(f"{self.folder}/rec")
        if life:
            self.row["plain_ms"], self.row["recorded_ms"] = f"{plain['ms']:.1f}", f"{life['ms']:.1f}"
            self.row["slowdown"] = f"{life['ms'] / plain['ms']:.2f}"
        self.recorded_life(f"{self.folder}/twin", "--mode", "full", "--twin", "casper", "--twin", "best")
        self.doing = "what three plans tell is compared"
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
