#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""check.py: tries Pugmark on programs and services that nobody chose.

    check.py --table FILE [--seed N] [--programs N] [--services N] [--seconds N]
    check.py --quick [--seed N]

Draws packages by lot (lot.py), takes each out of the archive into a folder of its own, and adds a row to
the table. What has a row is not tried again, so that it goes on where it was ended. --quick: a tenth of
the programs, out of those that are installed. Exit status 1 if a trace was wrong or harm was done, 77 if it cannot run here."""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
os.environ.setdefault("PUGMARK", f"{top}/build/pugmark")
os.environ.setdefault("TOOLS", f"{top}/build/oracle")
sys.path.insert(0, here)
import around  # noqa: E402
import lot  # noqa: E402
import packages  # noqa: E402
import recorded  # noqa: E402

ROW_SECONDS = 240
WRONG = ("HARM", "WRONG", "OTHER", "FAILED")
GOOD = ("exact", "agree")


class Table:
    """Rows in a file of tab separated columns, written as they come."""

    def __init__(self, path):
        self.path, self.rows = path, []
        if os.path.exists(path):
            with open(path) as f:
                for line in f.read().splitlines()[1:]:
                    self.rows.append(dict(zip(recorded.Row.COLUMNS, line.split("\t"))))
        else:
            self.write("\t".join(recorded.Row.COLUMNS))

    def write(self, line):
        with open(self.path, "a") as f:
            f.write(line + "\n")

    def add(self, row, details):
        self.write(row.line())
        self.rows.append({c: str(row.get(c, "-")) for c in row.COLUMNS})
        if details.strip():
            with open(self.path + ".details", "a") as f:
                f.write(f"=== {row['package']} {row.get('program', '-')}\n{details.strip()}\n")

    def has(self, kind, package):
        return any(r["kind"] == kind and r["package"] == package for r in self.rows)

    def of(self, kind):
        return [r for r in self.rows if r["kind"] == kind and r["verdict"] != "skip"]


def row_environment():
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "WIDE_HOST_NET": os.readlink("/proc/self/ns/net")}


def row_of(kind, package, *names):
    """A row made in namespaces of its own: (row, details)."""
    row, details = recorded.Row(kind=kind, package=package), ""
    # Not where TMPDIR says: that may be a folder that nobody else can enter, and programs run as nobody.
    scratch = tempfile.mkdtemp(prefix="pugmark-wide.", dir="/tmp")
    os.chmod(scratch, 0o755)
    try:
        root = "-"
        if not names:
            root = f"{scratch}/root"
            os.makedirs(root)
            packages.unpack(package, root)
        os.makedirs(f"{scratch}/folder")
        process = subprocess.Popen(
            ["unshare", "--mount", "--net", sys.executable, f"{here}/{kind}.py", root, f"{scratch}/folder",
             package, *names],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", env=row_environment(),
        )
        try:
            out, err = process.communicate(timeout=ROW_SECONDS)
            line, _, details = out.partition("\n")
            if line.count("\t"):
                row.update(zip(row.COLUMNS, line.split("\t")))
            else:
                row.update(verdict="FAILED", why=f"the test itself: {err.strip()[-300:]}")
        except subprocess.TimeoutExpired:
            end_namespace(process)
            row.update(verdict="slow", why=f"not done after {ROW_SECONDS} s")
    except packages.Skip as why:
        row.update(verdict="skip", why=str(why))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return row, details


def end_namespace(process):
    """All that runs in the namespace of the network that @process has."""
    theirs = os.readlink(f"/proc/{process.pid}/ns/net")
    if theirs == os.readlink("/proc/self/ns/net"):  # it has not come so far
        process.kill()
        process.communicate()
        return
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == theirs:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    process.communicate()


def show(row):
    print(
        f"{row['kind'][:7]:7} {row['package'][:22]:22} {row.get('program', '-')[:18]:18} {row.get('verdict'):6}"
        f" {row.get('events', '-'):>9} {row.get('gaps', '-'):>6} {row.get('causes', '-')[:24]:24}"
        f" {row.get('plan_s', '-'):>6} s {row.get('plan_mb', '-'):>4} MB  x{row.get('slowdown', '-'):6}"
        f" {row.get('work', '-')[:20]:20} {row.get('why', '')[:90]}",
        flush=True,
    )


def wanting(table, drawn, wanted):
    """The next of each kind in turn, as long as rows of that kind are wanted: a table that is ended early
    has some of both. @drawn and @wanted by kind."""
    left = {kind: iter(packages_drawn) for kind, packages_drawn in drawn.items()}
    while left:
        for kind in list(left):
            name = next((d for d in left[kind] if not table.has(kind, d if isinstance(d, str) else d[0])), None)
            if name is None or len(table.of(kind)) >= wanted[kind]:
                del left[kind]
            else:
                yield kind, name


def fill(table, drawn, wanted, until, tries=1):
    """Rows of packages in the order drawn, until there are enough or it is too late. One that is not right is
    tried as often as @tries says: chance may have told two runs apart, and does not do so twice."""
    for kind, name in wanting(table, drawn, wanted):
        if time.monotonic() > until:
            return
        package, names = (name, ()) if isinstance(name, str) else (name[0], name[1:])
        for _ in range(tries):
            row, details = row_of(kind, package, *names)
            if row["verdict"] not in WRONG:
                break
        table.add(row, details)
        if row["verdict"] != "skip":
            show(table.rows[-1])


def holds_in_namespaces(script, claim):
    """Whether a script finds nothing wrong that is started as a row is."""
    with tempfile.TemporaryDirectory(prefix="pugmark-wide.", dir="/tmp") as scratch:
        os.chmod(scratch, 0o755)
        os.makedirs(f"{scratch}/folder")
        said = subprocess.run(
            ["unshare", "--mount", "--net", sys.executable, f"{here}/{script}", f"{scratch}/folder"],
            capture_output=True, text=True, env=row_environment())
    if said.returncode:
        print(f"{claim}: {' '.join((said.stdout or said.stderr).split())[-300:]}")
    return said.returncode == 0


def is_apart():
    """Whether what runs as root in a row's namespaces reaches nothing of the host that it should not."""
    return holds_in_namespaces("isolation.py", "not apart from the host")


