// SPDX-License-Identifier: LGPL-2.1-or-later
// tracks.js: where the timeline's calls come from: out of the page itself, or, of a page that was
// served, from who served it, for a range of the time. A track has a list of calls per depth.
const numbersOf = (bytes) => {
	let i = 0;
	const next = () => { let v = 0, m = 1, b; do { b = bytes[i++]; v += (b & 127) * m; m *= 128; } while (b > 127); return v; };
	return { next, more: () => i < bytes.length };
};
const emptyRow = () => ({ from: [], to: [], frame: [], doubt: [] });

// The events of page.c.
async function tracksOfPage(text) {
	const packed = Uint8Array.from(atob(text.replace(/\s/g, "")), (c) => c.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
	const { next, more } = numbersOf(new Uint8Array(await new Response(stream).arrayBuffer()));
	const list = [], byKey = new Map();
	let on = null, now = 0, last = 0;
	while (more()) {
		const tag = next();
		if (tag === 1) { // another track: thread, stack
			const thread = next(), stack = next(), key = thread + "/" + stack;
			now = next();
			if (!byKey.has(key)) {
				byKey.set(key, { thread, stack, open: [], rows: [], gaps: [] });
				list.push(byKey.get(key));
			}
			on = byKey.get(key);
			continue;
		}
		if (tag === 3) { // a gap: when, how long, cause
			now += next();
			const length = next();
			on.gaps.push({ at: now, to: now + length, cause: next() });
			continue;
		}
		now += next();
		const doubt = next();
		last = Math.max(last, now + doubt);
		if (tag) {
			const depth = on.open.length, row = (on.rows[depth] ||= emptyRow());
			on.open.push(row.from.length);
			row.from.push(now);
			row.to.push(now);
			row.frame.push(tag / 2 - 1);
			row.doubt.push(doubt);
		} else if (on.open.length) {
			const at = on.open.pop(), row = on.rows[on.open.length];
			row.to[at] = now;
			row.doubt[at] = Math.max(row.doubt[at], doubt);
		}
	}
	for (const t of list) {
		t.levels = t.rows.length;
		for (let d = 0; d < t.open.length; d++)
			t.rows[d].to[t.open[d]] = last;
	}
	return list;
}

// The answer of user/serve/ranges.h.
function tracksOfAnswer(bytes) {
	const { next } = numbersOf(bytes), list = [];
	for (let n = next(); n > 0; n--) {
		const track = { thread: next(), stack: next(), levels: next(), gaps: [], rows: [] };
		for (let g = next(); g > 0; g--) {
			const at = next();
			track.gaps.push({ at, to: at + next(), cause: next() });
		}
		for (let r = next(); r > 0; r--) {
			const row = emptyRow();
			let at = 0;
			for (let c = next(); c > 0; c--) {
				at += next();
				row.from.push(at);
				row.to.push(at + next());
				row.frame.push(next());
				row.doubt.push(next());
			}
			track.rows.push(row);
		}
		list.push(track);
	}
	return list;
}

// Null: meanwhile another range has been asked for.
let asking = null;
async function tracksServed(view, width) {
	asking?.abort();
	const mine = asking = new AbortController();
	try {
		const from = Math.max(0, Math.floor(view.from)), to = Math.max(from + 1, Math.ceil(view.to));
		const answer = await fetch(`range?from=${from}&to=${to}&width=${Math.min(width, 8192)}`, { signal: mine.signal });
		if (!answer.ok)
			throw new Error("status " + answer.status);
		const list = tracksOfAnswer(new Uint8Array(await answer.arrayBuffer()));
		return mine.signal.aborted ? null : list;
	} catch (e) {
		if (mine.signal.aborted)
			return null;
		throw e;
	}
}
