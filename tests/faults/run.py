#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.py [NAME...]: plants each fault of faults.toml in its program, and measures what `why` and
# `switch` make of it. Prints a table; with --check it ends with 1 where less is found than is asked.
import glob, gzip, json, os, re, subprocess, sys, tempfile, tomllib

here = os.path.dirname(os.path.abspath(__file__))
pugmark = os.environ['PUGMARK']
cache = os.environ.get('FAULT_SOURCES', os.path.expanduser('~/.cache/pugmark-faults'))
FIRST = 10
os.environ['LC_ALL'] = 'C' # setlocale() of another one maps files, which few replays get through


def run(command, **more):
    return subprocess.run(command, capture_output=True, timeout=120, **more)


def sources(package):
    """The folder of Debian's source package, fetched when it is first asked for."""
    kept = os.path.join(cache, package)
    if not os.path.isdir(kept):
        os.makedirs(kept)
        with open(os.path.join(kept, 'list'), 'w') as f:
            f.write('deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] '
                    'http://deb.debian.org/debian bookworm main\n')
        apt = ['apt-get', '-qq', '-o', 'Dir::Etc::sourcelist=' + kept + '/list',
               '-o', 'Dir::Etc::sourceparts=-', '-o', 'Dir::State::lists=' + cache + '/lists',
               '-o', 'APT::Get::List-Cleanup=0', '-o', 'APT::Sandbox::User=root']
        os.makedirs(cache + '/lists/partial', exist_ok=True)
        run(apt + ['update'])
        run(apt + ['source', package], cwd=kept)
    found = [p for p in glob.glob(kept + '/*/') if not p.endswith('/debian/')]
    if not found:
        os.rmdir(kept) if not os.listdir(kept) else None
        sys.exit('SKIP: no source of ' + package + ' (apt-get source)')
    return found[0]


def build(program, folder, out, more=(), compiler='gcc'):
    names = [p for pattern in program['sources'].split()
             for p in sorted(glob.glob(os.path.join(folder, pattern)))
             if os.path.basename(p) != program.get('without')]
    flags = [f.strip("'") for f in re.findall(r"""(?:[^\s"]|"[^"]*")+""", program.get('flags', ''))]
    made = run([compiler, '-O0', '-g', '-w', *more, *flags, '-o', out, *names,
                *program.get('libraries', '').split()], cwd=folder)
    if made.returncode:
        sys.exit(made.stderr.decode())


def plant(fault, folder):
    """Returns the line that is faulty."""
    path = os.path.join(folder, fault['file'])
    text = open(path, encoding='latin-1').read()
    if text.count(fault['from']) != 1:
        sys.exit('%s: the text stands there %d times' % (fault['name'], text.count(fault['from'])))
    line = text[:text.index(fault['from'])].count('\n') + 1
    open(path, 'w', encoding='latin-1').write(text.replace(fault['from'], fault['to']))
    return line


def ask(*args, stdin=None):
    got = run([pugmark, args[0], '--format', 'json', *args[1:]],
              stdin=open(stdin) if stdin else subprocess.DEVNULL)
    try:
        return json.loads(got.stdout)
    except ValueError:
        return {'failed': got.stderr.decode().strip() or 'status %d' % got.returncode}


def places(answer):
    """Lines of source in their order, each once."""
    seen = {}
    for l in answer.get('lines', []):
        if l['file']:
            seen.setdefault((os.path.basename(l['file']), l['line']))
    return list(seen)


def rank(answer, where):
    found = places(answer)
    return found.index(where) + 1 if where in found else None


def executed(program, folder, command, stdin, work):
    """Lines of source that were executed, by gcov."""
    os.makedirs(work)
    build(program, folder, work + '/counted', ['--coverage', '-fprofile-update=atomic'])
    run([work + '/counted', *command[1:]], stdin=open(stdin))
    notes = glob.glob(folder + '/**/*.gcda', recursive=True) + glob.glob(work + '/*.gcda')
    n = 0
    for note in notes:
        out = run(['gcov', '-t', note], cwd=folder).stdout.decode(errors='replace')
        n += len(re.findall(r'^ *\d+\*?: *[1-9]\d*:', out, re.M))
    return n


def prepare(case, work, name):
    """The arguments of a run, and the file with its standard input."""
    stdin = work + '/' + name
    with open(stdin, 'wb') as f:
        f.write(gzip.compress(case['packed'].encode(), mtime=0) if 'packed' in case
                else case.get('input', '').encode())
    return [a.replace('FOLDER', work + '/right').replace('SCRIPT', stdin) for a in case['args']], stdin


def record(work, name, command, stdin):
    run([pugmark, 'record', '-q', '--level', 'values', '-o', work + '/' + name, '--', *command],
        stdin=open(stdin))
    return work + '/' + name


def both(work, args, stdin):
    return [run([work + '/' + name, *args], stdin=open(stdin)) for name in ('right.bin', 'wrong.bin')]


def same(right, wrong):
    return (wrong.returncode, wrong.stdout) == (right.returncode, right.stdout)