def tells_slow_from_harm():
    """Whether a service that is slow is told from one that is harmed."""
    return holds_in_namespaces("slowness.py", "slow, or harmed")


def hears_the_program_alone():
    """Whether what a recorder says of lost events is not taken for what the program says."""
    with tempfile.TemporaryDirectory(prefix="pugmark-wide.", dir="/tmp") as scratch:
        program = f"{scratch}/program"
        shutil.copyfile(shutil.which("gzip"), program)
        os.chmod(program, 0o755)
        with open(f"{scratch}/text", "w") as f:
            f.writelines(f"{n * n}\n" for n in range(20000))
        command = [program, "-1", "--verbose", "--keep", "--force", f"{scratch}/text"]
        alone = subprocess.run(command, stderr=subprocess.PIPE).stderr
        loses = {**os.environ, "PUGMARK_RING_BYTES": "65536", "PUGMARK_STALL_MS": "300"}
        said = subprocess.run(
            [os.environ["PUGMARK"], "record", "-q", "-o", f"{scratch}/rec", "--mode", "full", "--", *command],
            stderr=subprocess.PIPE, env=loses).stderr
    if b"events were lost" in said and recorded.without_own_words(said) == alone:
        return True
    print(f"the program said {alone!r}; of it and the recorder was heard {said!r}")
    return False


CALLS = ["call p 1 p:10", "ret p 10", "call p 2 -", "call p 3 p:20", "tail p 21 -", "call p 4 p:10", "ret p 10"]
HANDLER = ["enter p 30 signal", "call p 31 p:40", "enter p 50 callback", "ret p 50", "ret p 40", "ret p 30"]


