# SPDX-License-Identifier: LGPL-2.1-or-later
"""traffic.py: a load for a service that nobody here knows: the first words of many protocols, and
noise, to each port of TCP and UDP and each Unix socket on which it listens. Only answers' kinds are told, since
times and numbers in them change."""
import concurrent.futures
import random
import re
import socket
import subprocess
import time

UNIX_KINDS = {"u_str": socket.SOCK_STREAM, "u_seq": socket.SOCK_SEQPACKET, "u_dgr": socket.SOCK_DGRAM}
PATIENCE, UNKNOWN_PATIENCE = 20, 0.4  # seconds: where an answer has been seen before, and where none has
noise = random.Random(20)
WORDS = [
    b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: close\r\n\r\na=b",
    b"EHLO a\r\nNOOP\r\nQUIT\r\n",
    b"USER a\r\nPASS b\r\nHELP\r\nQUIT\r\n",
    b"stats\r\nversion\r\nhelp\r\nquit\r\n",
    b"PING\r\nINFO\r\n",
    b"a CAPABILITY\r\nb LOGOUT\r\n",
    b"NICK a\r\nUSER a 0 * :a\r\nQUIT\r\n",
    b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00",  # LDAP: bind
    b"\0\x1d" + b"\x12\x34\1\0\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\1",  # DNS over TCP
    b"\x12\x34\1\0\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\1",  # DNS
    b"\x23" + b"\0" * 47,  # NTP
    bytes(noise.randrange(256) for _ in range(200)),
]


def listening():
    """(protocol, port or path), of this namespace of the network; Unix sockets after ports."""
    said = subprocess.run(["ss", "-Hlntux"], capture_output=True, text=True).stdout
    found = set()
    for words in map(str.split, said.splitlines()):
        if words[0] in ("tcp", "udp"):
            found.add((words[0], int(words[4].rsplit(":", 1)[1])))
        elif words[0] in UNIX_KINDS and words[4] != "*":
            found.add((words[0], words[4]))
    return sorted(found, key=lambda f: (f[0] in UNIX_KINDS, *map(str, f)))


def addresses(protocol, port):
    """(family, type, address) of what is asked, in the order in which that is tried."""
    if protocol in UNIX_KINDS:
        return [(socket.AF_UNIX, UNIX_KINDS[protocol], re.sub("^@", "\0", port))]
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    return [(socket.AF_INET, kind, ("127.0.0.1", port)), (socket.AF_INET6, kind, ("::1", port))]


def ask(protocol, port, words, patience=UNKNOWN_PATIENCE):
    """What answers within @patience seconds, digits left out, or why nothing does."""
    for family, kind, address in addresses(protocol, port):
        with socket.socket(family, kind) as s:
            s.settimeout(max(2, patience))
            try:
                s.connect(address)
                s.sendall(words)
                s.settimeout(patience)
                answer = s.recv(4096)
                return re.sub(rb"[\d:]+", b"0", answer[:24])
            except (ConnectionRefusedError, FileNotFoundError):
                continue
            except TimeoutError:
                return b"silent"
            except OSError:
                return b"closed"
    return b"refused"


def load(ports, rounds, usual=None, seconds=float("inf")):
    """{(protocol, port, words): answers seen}, how many requests were made, and how many of them were not refused. What
    has answers in @usual, the same of a life before, is waited for: the machine may be busy. After @seconds no more is
    asked; what was until then is a sample, as the order is a random one."""
    jobs = [(p, n, w) for p, n in ports for w in range(len(WORDS))]
    random.Random(rounds).shuffle(jobs)
    seen, asked, served = {}, 0, 0
    until = time.monotonic() + seconds

    def answer_of(job):
        if time.monotonic() > until:
            return None
        before = (usual or {}).get(job)
        patience = PATIENCE if before and b"silent" not in before else UNKNOWN_PATIENCE
        return ask(job[0], job[1], WORDS[job[2]], patience)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for _ in range(rounds):
            for job, answer in zip(jobs, pool.map(answer_of, jobs)):
                if answer is not None:
                    seen.setdefault(job, set()).add(answer)
                    asked += 1
                    served += answer != b"refused"
    return seen, asked, served
