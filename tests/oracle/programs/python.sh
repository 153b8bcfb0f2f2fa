# SPDX-License-Identifier: LGPL-2.1-or-later
# python3.11: classes, exceptions, generators, regular expressions, json
BINARY=/usr/bin/python3.11
PLUGINS=/usr/lib/python3.11/lib-dynload
prepare() {
	scaled >work.py <<'PY'
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
for i in range(N1500):
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    root.add(seed)
assert list(root) == sorted(root)
bad = 0
for i in range(N300):
    try:
        {}[i] if i % 3 else int("x%d" % i)
    except (KeyError, ValueError) as e:
        bad += 1
assert bad == N300
doc = {"a": [1, 2.5, None, True], "b": {str(i): "x" * i for i in range(60)}}
assert json.loads(json.dumps(doc, indent=1)) == doc
text = " ".join(f"word{i}={i * i}" for i in range(N800))
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
import ast, datetime, pickle, tokenize, io, zipfile, threading, heapq, bisect, csv, random, copy
import dataclasses, enum, fractions, difflib, string, unicodedata, statistics, html.parser, logging
import bisect; src = open((collections if N1000 == 1000 else bisect).__file__).read()
tree = ast.parse(src)
assert ast.dump(ast.parse(ast.unparse(tree))) == ast.dump(tree)
assert len(list(tokenize.generate_tokens(io.StringIO(src).readline))) > N5000
assert pickle.loads(pickle.dumps(doc)) == doc and copy.deepcopy(doc) == doc
b = io.BytesIO()
with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z: z.writestr("a.txt", text)
assert zipfile.ZipFile(b).read("a.txt").decode() == text
got = []
ts = [threading.Thread(target=lambda i=i: got.append(sum(range(i * N1000)))) for i in range(3)]
for t in ts: t.start(); t.join()
assert got[2] == N1000 * (2 * N1000 - 1)
@dataclasses.dataclass(order=True)
class P:
    x: int
    y: str = "y"
class E(enum.Flag):
    A = 1; B = 2
assert sorted([P(2), P(1)])[0] == P(1) and (E.A | E.B).value == 3
h = [(i * 37) % 101 for i in range(100)]; heapq.heapify(h)
assert [heapq.heappop(h) for _ in range(100)] == sorted((i * 37) % 101 for i in range(100))
assert str(datetime.date(2020, 2, 29) + datetime.timedelta(366)) == "2021-03-01"
assert fractions.Fraction(1, 3) + fractions.Fraction(1, 6) == fractions.Fraction(1, 2)
assert list(difflib.unified_diff("a b c".split(), "a x c".split()))[3:] == [" a", "-b", "+x", " c"]
random.seed(7); x = [random.gauss(0, 1) for _ in range(200)]; statistics.stdev(x)
assert unicodedata.normalize("NFD", "é") == "e\u0301" and "ß".upper() == "SS"
assert list(csv.reader(['a,"b,c",d'])) == [["a", "b,c", "d"]]
assert 3 ** 500 % 7 ** 90 == pow(3, 500, 7 ** 90) and int("1" * 400) // 7 ** 50 > 0
match {"k": [1, 2, {"z": 3}]}:
    case {"k": [1, _, {"z": v}]}: assert v == 3
try:
    raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
except* ValueError: pass
except* TypeError: pass
def deep(n): return 1 + deep(n - 1)
try: deep(10)
except RecursionError: pass
class M(type):
    def __call__(cls, *a): return super().__call__(*a)
class W(metaclass=M):
    __slots__ = ("a",)
    def __init__(self, a): self.a = a
    def __getattr__(self, n): return n
    def __enter__(self): return self
    def __exit__(self, *e): return True
    def __del__(self): pass
    def __lt__(self, o): return self.a < o.a
    def __hash__(self): return 1
with W(3) as w: raise ValueError(w.q)
assert sorted([W(2), W(1)])[0].a == 1 and len({W(1), W(2)}) == 2
m = memoryview(bytearray(range(50)))[10:30:2]; assert m.tolist()[1] == 12 and bytes(m)[::-1][0] == 28
print("done", textwrap.shorten(text, 40), hash(3.5), "%5.2f" % 3.14159)
PY
}
run() { PYTHONHASHSEED=0 traced -I -B work.py >out && grep -q '^done' out; }
