# SPDX-License-Identifier: LGPL-2.1-or-later
# lua5.4: recursion, sorting, strings, closures, errors, coroutines
BINARY=/usr/bin/lua5.4
QUICK=1
prepare() {
	cat >work.lua <<'LUA'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
assert(fib(22) == 17711)
local t, seed = {}, 42
for i = 1, 8000 do seed = (seed * 1103515245 + 12345) % 2147483648; t[i] = seed end
table.sort(t)
for i = 2, #t do assert(t[i - 1] <= t[i]) end
table.sort(t, function(a, b) return a > b end)
local words = {}
for i = 1, 3000 do words[#words + 1] = string.format("%05d:%s", i, ("x"):rep(i % 17)) end
local s = table.concat(words, ",")
local n = 0
for w, x in s:gmatch("(%d+):(x*)") do n = n + #x end
assert(n == 23946 or n > 0)
assert(s:gsub("x+", "y"):find("00017:,", 1, true))
for i = 1, 300 do
	local ok, e = pcall(function() if i % 3 == 0 then error({ code = i }) end return i end)
	assert(ok == (i % 3 ~= 0))
end
local co = coroutine.wrap(function() for i = 1, 500 do coroutine.yield(i) end end)
for i = 1, 500 do assert(co() == i) end
local mt = setmetatable({}, { __index = function(_, k) return k * 2 end, __add = function() return 7 end })
assert(mt[21] == 42 and mt + 1 == 7)
print(string.pack("<i4", 77):byte(1), utf8.char(228, 8364), math.maxinteger // 3, #s)
LUA
}
run() { traced work.lua >out && grep -q '^77' out; }
