{ SPDX-License-Identifier: LGPL-2.1-or-later }
{ packed_records.pas: as packed.c, in Free Pascal's code and with its run-time library. }
{$mode objfpc}
program packed_records;
type
  tfunction = function(x: longint): longint;
  tentry = packed record
    name: char;
    f: tfunction;
  end;

function triple(x: longint): longint;
begin
  triple := x * 3;
end;

function sum(x: longint): longint;
var
  i, s: longint;
begin
  s := 0;
  for i := 0 to x do
  begin
    s := s + i;
    if s mod 5 = 2 then
      inc(s);
  end;
  sum := s;
end;

const
  entries: array[0..2] of tentry = ((name: 'a'; f: @triple), (name: 'b'; f: @sum), (name: 'c'; f: @triple));
var
  i, s: longint;
begin
  s := 0;
  for i := 0 to 299 do
    s := s + entries[i mod 3].f(i mod 20);
  writeln(s);
end.
