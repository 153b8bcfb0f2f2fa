# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# inputs.sh: inputs that are the same each time; sourced. SCALE in the environment divides their
# sizes.

# Text of $1 lines: words of a small vocabulary, numbers, repetitions.
make_text() {
	awk -v lines=$(($1 / ${SCALE:-1})) 'BEGIN {
		n = split("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi " \
			  "omicron pi rho sigma tau upsilon phi chi psi omega", w, " ")
		x = 12345
		for (i = 1; i <= lines; i++) {
			l = ""
			for (k = 0; k < 8; k++) {
				x = (x * 69069 + 1) % 4294967296
				l = l (k ? " " : "") (k == 6 ? x % 1000 : w[int(x / 65536) % n + 1])
			}
			print l
		}
	}'
}

# N<number> is a number that SCALE divides.
scaled() {
	awk -v scale="${SCALE:-1}" '{
		while (match($0, /N[0-9]+/))
			$0 = substr($0, 1, RSTART - 1) int(substr($0, RSTART + 1, RLENGTH - 1) / scale) \
			     substr($0, RSTART + RLENGTH)
		print
	}'
}

lua_script() {
	scaled <<'LUA'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
for i = 1, N16 do assert(fib(16) == 987) end
local t, seed = {}, 42
for i = 1, N8000 do seed = (seed * 1103515245 + 12345) % 2147483648; t[i] = seed end
table.sort(t)
for i = 2, #t do assert(t[i - 1] <= t[i]) end
table.sort(t, function(a, b) return a > b end)
local words = {}
for i = 1, N3000 do words[#words + 1] = string.format("%05d:%s", i, ("x"):rep(i % 17)) end
local s = table.concat(words, ",")
local n = 0
for w, x in s:gmatch("(%d+):(x*)") do n = n + #x end
assert(n > 0)
assert(s:gsub("x+", "y"):find("00017:,", 1, true))
for i = 1, N300 do
	local ok, e = pcall(function() if i % 3 == 0 then error({ code = i }) end return i end)
	assert(ok == (i % 3 ~= 0))
end
local co = coroutine.wrap(function() for i = 1, N500 do coroutine.yield(i) end end)
for i = 1, N500 do assert(co() == i) end
local mt = setmetatable({}, { __index = function(_, k) return k * 2 end, __add = function() return 7 end })
assert(mt[21] == 42 and mt + 1 == 7)
print(string.pack("<i4", 77):byte(1), utf8.char(228, 8364), math.maxinteger // 3, #s)
LUA
}

sqlite_script() {
	scaled <<'SQL'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < N3000)
insert into t select i, printf('%05x-%s', (i * 7919) % 65536, hex(i)), i / 3.0 from n;
create index tb on t(b);
create table u as select a % 17 as k, sum(c) as s, group_concat(b) as g from t group by k;
select 'top', b, c from t order by c desc limit 5;
select t.a, u.k from t join u on u.k = t.a % 17 where t.b like '00%' order by 1;
begin;
update t set c = c * 2 where a % 3 = 0;
delete from t where a between 100 and 200;
rollback;
insert into t(a) values (1);
select nosuch from t;
create trigger tr after delete on t begin update u set s = s - old.c where k = old.a % 17; end;
delete from t where a > N2900;
select json_extract('{"x":[1,2,{"y":"z"}]}', '$.x[2].y'), json_group_array(k) from u;
select a, rank() over (partition by a % 5 order by c) r from t order by r, a limit 20;
create virtual table f using fts5(x);
insert into f select b from t;
select count(*) from f where f match '00ab1 OR 1eef';
explain query plan select * from t where b = 'x';
pragma integrity_check;
vacuum;
select 'total', count(*), round(sum(c), 3), max(b) from t;
SQL
}
