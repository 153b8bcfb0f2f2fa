-- SPDX-License-Identifier: LGPL-2.1-or-later
-- work.lua: recursion, sorting, strings, closures, tables, protected calls
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
assert(fib(15) == 610)
local t, seed = {}, 42
for i = 1, 700 do seed = (seed * 1103515245 + 12345) % 2147483648; t[i] = seed end
table.sort(t)
table.sort(t, function(a, b) return a > b end)
local words = {}
for i = 1, 500 do words[#words + 1] = string.format("%05d:%s", i, ("x"):rep(i % 17)) end
local s = table.concat(words, ",")
local n = 0
for _, x in s:gmatch("(%d+):(x*)") do n = n + #x end
assert(n > 0)
local count = {}
for c in s:gmatch(".") do count[c] = (count[c] or 0) + 1 end
for i = 1, 60 do assert(pcall(function() return i end)) end
print(n, #s, count["x"])