def passing(program, work):
    """Recordings of the program's other runs, of those in which the fault does not show."""
    options = []
    for i, case in enumerate(program.get('tests', [])):
        args, stdin = prepare(case, work, 'input%d' % i)
        if same(*both(work, args, stdin)):
            options += ['--passing', record(work, 'passing%d' % i, [work + '/wrong.bin', *args], stdin)]
    return options


def measure(fault, program, work):
    source = sources(program['package'])
    source = os.path.join(source, program.get('folder', '.'))
    for name in 'right', 'wrong':
        run(['cp', '-r', source, work + '/' + name])
    line = plant(fault, work + '/wrong')
    for name in 'right', 'wrong':
        build(program, work + '/' + name, '%s/%s.bin' % (work, name))
    args, stdin = prepare(fault, work, 'input')
    right, wrong = both(work, args, stdin)
    command = [work + '/wrong.bin', *args]
    with open(work + '/want', 'wb') as f:
        f.write(right.stdout)
    r = {'name': fault['name'], 'kind': fault['kind'], 'line': line}
    if same(right, wrong):
        return r | {'failed': 'does not show'}
    r['executed'] = executed(program, work + '/wrong', command, stdin, work + '/coverage')
    record(work, 'rec', command, stdin)
    passed = passing(program, work)
    r['passing'] = len(passed) // 2
    bad = 0
    while bad < len(wrong.stdout) and wrong.stdout[bad:bad + 1] == right.stdout[bad:bad + 1]:
        bad += 1
    at = ['--write', '1:%d' % bad] if wrong.returncode >= 0 and bad < len(wrong.stdout) else ['--crash']
    r['criterion'] = ' '.join(at)
    where = (os.path.basename(fault['file']), line)
    common = ['--control', '--addresses', '--limit', '1000000']
    back = ask('why', work + '/rec', *at, *common)
    if 'failed' in back:
        return r | back
    r['backward'] = len(places(back))
    r['in_backward'] = rank(back, where)
    until = ['--not-crash'] if at == ['--crash'] and wrong.returncode < 0 else \
            ['--until', 'stdout = ' + work + '/want']
    found = ask('switch', work + '/rec', *at, *until, *passed, '--order', 'each', '--tries', '300',
                '--seconds', '2', '--addresses', '--', *command, stdin=stdin)
    if 'failed' in found:
        r['switch'] = found['failed']
    critical = found.get('critical')
    r['closer'] = len(found.get('closer', []))
    ok = ['--ok', '1:0:%d' % bad] if bad and at != ['--crash'] else []
    through = []
    if critical:
        r['tries'] = critical['number']
        r['critical'] = '%s:%d' % (os.path.basename(critical['file']), critical['line'])
        place = [critical['address'], '--time', str(critical['time'])]
        around = ask('why', work + '/rec', *place, '--both', *common)
        r['both'] = len(places(around))
        r['in_both'] = rank(around, where)
        through = ['--through', '%s:%d' % (critical['address'], critical['time'])]
        coarse = ask('why', work + '/rec', *at, *through, *common)
        r['coarse'] = len(places(coarse))
        r['in_coarse'] = rank(coarse, where)
    if ok:
        fine = ask('why', work + '/rec', *at, *ok, *common)
        r['fine'] = len(places(fine))
        r['in_fine'] = rank(fine, where)
    # What a user looks at: what is around the critical jump, or those that come closest, if there
    # are any; else the slice.
    turned = [critical] if critical else found.get('closer', [])[:3]
    asked = [a for t in turned for a in ('--critical', '%s:%d' % (t['address'], t['time']))] or at
    r['rank'] = rank(ask('why', work + '/rec', *asked, '--ranked', *ok, *passed, *common), where)
    return r


def main():
    data = tomllib.load(open(os.path.join(here, 'faults.toml'), 'rb'))
    wanted = [a for a in sys.argv[1:] if not a.startswith('-')]
    faults = [f for f in data['fault'] if not wanted or f['name'] in wanted]
    columns = ['executed', 'passing', 'backward', 'in_backward', 'both', 'in_both', 'coarse', 'in_coarse',
               'fine', 'in_fine', 'rank', 'tries', 'closer', 'critical']
    print('%-14s' % 'fault', *('%11s' % c for c in columns))
    results = []
    for f in faults:
        with tempfile.TemporaryDirectory() as work:
            r = measure(f, data['program'][f['program']], work)
        results.append(r)
        print('%-14s' % r['name'], *('%11s' % ('-' if r.get(c) is None else r[c]) for c in columns),
              r.get('failed', r.get('switch', '')), flush=True)
    n = len(results)
    back = sum(r.get('in_backward') is not None for r in results)
    first = sum((r.get('rank') or 1e9) <= FIRST for r in results)
    critical = sum('critical' in r for r in results)
    print('%d faults: the line is in the backward slice of %d, among the first %d of %d; '
          'a critical jump in %d' % (n, back, FIRST, first, critical))
    if '--check' in sys.argv and (back < n or not first or not critical):
        sys.exit(1)


if __name__ == '__main__':
    main()
