# SPDX-License-Identifier: LGPL-2.1-or-later
"""slowness.py: whether a service that is slow is told from one that is harmed.

    slowness.py FOLDER

A service of two ports that differs from its first life in one thing is to get the verdict of that. To be started by
check.py, in namespaces of its own; says what is wrong."""
import os
import shutil
import subprocess
import sys

import isolation
import recorded
import service
import traffic

PORTS = [("tcp", 7001), ("tcp", 7002)]
SERVICE = """
import os, signal, socket, sys, threading, time

def let_pass(how):
    seconds = float(how[1:])
    if how[0] == "s":
        time.sleep(seconds)
    while how[0] == "c" and time.process_time() < seconds:
        pass

def end(*_):
    let_pass(sys.argv[2])
    os._exit(0)

def listen(port):
    with socket.create_server(("127.0.0.1", port)) as s:
        while True:
            with s.accept()[0] as asks:
                asks.recv(100)
                asks.sendall(b"hello")

signal.signal(signal.SIGTERM, end)
threading.Thread(target=listen, args=(7001,), daemon=True).start()
let_pass(sys.argv[1])
threading.Thread(target=listen, args=(7002,), daemon=True).start()
while True:
    time.sleep(1)
"""
# How it passes the time before it opens its second port, and before it ends: it sleeps (s) for so many seconds, or
# computes (c) until it has had so many of a processor.
CASES = (
    ("the same", "s0", "s0", None),
    ("computes before it listens", "c1.5", "s0", None),
    ("sleeps before it listens", "s1.2", "s0", None),
    ("is asked before it listens", "s2.8", "s0", "slow"),
    ("does not listen", "s1000", "s0", "HARM"),
    ("sleeps and does not end", "s0", "s1000", "HARM"),
    ("computes and does not end", "s0", "c1000", "slow"),
    ("computes and ends, as slowly as it listened", "c1.5", "c2.7", None),
)
BUSY = ("computes beside others and does not end", "s0", "c1000", "slow")


class Example(service.Service):
    """The service above, as service.py sees one of a package, that has had its first life."""

    def __init__(self, folder, python):
        self.folder, self.usual, self.plain, self.ports = folder, None, [], []
        self.before, self.binary = [], python
        self.environment = {"PATH": os.environ["PATH"], "PYTHONHOME": sys.base_prefix}
        first = self.life_of("s0", "s0")
        if isinstance(first, str) or self.ports != PORTS:
            raise RuntimeError(f"first life: {first}")
        self.plain, self.usual = [first], first["seen"]

    def life_of(self, opens, ends):
        self.words = [self.binary, "-c", SERVICE, opens, ends]
        return self.serve(service.RECORDED_SECONDS)

    def verdict(self, opens, ends, before=()):
        self.row, self.before = recorded.Row(), [*before]
        self.judge(self.life_of(opens, ends))
        return self.row.get("verdict")

    def beside_others(self, opens, ends):
        """The same with a quarter of one processor."""
        alone = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
        loop = [*alone, "unshare", "--net", sys.executable, "-c", "while True: pass"]
        busy = [subprocess.Popen(loop, start_new_session=True) for _ in range(3)]  # one session may be given one share
        try:
            return self.verdict(opens, ends, alone)
        finally:
            for process in busy:
                process.kill()
                process.wait()


def main():
    folder = sys.argv[1]
    os.makedirs(f"{folder}/root")
    isolation.lay_over(f"{folder}/root", folder, ("usr", "etc", "var"))
    python = f"{folder}/python"
    shutil.copyfile(os.path.realpath(sys.executable), python)
    os.chmod(python, 0o755)
    service.PLAIN_LIVES = 1  # more lives would be as the one that is judged
    service.IDLE_SECONDS, service.LATER_SECONDS = 0.6, 2
    service.END_SECONDS, service.LONGEST_END_SECONDS, service.RECORDED_SECONDS = 1, 10, 10
    example = Example(folder, python)
    said = [(what, wanted, example.verdict(opens, ends)) for what, opens, ends, wanted in CASES]
    what, opens, ends, wanted = BUSY
    said.append((what, wanted, example.beside_others(opens, ends)))
    isolation.end_all()
    wrong = [f"{what}: {got}, should be {wanted}" for what, wanted, got in said if got != wanted]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
