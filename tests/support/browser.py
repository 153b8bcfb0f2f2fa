#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""browser.py: opens a page in a headless Chromium, runs a script there, prints what it returns as JSON.

  browser.py BROWSER PROFILE WIDTH URL SCRIPT

SCRIPT is the body of an async function. It begins when the page's own script is through
(document.body.dataset.ready). The browser is spoken to through two pipes (its protocol's
--remote-debugging-pipe: JSON, with a zero byte behind each message)."""
import json, os, signal, subprocess, sys, time

browser, profile, width, url, script = sys.argv[1:]
to_read, to_write = os.pipe()
from_read, from_write = os.pipe()


def hand_over():
    # The browser reads descriptor 3 and writes 4.
    low, high = os.dup(to_read), os.dup(from_write)
    kept = [os.dup(fd) for fd in (low, high)]
    os.dup2(kept[0], 3)
    os.dup2(kept[1], 4)


child = subprocess.Popen(
    [browser, '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
     '--disable-background-networking', '--disable-component-update', '--disable-sync',
     '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', f'--user-data-dir={profile}',
     f'--window-size={width},900', '--remote-debugging-pipe'],
    preexec_fn=hand_over, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL, start_new_session=True)
os.close(to_read)
os.close(from_write)
replies = os.fdopen(from_read, 'rb')
number, buffer = 0, b''


def ask(method, session=None, **params):
    global number, buffer
    number += 1
    message = {'id': number, 'method': method, 'params': params}
    if session:
        message['sessionId'] = session
    os.write(to_write, json.dumps(message).encode() + b'\0')
    while True:
        while b'\0' not in buffer:
            more = replies.read1(1 << 20)
            if not more:
                sys.exit('the browser ended')
            buffer += more
        one, buffer = buffer.split(b'\0', 1)
        reply = json.loads(one)
        if reply.get('id') == number:
            if 'error' in reply:
                sys.exit(reply['error']['message'])
            return reply['result']


def evaluate(session, expression):
    return ask('Runtime.evaluate', session, expression=expression, awaitPromise=True, returnByValue=True)


try:
    signal.alarm(120)
    target = ask('Target.createTarget', url='about:blank')['targetId']
    session = ask('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
    began = time.monotonic()
    ask('Page.navigate', session, url=url)
    while not evaluate(session, 'document.body && document.body.dataset.ready || ""')['result'].get('value'):
        if time.monotonic() - began > 60:
            sys.exit('the page did not get ready')
        time.sleep(0.01)
    ready_ms = round((time.monotonic() - began) * 1000)
    result = evaluate(session, '(async () => { const wait = (ms) => new Promise((done) => setTimeout(done, ms));'
                               f' const readyMs = {ready_ms}; {script} }})()')
    if 'exceptionDetails' in result:
        sys.exit(result['exceptionDetails'].get('exception', {}).get('description', 'exception'))
    print(json.dumps(result['result'].get('value'), separators=(',', ':'), ensure_ascii=False))
finally:
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
