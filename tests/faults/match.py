#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# match.py [PROGRAM...]: what `match` makes of real programs. Each is built by gcc -O0 and, in several ways, again:
# the share of what is matched, and of matches how many are on the same line. Then single instructions of the
# gcc -O2 build are changed (tests/support/plant.py), those that leave a program that ends by itself and prints
# something else: the place of the changed instruction, and of its function, among the lines that are listed.
# FIRST=n: begin with the n-th that can be changed (0), so that others are.
import json, os, subprocess, sys, tempfile, tomllib

import run as faults

PLANTS, STEP, MOST = 8, 7, 15
FIRST = int(os.environ.get('FIRST', '0'))
FOX = 'the quick brown fox jumps over the lazy dog and then it goes home to sleep for a while\n'
RUNS = {
    'par': (['40j'], (FOX + '\n') * 6),
    'ed': (['-s'], 'a\n' + ''.join('line %d of the text\n' % i for i in range(20)) +
           '.\n3,9s/of/in/\n2m5\n4,6t1\ng/7/p\n,n\n1,2j\n/8/d\n,p\nQ\n'),
    'figlet': (['-f', 'FOLDER/fonts/standard.flf', '-w', '60', 'what is', 'to be', 'drawn'], ''),
    'lua': (['-'], 'local t = {}\nfor i = 1, 60 do t[i] = i * 37 % 61 end\ntable.sort(t)\n'
            'for i, v in ipairs(t) do io.write(v, i % 10 == 0 and "\\n" or " ") end\n'
            'print(("a b c"):gsub("%w", string.upper), #table.concat(t, ","))\n'),
    'minigzip': ([], ''.join('%d lines of a text, and %d more\n' % (i, i * i) for i in range(60))),
}
# What would be different in two runs: Lua's hashes begin with the time and an address.
SAME = {'lua5.4': '-Dluai_makeseed(L)=0'}
BUILDS = [('gcc', '-O2'), ('gcc', '-O3'), ('clang', '-O0'), ('clang', '-O2'), ('clang', '-O3')]


def build(program, source, out, compiler, level):
    flags = ' '.join([program.get('flags', ''), SAME.get(program['package'], ''), level])
    faults.build(dict(program, flags=flags), source, out, compiler=compiler)


def record(work, name, command, stdin):
    os.path.isdir(work + '/' + name) and subprocess.run(['rm', '-rf', work + '/' + name])
    return faults.record(work, name, command, stdin)


def matched(first, second, *more):
    got = faults.run([faults.pugmark, 'match', first, second, '--format', 'json', *more])
    return json.loads(got.stdout)


def same_line(answer):
    pairs = [(m['first'], m['second']) for m in answer['matches'] if m['first']['line'] and m['second']['line']]
    away = [abs(a['line'] - b['line']) for a, b in pairs
            if os.path.basename(a['file']) == os.path.basename(b['file'])]
    return away.count(0), sum(n <= 2 for n in away), len(pairs)


def precision(work, program, source, args, stdin):
    """Of each build: shares of instructions and executions, matches on the same line, and at most two away. Returns
    matches on the same line, at most two away, and all."""
    total = [0, 0, 0]
    build(program, source, work + '/plain', 'gcc', '-O0')
    record(work, 'plain.rec', [work + '/plain', *args], stdin)
    for compiler, level in BUILDS:
        build(program, source, work + '/other', compiler, level)
        record(work, 'other.rec', [work + '/other', *args], stdin)
        answer = matched(work + '/plain.rec', work + '/other.rec', '--all')
        right, near, of = counted = same_line(answer)
        total = [a + b for a, b in zip(total, counted)]
        print('  %-6s%-4s %3.0f %% of instructions, %3.0f %% of executions, %d of %d on the same line (%.1f %%), %.1f %% near%s%s' %
              (compiler, level, 100 * answer['matched'] / answer['instructions'],
               100 * answer['executions_matched'] / answer['executions'], right, of, 100 * right / max(of, 1), 100 * near / max(of, 1),
               ', a rise' if answer['rise'] is not None else '', ', a gap' if answer['gap'] else ''), flush=True)
    return total


