# SPDX-License-Identifier: LGPL-2.1-or-later
"""isolation.py: what keeps a strange program from the host while it is tried: namespaces of mounts and
of the network with nothing but loopback (processes, /home, /boot and /dev stay the host's); a package's files over those of the host; and at the end no
process of it that is left. To be used by a process that `unshare --mount --net` has started."""
import os
import signal
import subprocess

NOBODY = 65534


def mount(*args):
    subprocess.run(["mount", *args], check=True)


def lay_over(root, scratch, writable=()):
    """@root's /usr over the host's; the folders @writable are copied on write, into @scratch."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for folder in ("usr", "etc", "var"):
        below = [f"{root}/{folder}"] if os.path.isdir(f"{root}/{folder}") else []
        option = "lowerdir=" + ":".join(below + [f"/{folder}"])
        if folder in writable:
            upper, work = f"{scratch}/{folder}.upper", f"{scratch}/{folder}.work"
            os.makedirs(upper)
            os.makedirs(work)
            option += f",upperdir={upper},workdir={work}"
        elif not below:
            continue
        mount("-t", "overlay", "overlay", "-o", option, f"/{folder}")
    if "var" in writable:
        mount("-t", "tmpfs", "tmpfs", "/run")
        os.makedirs("/run/lock")


def processes_here():
    """Those of our namespace of the network, but this one and what it descends from."""
    ours = os.readlink("/proc/self/ns/net")
    if os.environ.get("WIDE_HOST_NET", ours) == ours:
        raise RuntimeError("not in a namespace of its own: start check.py, or unshare --mount --net")
    spared = {os.getpid()}
    at = os.getpid()
    while at > 1:
        with open(f"/proc/{at}/stat") as f:
            at = int(f.read().rsplit(")", 1)[1].split()[1])
        spared.add(at)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == ours and int(pid) not in spared:
                yield int(pid)
        except OSError:
            pass


def end_all():
    """Ends what is left, by pid."""
    for _ in range(5):
        left = list(processes_here())
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not left:
            return
        subprocess.run(["sleep", "0.1"])


def as_nobody():
    """The command line before one that is to run without any right."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
