# python3.11: classes, exceptions, generators, regular expressions, json
BINARY=/usr/bin/python3.11
prepare() {
	cat >work.py <<'PY'
import json, re, functools, collections, itertools, struct, textwrap, decimal
@functools.lru_cache(None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
assert fib(80) == 23416728348467685
class Node:
    def __init__(self, v): self.v, self.l, self.r = v, None, None
    def add(self, v):
        side = "l" if v < self.v else "r"
        n = getattr(self, side)
        n.add(v) if n else setattr(self, side, Node(v))
    def __iter__(self):
        if self.l: yield from self.l
        yield self.v
        if self.r: yield from self.r
root, seed, seen = Node(1 << 30), 42, []
for i in range(1500):
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    root.add(seed)
assert list(root) == sorted(root)
bad = 0
for i in range(300):
    try:
        {}[i] if i % 3 else int("x%d" % i)
    except (KeyError, ValueError) as e:
        bad += 1
assert bad == 300
doc = {"a": [1, 2.5, None, True], "b": {str(i): "x" * i for i in range(60)}}
assert json.loads(json.dumps(doc, indent=1)) == doc
text = " ".join(f"word{i}={i * i}" for i in range(800))
pairs = dict(re.findall(r"(\w+)=(\d+)", text))
assert pairs["word7"] == "49"
assert re.sub(r"\b(w)(ord)", lambda m: m[1].upper() + m[2], text).startswith("Word0")
c = collections.Counter(itertools.chain.from_iterable(text.split("=")))
assert struct.unpack("<Id", struct.pack("<Id", 7, 2.5)) == (7, 2.5)
assert str(decimal.Decimal(2).sqrt())[:6] == "1.4142"
exec(compile("def g(*a, k=1, **kw):\n  with open('/dev/null') as f: return f.read(), a, k, kw\n", "x", "exec"))
assert g(1, k=2, z=3) == ("", (1,), 2, {"z": 3})
async def co(n):
    return n + 1
try: co(1).send(None)
except StopIteration as s: assert s.value == 2
print("done", textwrap.shorten(text, 40), hash(3.5), "%5.2f" % 3.14159)
PY
}
run() { PYTHONHASHSEED=0 traced -I -B work.py >out && grep -q '^done' out; }
