#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What somebody with an account does beside a recorder: hostile.py MANNER ELF FOLDER, until it is ended.

FOLDER is his. fifo: a file that is mapped becomes a FIFO of its name, so that who opens it by name
waits for ever. links: links to what is another's stand where a recorder makes its files, come and go.
names: files and threads are called as lines of /proc/PID/maps, escape sequences, no UTF-8, a path of
9,000 bytes. changing: files are mapped, written to and cut short. storm: processes come and end."""
import ctypes
import mmap
import os
import shutil
import sys

LIBC = ctypes.CDLL(None, use_errno=True)


def mapped(name):
    """The file as code."""
    fd = os.open(name, os.O_RDONLY)
    at = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    os.close(fd)
    return at


def fifo(elf, n):
    name = "lib%d.so" % (n % 50)
    if os.path.lexists(name):
        os.unlink(name)
    shutil.copyfile(elf, name)
    at = mapped(name)
    os.mkfifo("fifo")
    os.rename("fifo", name)
    at.close()


def links(_, n):
    names = ("rec.pugmark-new", "rec.old", "rec.pugmark-old", "meta.json.new", "rec.meta.json.new")
    name = names[n % len(names)]
    try:
        os.symlink("/etc" if n % 2 else "/etc/passwd", name)
        os.rename(name, names[(n + 1) % len(names)])
        os.unlink(names[(n + 1) % len(names)])
    except OSError:
        pass


def names(elf, n):
    odd = (b"7f00000000-7f00001000 r-xp 00000000 00:00 1 ", b"\x1b]0;x\x07.so", b"\xff\xfe.so", b"a\n0-ffff r-xp 0 0:0 1 b",
           "\u202egnp.so".encode(), b"x" * 250)
    LIBC.prctl(15, odd[n % len(odd)][:15], 0, 0, 0)
    here = os.getcwd()
    if n % 20 == 0:  # deeper than a path can say
        for _ in range(36):
            os.makedirs(b"d" * 250, exist_ok=True)
            os.chdir(b"d" * 250)
    name = odd[n % len(odd)]
    shutil.copyfile(elf, name)
    mapped(name).close()
    os.unlink(name)
    os.chdir(here)


def changing(elf, n):
    name = "changing%d.so" % (n % 20)
    shutil.copyfile(elf, name)
    at = mapped(name)
    with open(name, "r+b") as f:
        f.seek(n * 37 % 4000)
        f.write(os.urandom(64))
        f.truncate(n * 53 % 4096)
    at.close()


def storm(elf, n):
    if os.fork() == 0:
        os.execv("/bin/true", ["\x1b[2J" * 3, elf, str(n)])
    os.wait()


def main():
    manner, elf, folder = sys.argv[1:]
    os.chdir(folder)
    n = 0
    while True:
        globals()[manner](elf, n)
        n += 1
        if n % 100 == 0:
            with open("tried", "w") as f:
                f.write(str(n))


main()