def tells_sides_from_wrong_traces():
    """Whether events that stand before a handler by one trace and behind it by another are told from others."""
    def of(*lines):
        return around.part_of([line for part in lines for line in ([part] if isinstance(part, str) else part)])

    def at(*places, calls=CALLS, handler=HANDLER):
        return of(*[line for i in range(len(calls) + 1)
                    for line in [*handler * places.count(i), *calls[i:i + 1]]])

    inner = [HANDLER[0], *HANDLER, *HANDLER[1:]]
    inner_later = [HANDLER[0], HANDLER[1], *HANDLER, *HANDLER[2:]]
    wanted = (
        ("the same", at(2, 4), at(2, 4), 0), ("one event", at(2), at(3), 1), ("its begin", at(0), at(1), 1),
        ("its end", at(6), at(7), 1), ("two handlers", at(2, 2), at(2, 3), 1), ("another two", at(1, 5), at(2, 4), 2),
        ("inside of a handler", at(2, handler=inner), at(2, handler=inner_later), 1),
        ("two events", at(2), at(4), None), ("one handler less", at(2, 2), at(2), None),
        ("another event", at(2), at(2, calls=[*CALLS[:3], "call p 9 -", *CALLS[3:]]), None),
        ("events in another order", at(2), at(2, calls=[CALLS[2], *CALLS[:2], *CALLS[3:]]), None),
        ("an event out of a handler", at(2), at(2, handler=[HANDLER[0], "call p 2 -", *HANDLER[1:]]), None),
        ("another handler", at(2), at(2, handler=[HANDLER[0].replace("30", "38"), *HANDLER[1:]]), None),
    )
    wrong = [what for what, one, other, moved in wanted
             if (around.moved_in(one, other), around.moved_in(other, one)) != (moved, moved)]
    if wrong:
        print(f"sides of handlers: {', '.join(wrong)}")
    return not wrong


def number(text):
    return int(text) if text.isdigit() else 0


def skipped(table, kind):
    """Why packages have no row, most frequent first."""
    why = (re.sub(r"\d+", "N", r["why"].split(":")[0]) for r in table.rows if r["kind"] == kind and r["verdict"] == "skip")
    return ", ".join(f"{n} {reason}" for reason, n in collections.Counter(why).most_common()) or "none"


def sum_up(table):
    """How many of each kind are as they should be. True unless a trace is wrong or harm was done."""
    right = True
    for kind in ("program", "service"):
        rows = table.of(kind)
        if not rows:
            continue
        none = sum(r["verdict"] in GOOD for r in rows)
        few = sum(
            r["gaps"].isdigit() and int(r["gaps"]) * 1000000 <= number(r["events"]) and r["verdict"] not in WRONG
            for r in rows
        )
        by = ", ".join(f"{sum(r['verdict'] == v for r in rows)} {v}" for v in (*GOOD, "around", "unseen", "slow", "gaps", *WRONG))
        print(f"{len(rows)} {kind}s: {by}; no gap in {100 * none / len(rows):.1f} %, "
              f"at most one in a million events in {100 * few / len(rows):.1f} %")
        print(f"{kind}s drawn that give no row: {skipped(table, kind)}")
        right = right and not any(r["verdict"] in WRONG for r in rows)
    return right


def cannot_run(quick):
    if os.getuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "recording needs root and a kernel with BTF"
    for tool in ["unshare", "setpriv", "setarch", "ip", "qemu-x86_64"] + ([] if quick else ["apt-cache", "dpkg-deb"]):
        if not shutil.which(tool):
            return f"no {tool} here"
    return None


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--table")
    ask.add_argument("--seed", type=int, default=20)
    ask.add_argument("--programs", type=int, default=120)
    ask.add_argument("--services", type=int, default=30)
    ask.add_argument("--seconds", type=int, default=1 << 30)
    ask.add_argument("--quick", action="store_true")
    args = ask.parse_args()
    why = cannot_run(args.quick)
    if why:
        print(f"SKIP: {why}")
        return 77
    until = time.monotonic() + args.seconds
    if args.quick:
        os.environ["WIDE_KINDS"] = "4"
        with tempfile.TemporaryDirectory() as folder:
            table = Table(f"{folder}/table")
            fill(table, {"program": lot.draw_installed(args.seed)}, {"program": 12}, until, tries=2)
            right = sum_up(table)
        claims = (tells_sides_from_wrong_traces, is_apart, tells_slow_from_harm, hears_the_program_alone)
        right = all(claim() for claim in claims) and right
        return 0 if right and table.of("program") else 1
    table = Table(args.table)
    wanted = {"service": args.services, "program": args.programs}
    fill(table, {kind: lot.draw(args.seed, kind) for kind in wanted}, wanted, until)
    return 0 if sum_up(table) else 1


if __name__ == "__main__":
    sys.exit(main())