def changed(work, args, stdin, n):
    """A build with instruction @n changed: its address, where it ends by itself and prints something else."""
    plant = os.path.join(faults.here, '../support/plant.py')
    made = faults.run([plant, work + '/fast', work + '/bad', str(n)])
    if made.returncode:
        raise IndexError
    os.chmod(work + '/bad', 0o755)
    try:
        good, bad = [subprocess.run([work + '/' + p, *args], stdin=open(stdin), capture_output=True, timeout=2)
                     for p in ('fast', 'bad')]
    except subprocess.TimeoutExpired:
        return None
    shows = bad.returncode >= 0 and bad.stdout != good.stdout
    return made.stdout.decode().strip() if shows else None


def function_of(program, address):
    got = faults.run(['addr2line', '-f', '-e', program, '0x' + address]).stdout.decode().split('\n')
    return got[0], got[1]


def errors(work, program, source, args, stdin):
    """Errors that were planted: how many, how many are listed in the right function among the first, and how many
    would be by chance: the share of the listed functions that are there among the first."""
    chance = 0
    build(program, source, work + '/fast', 'gcc', '-O2')
    planted = found = 0
    n = FIRST
    while planted < PLANTS:
        try:
            address = changed(work, args, stdin, n)
        except IndexError:
            break
        n += STEP
        if not address:
            continue
        record(work, 'bad.rec', [work + '/bad', *args], stdin)
        answer = matched(work + '/plain.rec', work + '/bad.rec', '--limit', '100000')
        listed = answer['unmatched']
        symbol = faults.run(['addr2line', '-f', '-e', work + '/fast', '0x' + address]).stdout.decode().split('\n')[0]
        places = [i + 1 for i, m in enumerate(listed) if address in [m['second']['address'], *m['more']]]
        inside = [i + 1 for i, m in enumerate(listed) if real(m['second']) == symbol_of(work + '/fast', address)]
        names = [real(m['second']) for m in listed]
        chance += len(set(names[:MOST])) / max(len(set(names)), 1)
        planted += 1
        found += bool(inside) and inside[0] <= MOST
        print('  %s in %s: listed %s, its function %s, of %d%s' %
              (address, symbol, places[0] if places else 'nowhere', inside[0] if inside else 'nowhere', len(listed),
               ', a rise' if answer['rise'] is not None else ''), flush=True)
    print('  the right function among the first %d: %d of %d (%.1f by chance)' % (MOST, found, planted, chance), flush=True)
    return planted, found, chance


def own(name):
    return (name or '').split('.')[0]


def real(place):
    """The function that the code is in, which a line of an inlined one is listed with last."""
    return own((place['inlined'] or [place])[-1]['function'])


def symbol_of(program, address):
    """The symbol that the address lies in, as `match` names it."""
    at = int(address, 16)
    for line in faults.run(['nm', '-S', program]).stdout.decode().split('\n'):
        parts = line.split()
        if len(parts) == 4 and parts[2] in 'tT' and int(parts[0], 16) <= at < int(parts[0], 16) + int(parts[1], 16):
            return own(parts[3])
    return ''


def main():
    data = tomllib.load(open(os.path.join(faults.here, 'faults.toml'), 'rb'))
    wanted = [a for a in sys.argv[1:] if not a.startswith('-')] or list(RUNS)
    total, lines = [0, 0, 0], [0, 0, 0]
    for name in wanted:
        program = data['program'][name]
        source = os.path.join(faults.sources(program['package']), program.get('folder', '.'))
        args, text = RUNS[name]
        args = [a.replace('FOLDER', source) for a in args]
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as work:
            faults.run(['cp', '-r', source, work + '/source'])
            stdin = work + '/input'
            open(stdin, 'w').write(text)
            lines = [a + b for a, b in zip(lines, precision(work, program, work + '/source', args, stdin))]
            planted, found, chance = errors(work, program, work + '/source', args, stdin)
        total[0] += planted
        total[1] += found
        total[2] += chance
    print('matches on the same line: %.2f %% of %d; at most two away: %.2f %%' %
          (100 * lines[0] / lines[2], lines[2], 100 * lines[1] / lines[2]))
    print('planted errors in the right function among the first %d: %d of %d (%.1f by chance)' % (MOST, total[1], total[0], total[2]))


if __name__ == '__main__':
    main()
