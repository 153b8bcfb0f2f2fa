#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# inlined.py [PROGRAM...]: the frames of lines in slices of real programs, built by gcc -O2, against those that
# addr2line tells (of the binary, by code that is not ours). Ends with 1 where one differs.
import os, subprocess, sys, tempfile, tomllib

import match
import run as faults

ASKS = [['--write', '1:10', '--control', '--addresses'], ['--write', '1:40', '--control'], ['--write', '1:3']]


def base(name):
    return os.path.basename(name or '?')


def own(name):
    """What compilers split off a function (f.part.0) or make again of it (f.isra.0) is f in the source."""
    return (name or '?').split('.')[0]


def told(program, addresses):
    """For each address its frames, (function, file, line)."""
    feed = '\n'.join(addresses)
    said = subprocess.run(['addr2line', '-a', '-i', '-f', '-e', program], input=feed, capture_output=True, text=True)
    frames = []
    for line in said.stdout.split('\n'):
        if line.startswith('0x'):
            frames.append([])
        elif line:
            frames[-1].append(line.split(' (')[0])
    return [[(own(f), base(p.rsplit(':', 1)[0]), p.rsplit(':', 1)[1]) for f, p in zip(of[::2], of[1::2])] for of in frames]


def compare(program, recording):
    """Of all slices: lines, those of inlined functions, the deepest of them, those that differ."""
    n = inlined = deepest = differ = 0
    for ask in ASKS:
        answer = faults.ask('why', recording, *ask, '--limit', '100000')
        if 'lines' not in answer:
            sys.exit(answer['failed'])
        lines = [l for l in answer['lines'] if l['file']]
        # A call stands where it returns to.
        places = [hex(int(l['address'], 16) - (l['event'] is not None)) for l in lines]
        for line, place, truth in zip(lines, places, told(program, places), strict=True):
            ours = [(own(f['function']), base(f['file']), str(f['line'])) for f in [line, *line['inlined']]]
            n += 1
            inlined += len(ours) > 1
            deepest = max(deepest, len(ours) - 1)
            if ours != truth:
                differ += 1
                print('  %s: %s, by addr2line %s' % (place, ours, truth))
    return n, inlined, deepest, differ


def main():
    data = tomllib.load(open(os.path.join(faults.here, 'faults.toml'), 'rb'))
    wrong = 0
    for name in sys.argv[1:] or match.RUNS:
        program = data['program'][name]
        source = os.path.join(faults.sources(program['package']), program.get('folder', '.'))
        args, text = match.RUNS[name]
        with tempfile.TemporaryDirectory() as work:
            faults.run(['cp', '-r', source, work + '/source'])
            open(work + '/input', 'w').write(text)
            match.build(program, work + '/source', work + '/fast', 'gcc', '-O2')
            command = [work + '/fast', *[a.replace('FOLDER', work + '/source') for a in args]]
            faults.record(work, 'fast.rec', command, work + '/input')
            n, inlined, deepest, differ = compare(work + '/fast', work + '/fast.rec')
        print('%-8s %d lines, %d of inlined functions, at most %d deep; %d differ' % (name, n, inlined, deepest, differ),
              flush=True)
        wrong += differ
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
