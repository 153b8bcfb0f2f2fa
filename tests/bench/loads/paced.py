# SPDX-License-Identifier: LGPL-2.1-or-later
"""paced.py PORT RATE REQUEST: so many requests a second over one connection to 127.0.0.1, whatever the
server takes for one, until SIGTERM; a late one is made up for. The first reply says how long a reply is.
Prints how many replies were right, and how many were not."""
import signal
import socket
import sys
import time

ended = False


def end(*_):
    global ended
    ended = True


signal.signal(signal.SIGTERM, end)
port, rate = int(sys.argv[1]), float(sys.argv[2])
request = sys.argv[3].encode().decode("unicode_escape").encode()
to = socket.create_connection(("127.0.0.1", port))
to.settimeout(10)
to.sendall(request)
time.sleep(0.2)
like = to.recv(1 << 20)
began, right, wrong = time.monotonic(), 0, 0
while not ended:
    due = began + (right + wrong) / rate - time.monotonic()
    if due > 0:
        time.sleep(due)
    try:
        to.sendall(request)
        reply = b""
        while len(reply) < len(like):
            got = to.recv(1 << 20)
            if not got:
                raise OSError("closed")
            reply += got
    except OSError:
        wrong += 1
        to = socket.create_connection(("127.0.0.1", port))
        continue
    if reply[:12] == like[:12]:
        right += 1
    else:
        wrong += 1
print(right, wrong)
