#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# rethrown.sh: an exception comes out of a function of the run-time library that throws and never
# returns, and that no list names: std::rethrow_exception, a future's get(), Ada's and D's raise within
# a handler. That it never returns is known by the library's code, so all modes tell the same, without
# a gap.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

tells() { # NAME: of what is in ./program
	record_in_three_modes -- ./program
	tell_the_same "$1"
	claim "$1: frames were left or landed in" grep -q '^[0-9]* \(unwind\|call\) ' 0
}

cat >program.cc <<'CC'
#include <cstdio>
#include <exception>
#include <future>
#include <stdexcept>
static std::exception_ptr kept;
__attribute__((noinline)) static int passes_on(int i)
{
	if (i % 3)
		std::rethrow_exception(kept);
	return i;
}
__attribute__((noinline)) static int asks(int i)
{
	std::promise<int> promise;
	std::future<int> future = promise.get_future();
	if (i % 2)
		promise.set_exception(kept);
	else
		promise.set_value(i);
	return future.get();
}
int main()
{
	int sum = 0;
	try {
		throw std::runtime_error("kept");
	} catch (...) {
		kept = std::current_exception();
	}
	for (int i = 0; i < 60; i++) {
		try {
			std::rethrow_exception(kept);
		} catch (const std::exception &) {
			sum++;
		}
		try {
			sum += passes_on(i);
		} catch (const std::exception &) {
			sum++;
		}
		try {
			sum += asks(i);
		} catch (const std::exception &) {
			sum++;
		}
	}
	std::printf("%d\n", sum);
}
CC
for level in -O0 -O2; do
	${CXX:-c++} $level program.cc -o program || skip 'no compiler for the program'
	tells "C++ $level"
done

cat >program.adb <<'ADB'
with Ada.Text_IO; use Ada.Text_IO;
procedure Program is
   S : Integer := 0;
   E : exception;
   procedure P (I : Integer) is
   begin
      if I > 0 then
         raise E;
      end if;
   exception
      when E => S := S + 1; raise;
   end P;
begin
   for I in 1 .. 60 loop
      begin
         P (I);
      exception
         when others => S := S + 3;
      end;
   end loop;
   Put_Line (Integer'Image (S));
end Program;
ADB
cat >meets.adb <<'ADB'
with Ada.Text_IO; use Ada.Text_IO;
procedure Meets is
   Odd, Third : exception;
   Sum : Integer := 0;
   task type Server is
      entry Ask (N : in out Integer);
   end Server;
   task body Server is
   begin
      loop
         begin
            accept Ask (N : in out Integer) do
               if N mod 2 = 1 then
                  raise Odd with "odd";
               end if;
               if N mod 3 = 0 then
                  raise Third;
               end if;
               N := N / 2;
            end Ask;
         exception
            when Odd => null;
         end;
      end loop;
   exception
      when Third => null;
   end Server;
   procedure Asks (S : in out Server; N : Integer) is
      M : Integer := N;
   begin
      S.Ask (M);
      Sum := Sum + M;
   exception
      when Odd => Sum := Sum + 100;
   end Asks;
begin
   for I in 1 .. 5 loop
      declare
         S : Server;
      begin
         Asks (S, 1);
         Asks (S, 4);
         Asks (S, 5);
         Asks (S, 6);
      exception
         when Third => Sum := Sum + 1000;
      end;
   end loop;
   Put_Line (Integer'Image (Sum));
end Meets;
ADB
for source in program meets; do
	if command -v gnatmake >/dev/null && gnatmake -q -O1 $source.adb -o program; then
		tells "Ada, $source"
	else
		echo 'SKIP: no compiler of Ada'
		skipped=$((skipped + 1))
	fi
done

cat >program.d <<'D'
import core.stdc.stdio;
class E : Exception { this() { super("x"); } }
pragma(inline, false) void inner(int k) { if (k >= 0) throw new E; }
pragma(inline, false) int rethrows(int k) { try { inner(k); return 0; } catch (E e) { throw e; } }
pragma(inline, false) int outer(int k) { try { return rethrows(k); } catch (E e) { return k; } }
void main() { int s; foreach (i; 0 .. 60) s += outer(i); printf("%d\n", s); }
D
if { command -v gdc >/dev/null && gdc -O1 program.d -o program; } ||
	{ command -v ldc2 >/dev/null && ldc2 -O1 program.d -of=program; }; then
	tells D
else
	echo 'SKIP: no compiler of D'
	skipped=$((skipped + 1))
fi
conclude
