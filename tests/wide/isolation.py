# SPDX-License-Identifier: LGPL-2.1-or-later
"""isolation.py: what keeps a strange program, and what its package runs as root, from the host: namespaces
of mounts and of the network with nothing but loopback (processes stay the host's); a package's files over
those of the host, a /tmp and a /dev of its own, and other folders that can only be read; at the end no
process of it that is left. To be used by a process that `unshare --mount --net` has started."""
import os
import signal
import subprocess
import sys
import tempfile

NOBODY = 65534
READ_ONLY = ("boot", "home", "root", "opt", "srv", "mnt", "media")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")


def mount(*args):
    subprocess.run(["mount", *args], check=True)


def own_tmp(scratch, needed):
    """A /tmp with nothing in it but the folders @needed, if they are there."""
    own = f"{scratch}/tmp"
    os.makedirs(own)
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", own)
    for folder in sorted({os.path.realpath(n) for n in needed}):
        if folder.startswith("/tmp/") and not os.path.isdir(own + folder[4:]):
            os.makedirs(own + folder[4:])
            mount("--bind", folder, own + folder[4:])
    mount("--rbind", own, "/tmp")


def own_dev(scratch):
    """A /dev without the host's disks."""
    own = f"{scratch}/dev"
    os.makedirs(own)
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", own)
    for name in DEVICES:
        open(f"{own}/{name}", "w").close()
        mount("--bind", f"/dev/{name}", f"{own}/{name}")
    for name, to in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{to}", f"{own}/{name}")
    os.makedirs(f"{own}/pts")
    mount("--bind", "/dev/pts", f"{own}/pts")
    os.makedirs(f"{own}/shm")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", f"{own}/shm")
    mount("--rbind", own, "/dev")


def lay_over(root, scratch, writable=()):
    """@root's /usr over the host's; the folders @writable are copied on write, into @scratch."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    here = os.path.dirname(os.path.abspath(__file__))
    own_tmp(scratch, [os.path.dirname(scratch), os.path.dirname(os.path.dirname(here)),
                      os.path.dirname(os.environ["PUGMARK"]), os.environ["TOOLS"]])
    own_dev(scratch)
    for folder in filter(os.path.isdir, (f"/{name}" for name in READ_ONLY)):
        mount("--bind", folder, folder)
        mount("-o", "remount,bind,ro", folder)
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


def parent_of(pid):
    """The process that has started @pid, or 0 if that has ended."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def processes_here():
    """Those of our namespace of the network, but this one and what it descends from."""
    ours = os.readlink("/proc/self/ns/net")
    if os.environ.get("WIDE_HOST_NET", ours) == ours:
        raise RuntimeError("not in a namespace of its own: start check.py, or unshare --mount --net")
    spared = {os.getpid()}
    at = os.getpid()
    while at > 1:
        at = parent_of(at)
        spared.add(at)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == ours and int(pid) not in spared:
                yield int(pid)
        except OSError:
            pass


def end_all(spare=()):
    """Ends what is left, by pid, but for @spare and what these have started."""
    for _ in range(5):
        left = [pid for pid in processes_here() if not {pid, parent_of(pid)} & {*spare}]
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


def faults(scratch):
    """What of the host a package's script could still reach as root; to be called in new namespaces."""
    seen = set(os.listdir("/tmp"))
    os.makedirs(f"{scratch}/root")
    lay_over(f"{scratch}/root", scratch, ("usr", "etc", "var"))
    kept = {"pugmark-wide." + os.path.dirname(scratch).rpartition(".")[2]}
    for name in ("PUGMARK", "TOOLS"):
        kept.add(os.path.realpath(os.environ[name]).split("/")[2])
    left = (seen & set(os.listdir("/tmp"))) - kept
    if left:
        yield f"/tmp has {sorted(left)[:3]} of the host"
    for name in os.listdir("/dev"):
        if os.path.isfile(f"/sys/class/block/{name}/dev"):
            yield f"/dev has the disk {name}"
    for folder in filter(os.path.isdir, (f"/{name}" for name in READ_ONLY)):
        try:
            os.rmdir(tempfile.mkdtemp(dir=folder))
            yield f"{folder} can be written"
        except OSError:
            pass


if __name__ == "__main__":
    found = list(faults(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
