#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""valued.py: recordings of level values of programs that nobody chose, against the processor.

    valued.py --seed N [--programs N] [--skip N] [--instructions N] [--seconds N]
    valued.py ROOT FOLDER PACKAGE INSTRUCTIONS

The first draws packages as check.py does, the first N of which with something to compare are shown; --skip
leaves so many of the lot out, where another run has ended. The second is one of them, in namespaces of its
own. A program gets the work that check.py gives it, is recorded, and executed again step by step beside the
replay of that (tests/value/recorded.c). Exit status 1: a value was wrong."""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import isolation  # noqa: E402
import lot  # noqa: E402
import packages  # noqa: E402
import program  # noqa: E402
import work  # noqa: E402
from recorded import PUGMARK, TOOLS  # noqa: E402

ROW_SECONDS, COMPARED_SECONDS = 150, 70


class Valued(program.Program):
    def start(self, command, output):
        """What @command, which is to run the program, prints itself; the files are as at the start."""
        at = f"{self.folder}/work"
        shutil.rmtree(at, ignore_errors=True)
        work.fill(at, isolation.NOBODY)
        variables = [f"{k}={v}" for k, v in
                     {**program.ENVIRONMENT, "XDG_CACHE_HOME": f"{self.folder}/cache"}.items()]
        with open(f"{at}/{self.stdin}" if self.stdin else os.devnull, "rb") as given, open(output, "wb") as out:
            try:
                done = subprocess.run(["env", "-i", *variables, *command, self.binary, *self.args], cwd=at,
                                      stdin=given, stdout=out, stderr=subprocess.PIPE, timeout=COMPARED_SECONDS)
            except subprocess.TimeoutExpired as late:
                raise packages.Skip("not done in time") from late
        return done.stderr.decode(errors="replace")

    def compared(self, instructions):
        """Lines of tests/value/recorded.c."""
        self.choose_work()
        rec, out, said = (f"{self.folder}/{name}" for name in ("rec", "out", "said"))
        # Whoever steps it runs it as nobody, and writes what it prints.
        open(out, "wb").close()
        os.chmod(out, 0o666)
        why = self.start(["setarch", "-R", PUGMARK, "record", "-q", "--level", "values", "-o", rec, "--user",
                          "nobody", "--"], out)
        if not os.path.exists(f"{rec}/meta.json"):
            raise packages.Skip(f"not recorded: {why[-200:]}")
        subprocess.run(["chmod", "-R", "a+rX", rec], check=True)
        given = f"{self.folder}/work/{self.stdin}" if self.stdin else os.devnull
        why = self.start([*isolation.as_nobody(), f"{TOOLS}/recorded", "-n", str(instructions), "-i", given, "-o",
                          out, rec], said)
        with open(said, errors="replace") as f:
            return f.read().strip() or f"nothing: {why[-200:]}"


def one(root, folder, package, instructions):
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    try:
        isolation.lay_over(root, folder)
        found = packages.programs_of(package, root)
        if not found:
            raise packages.Skip("has no program")
        valued = Valued(folder, package, *random.Random(package).choice(found))
        lines = valued.compared(instructions)
        print(f"{package} {valued.name} {' '.join(valued.args)}{' <' + valued.stdin if valued.stdin else ''}\n{lines}")
    except packages.Skip as why:
        print(f"skip {package}: {why}")
    finally:
        isolation.end_all()


def row_of(package, instructions):
    scratch = tempfile.mkdtemp(prefix="pugmark-wide.", dir="/tmp")
    os.chmod(scratch, 0o755)
    try:
        os.makedirs(f"{scratch}/root")
        os.makedirs(f"{scratch}/folder")
        packages.unpack(package, f"{scratch}/root")
        done = subprocess.run(
            ["unshare", "--mount", "--net", sys.executable, __file__, f"{scratch}/root", f"{scratch}/folder", package,
             str(instructions)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=ROW_SECONDS,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "WIDE_HOST_NET": os.readlink("/proc/self/ns/net")})
        return done.stdout.strip() or f"skip {package}: {done.stderr[-300:]}"
    except packages.Skip as why:
        return f"skip {package}: {why}"
    except subprocess.TimeoutExpired:
        return f"skip {package}: not done after {ROW_SECONDS} s"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main():
    if len(sys.argv) == 5 and sys.argv[1].startswith("/"):
        return one(*sys.argv[1:])
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, usual in (("seed", 20), ("programs", 10), ("skip", 0), ("instructions", 1000000), ("seconds", 1 << 30)):
        ask.add_argument(f"--{name}", type=int, default=usual)
    args = ask.parse_args()
    until, shown, wrong = time.monotonic() + args.seconds, 0, False
    for package in lot.draw(args.seed, "program")[args.skip:]:
        if shown == args.programs or time.monotonic() > until:
            break
        said = row_of(package, args.instructions)
        print(said, flush=True)
        shown += " compared, " in said
        wrong |= bool(re.search(r" compared, [1-9]\d* wrong", said))
    return 1 if wrong or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
