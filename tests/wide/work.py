# SPDX-License-Identifier: LGPL-2.1-or-later
"""work.py: work for a program that nobody here knows. It is given files of many kinds, as argument
and as standard input, and asked for its help; of these trials the one that succeeds and prints most is
its work. The files are made here, the same each time."""
import functools
import io
import os
import random
import struct
import tarfile
import wave
import zlib

HELP = (["--help"], ["-h"], ["--version"])


def png(rng):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes(rng.randrange(256) for _ in range(3 * 48)) for _ in range(32))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 48, 32, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def wav(rng):
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(struct.pack("<4000h", *(rng.randrange(-9000, 9000) for _ in range(4000))))
    return out.getvalue()


def tar(data):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo("inside.txt")
        info.size = len(data)
        t.addfile(info, io.BytesIO(data))
    return out.getvalue()


@functools.cache
def files():
    """NAME: contents."""
    rng = random.Random(1)
    words = "the a trace call of return paw print stack frame and tail jump over in on".split()
    lines = [" ".join(rng.choice(words) for _ in range(rng.randrange(3, 12))) for _ in range(300)]
    text = ("\n".join(lines) + "\n").encode()
    rows = "".join(f"{i},{rng.choice(words)},{rng.random():.4f}\n" for i in range(200))
    return {
        "in.txt": text,
        "in.csv": ("number,word,share\n" + rows).encode(),
        "in.json": b'{"a": [1, 2.5, "x", null, {"b": true}], "c": {"d": "e", "f": [[], {}]}}\n' * 1,
        "in.xml": b'<?xml version="1.0"?>\n<a b="c"><d>text</d><e/><!-- x --><d f="g">more</d></a>\n',
        "in.html": b"<!DOCTYPE html><html><head><title>t</title></head><body><p>a <b>b</b></p>"
        b'<ul><li>1<li>2</ul><a href="x.html">x</a></body></html>\n',
        "in.c": b"#include <stdio.h>\nint sum(int n)\n{\n\treturn n ? n + sum(n - 1) : 0;\n}\n"
        b'int main(void)\n{\n\tprintf("%d\\n", sum(9));\n\treturn 0;\n}\n',
        "in.fa": b">one\nACGTACGTTAGCCGATAACGGT\n>two\nACGTTCGTTAGCAGATTACGGA\n",
        "in.num": "".join(f"{rng.random() * 100:.3f}\n" for _ in range(300)).encode(),
        "in.md": b"# Title\n\nA *b* `c` [d](e).\n\n- one\n- two\n\n```\ncode\n```\n",
        "in.ppm": b"P6\n32 24\n255\n" + bytes(rng.randrange(256) for _ in range(32 * 24 * 3)),
        "in.png": png(rng),
        "in.wav": wav(rng),
        "in.tar": tar(text),
        "in.gz": b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        + zlib.compress(text)[2:-4]
        + struct.pack("<II", zlib.crc32(text), len(text)),
        "in.bin": bytes(rng.randrange(256) for _ in range(20000)),
        "in.elf": open("/bin/true", "rb").read(),
    }


def trials():
    """(arguments, standard input or None) of each, help last; of WIDE_KINDS kinds of files alone."""
    names = list(files())[: int(os.environ.get("WIDE_KINDS", 99))]
    for name in names:
        yield [name], None
        yield [], name
    yield ["in.txt", "out.made"], None
    for args in HELP:
        yield list(args), None


def fill(folder, owner):
    """The folder with these files, and nothing else, for the user @owner."""
    os.makedirs(folder)
    os.chown(folder, owner, owner)
    for name, data in files().items():
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(data)
        os.chown(path, owner, owner)
