# SPDX-License-Identifier: LGPL-2.1-or-later
# normal.awk: the trace of a program as its source has it, from what `pugmark dump --format text`
# prints and the symbols of the program:
#
#   awk -f normal.awk <(nm -C PROGRAM) <(pugmark dump RECORDING)
#
# What depends on the compiler is taken away: calls of what is not traced, functions that the
# compiler or the C library add to a program, and jumps to another function, which become a call
# and two returns. Each thread in the order of their births:
#
#   thread N
#   > FUNCTION [CAUSE]     it is called, or entered from outside
#   < FUNCTION             it returns
#   ! FUNCTION             it is left by an exception or longjmp
#   . FUNCTION             it is open at the end of the thread or at an exec
#   switch N               the thread goes on on another stack, which has functions of its own
#   FUNCTION() [CAUSE]     it is called and returns, and nothing happens in between
#   gap CAUSE
#
# Equal lines in a row are one, with " xN" after it; up to twelve lines that come again and
# again stand once, between "repeat N" and "end".

function put(line) {
	if (line == last) {
		times++
		return
	}
	if (times)
		line_of[++lines] = last (times > 1 ? " x" times : "")
	last = line
	times = 1
}
function print_folded(   i, k, period, times) {
	for (i = 1; i <= lines; i += period * times) {
		for (period = 2; period <= 12; period++) {
			for (k = i; k + period <= lines && line_of[k] == line_of[k + period]; k++)
				;
			times = int((k - i) / period) + 1
			if (times > 4)
				break
		}
		if (period > 12)
			period = times = 1
		if (times > 1)
			print "repeat " times
		for (k = i; k < i + period; k++)
			print line_of[k]
		if (times > 1)
			print "end"
	}
}
function entered(line) {
	if (pending != "")
		put("> " pending)
	pending = line
}
function say(mark, name) {
	if (mark == "<" && pending != "" && pending ~ "^" name "( |$)") {
		sub(/^[^ ]+/, "&()", pending)
		put(pending)
		pending = ""
		return
	}
	if (pending != "")
		put("> " pending)
	pending = ""
	put(mark " " name)
}
function kept(addr) {
	return addr in name
}
function open_frame(addr, jumped, cause) {
	n = ++open[on]
	stack[on, n] = addr
	tail[on, n] = jumped # took the place of the frame below
	gone[on, n] = 0
	if (kept(addr))
		entered(name[addr] (cause == "" ? "" : " " cause))
}
function close_frame(mark) {
	while (n = open[on]) {
		if (kept(stack[on, n]))
			say(mark, name[stack[on, n]])
		open[on]--
		if (!tail[on, n])
			break
	}
	n = open[on]
}
# Those that have jumped out of the program end before what comes next of their caller.
function close_gone() {
	while (n && gone[on, n])
		close_frame("<")
}
function end_stack() {
	n = open[on]
	close_gone()
	while (n)
		close_frame(".")
}
function end_thread(   i) {
	end_stack()
	for (i = 0; i <= stacks; i++) {
		on = i
		if (open[i]) {
			put("switch " i)
			end_stack()
		}
	}
	if (pending != "")
		put("> " pending)
	pending = ""
	on = stacks = n = 0
}

FNR == 1 { file++ }
file == 1 {
	sub(/^0+/, "", $1)
	if ($2 ~ /^[tT]$/ && $3 !~ added) {
		sub(/\(.*/, "", $3)
		sub(/\[.*/, "", $3)
		name[$1] = $3
	}
	next
}
$1 != tid {
	end_thread()
	tid = $1
	say("thread", ++threads)
}
truth && ($2 == "call" || $2 == "ret") {
	addr = $2 == "call" ? $5 : $4
	sub(/^.*:/, "", addr)
	if (addr in name && $2 == "call")
		entered(name[addr])
	else if (addr in name)
		say("<", name[addr])
	next
}
$2 == "switch" {
	close_gone()
	on = $3
	if (on > stacks)
		stacks = on
	n = open[on]
	say("switch", on)
}
$2 == "call" || $2 == "tail" {
	close_gone()
	target = $5
	if (target == "-") {
		if ($2 == "tail")
			gone[on, n] = 1
		next
	}
	sub(/^.*:/, "", target)
	open_frame(target, $2 == "tail", "")
}
$2 == "enter" {
	if ($5 == "thread")
		end_thread()
	open_frame($4, 0, $5)
}
$2 == "ret" || $2 == "unwind" {
	while (n && stack[on, n] != $4 && gone[on, n])
		close_frame("<")
	if (!n || stack[on, n] != $4)
		put("not open: " $2 " " ($4 in name ? name[$4] : $4))
	close_frame($2 == "ret" ? "<" : "!")
}
$2 == "gap" { say("gap", $3) }
END {
	end_thread()
	if (pending != "")
		put("> " pending)
	put("")
	print_folded()
}
BEGIN {
	added = "^(_start|_init|_fini|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux|_dl_relocate_static_pie|_GLOBAL__sub_I_.*|__cxx_global_var_init.*|atexit|__gthread_.*|__cyg_.*|__clang_call_terminate)$"
}
