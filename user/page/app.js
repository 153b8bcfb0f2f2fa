// SPDX-License-Identifier: LGPL-2.1-or-later
// app.js: what the page of `pugmark report --html` does in the browser. All text that came from the
// recording is set as text and never as markup. It asks nothing of any network.
"use strict";
(async () => {
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const { frames, threads, functions } = data;
const make = (tag, attributes, ...children) => {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(attributes || {}))
		key in e ? (e[key] = value) : e.setAttribute(key, value);
	e.append(...children);
	return e;
};
const number = (n) => n.toLocaleString("en-US");
const time = (ns) => {
	for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]])
		if (ns >= size)
			return (ns / size).toPrecision(4) + unit;
	return Math.round(ns) + "ns";
};
// Both bounds, or one where they are the same.
const bounds = (b) => !b ? "" : b[0] === b[1] ? time(b[0]) : b[0] ? time(b[0]) + ".." + time(b[1]) : "<" + time(b[1]);
const dark = matchMedia("(prefers-color-scheme: dark)");
// By name, until the colour scheme is another one: asking for each box that is drawn takes longer than drawing it.
const styles = new Map(), hues = [];
const style = (name) => styles.get(name) ?? (styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(name)), styles.get(name));
const colours = frames.map((f) => {
	let h = 7;
	for (const c of f.n + f.m)
		h = (h * 31 + c.charCodeAt(0)) >>> 0;
	return h % 360;
});
const colour = (frame) => frame < 0 ? style("--warn") : hues[frame] ??= `hsl(${colours[frame]} ${frames[frame].o ? 12 : 60}% ${dark.matches ? 38 : 78}%)`;
const name = (frame) => frame < 0 ? "[gap]" : frames[frame].n;

// ---- what is shown ----
const views = ["overview", "flame", "timeline", "calls", "functions", "requests", "against", "function"];
let query = "", shown = "overview";
const redraw = { flame: () => {}, timeline: () => {} };
function show(view) {
	shown = view;
	for (const v of views) {
		$(v).hidden = v !== view;
		const tab = $("tab-" + v);
		tab?.setAttribute("aria-selected", String(v === view));
		if (tab)
			tab.tabIndex = v === view ? 0 : -1;
	}
	redraw[view]?.();
}
const matches = (frame) => query && name(frame).toLowerCase().includes(query);

// ---- tables ----
// On a narrow screen bounds may go on in the next line.
const breakable = (value) => typeof value === "string" ? value.replace("..", "..\u200b") : value;
function table(parent, columns, rows, most) {
	let order = columns.findIndex((c) => c.first), up = false, limit = most || 200;
	const draw = () => {
		const sorted = order < 0 ? rows : [...rows].sort((a, b) => {
			const x = columns[order].value(a), y = columns[order].value(b);
			return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
		});
		const head = make("tr");
		columns.forEach((c, i) => {
			const th = make("th", { scope: "col", className: c.className || "" });
			th.setAttribute("aria-sort", i !== order ? "none" : up ? "ascending" : "descending");
			th.append(make("button", { onclick: () => { up = i === order ? !up : !!c.text; order = i; draw(); } }, c.title));
			head.append(th);
		});
		const body = make("tbody");
		for (const row of sorted.slice(0, limit)) {
			const tr = make("tr");
			for (const c of columns)
				tr.append(make("td", { className: c.className || "" }, ...[c.show(row)].flat().map(breakable)));
			body.append(tr);
		}
		parent.replaceChildren(make("div", { className: "scroll" }, make("table", {}, make("thead", {}, head), body)));
		if (sorted.length > limit)
			parent.append(make("button", { onclick: () => { limit *= 5; draw(); } }, `show more of ${number(sorted.length)}`));
		if (!sorted.length)
			parent.append(make("p", { className: "dim" }, "none"));
	};
	draw();
}
// What is known of a function without a name: behind its link, and in the box over a frame.
const hints = new Map(functions.filter((f) => f.k).map((f) => [f.m + " " + f.n, f.k]));
const hinted = (frame) => frame < 0 ? undefined : hints.get(frames[frame].m + " " + frames[frame].n);
const known = (f) => f.k ? [link(f.id), make("span", { className: "dim" }, " " + f.k)] : [link(f.id)];
const link = (id) => make("button", { className: "link", onclick: () => openFunction(id) }, functions[id].n + (functions[id].i ? " (import)" : ""));
const sum = (key) => (f) => f[key] ? f[key][0] * 1e-9 + f[key][1] * 1e-18 : -1;
const functionColumns = [
	{ title: "calls", value: (f) => f.c, show: (f) => number(f.c) },
	{ title: "total", value: sum("t"), show: (f) => bounds(f.t), first: data.times },
	{ title: "self", value: sum("s"), show: (f) => bounds(f.s) },
	{ title: "median", className: "wide", value: (f) => f.d ? f.d.median[1] : -1, show: (f) => bounds(f.d?.median) },
	{ title: "99 %", className: "wide", value: (f) => f.d ? f.d.p99[1] : -1, show: (f) => bounds(f.d?.p99) },
	{ title: "longest", className: "wide", value: (f) => f.d ? f.d.max[1] : -1, show: (f) => bounds(f.d?.max) },
	{ title: "function", className: "name", text: true, value: (f) => f.n.toLowerCase(), show: known },
];
function drawFunctions() {
	table($("function-table"), functionColumns, functions.filter((f) => f.ran && (!query || f.n.toLowerCase().includes(query))));
}

// ---- one function ----
function openFunction(id) {
	const f = functions[id], box = $("function");
	box.replaceChildren(make("h2", {}, f.n), make("p", { className: "dim" }, [f.m, f.a ? "at " + f.a : "", f.i ? "imported" : "", f.k].filter(Boolean).join(", ")));
	const facts = make("div", { className: "facts" });
	for (const [what, value] of [["calls", number(f.c)], ["total", bounds(f.t)], ["self", bounds(f.s)], ["shortest", bounds(f.d?.min)], ["median", bounds(f.d?.median)], ["99 %", bounds(f.d?.p99)], ["longest", bounds(f.d?.max)]])
		if (value)
			facts.append(make("div", {}, make("b", {}, breakable(value)), what));
	box.append(facts);
	for (const [title, list] of [["Called by", f.callers], ["Calls", f.callees]]) {
		const at = make("div");
		box.append(make("h2", {}, title), at);
		table(at, [
			{ title: "calls", first: true, value: (e) => e[1], show: (e) => number(e[1]) },
			{ title: "total", value: (e) => e[2] ? e[2][0] : -1, show: (e) => bounds(e[2]) },
			{ title: "function", className: "name", text: true, value: (e) => functions[e[0]].n, show: (e) => known(functions[e[0]]) },
		], list, 30);
	}
	if (f.h)
		box.append(make("h2", {}, "How long its calls took"), histogram(f.h));
	for (const [title, part] of [["In which order it calls", inside.automaton(f)], ["Its code, and how often each block ran", inside.code(f)]])
		if (part)
			box.append(make("h2", {}, title), part);
	const slow = data.slow.filter((s) => s.f === id);
	if (slow.length) {
		const at = make("div");
		box.append(make("h2", {}, "Slowest of its calls"), at);
		slowTable(at, slow);
	}
	show("function");
	$("tab-function").hidden = false;
	$("tab-function").textContent = "Function: " + f.n.slice(0, 24);
	box.tabIndex = -1;
	box.focus();
}
const idByName = new Map(functions.filter((f) => f.ran).map((f) => [f.n, f.id]));
const inside = insideInit(data, { make, number, openByName: (n) => idByName.has(n) ? link(idByName.get(n)) : n });
// A row for each power of two: how many calls took so long, by the least that they can have taken, and by the most.
function histogram(h) {
	const most = Math.max(...h.n.flat(), 1);
	const bar = (n, what) => make("td", {}, ...n ? [make("div", { className: "bar-" + what, style: `width:${100 * n / most}%` }), number(n)] : []);
	const rows = h.n.map(([least, longest], i) => make("tr", {}, make("th", { scope: "row" },
		(h.p + i ? time(2 ** (h.p + i)) : "0") + ".." + time(2 ** (h.p + i + 1))), bar(least, "least"), bar(longest, "most")));
	const head = make("tr", {}, ...["took", "calls, by the least that it can be", "calls, by the most"].map((t) => make("th", { scope: "col" }, t)));
	return make("div", { className: "scroll" }, make("table", { className: "hist" }, make("thead", {}, head), make("tbody", {}, ...rows)));
}
function slowTable(at, rows) {
	table(at, [
		{ title: "start", value: (s) => s.at[0], show: (s) => make("button", { className: "link", onclick: () => zoomTo(s) }, "+" + time(s.at[0])) },
		{ title: "took", first: true, value: (s) => s.took[0] + s.took[1] * 1e-9, show: (s) => bounds(s.took) + (s.open ? " (still open)" : "") },
		{ title: "thread", value: (s) => s.tid, show: (s) => String(s.tid) },
		{ title: "function", className: "name", text: true, value: (s) => functions[s.f].n, show: (s) => known(functions[s.f]) },
	], rows, 20);
}

// ---- the overview ----
function overview() {
	const o = $("overview"), facts = make("div", { className: "facts" });
	for (const [what, value] of [["duration", time(data.duration)], ["calls", number(data.calls)], ["witness events", number(data.witnesses)], [threads.length === 1 ? "thread" : "threads", number(threads.length)], ["functions that ran", number(functions.filter((f) => f.ran).length)], ["gaps", data.gaps ? `${number(data.gaps)} (${time(data.gapTime)})` : "none"]])
		facts.append(make("div", {}, make("b", {}, value), what));
	o.append(make("p", { className: data.gaps || !data.whole ? "warn" : "good" }, data.gaps || !data.whole ? "Not complete: what happened in the gaps is not known, everything else is exact." : "Complete: every call and return is there."), facts);
	for (const note of [...data.notes, ...inside.notes])
		o.append(make("p", { className: "dim" }, "Note: " + note));
	const threadsAt = make("div"), slowAt = make("div"), gapsAt = make("div");
	o.append(make("h2", {}, "Threads"), threadsAt);
	table(threadsAt, [
		{ title: "thread", value: (t) => t.tid, show: (t) => String(t.tid) },
		{ title: "process", value: (t) => t.pid, show: (t) => String(t.pid) },
		{ title: "first", value: (t) => t.first, show: (t) => "+" + time(t.first) },
		{ title: "last", value: (t) => t.last, show: (t) => "+" + time(t.last) },
		{ title: "witness events", first: true, value: (t) => t.events, show: (t) => number(t.events) },
		{ title: "name", className: "name", text: true, value: (t) => t.n, show: (t) => t.n },
	], threads, 30);
	if (data.times) {
		o.append(make("h2", {}, "Slowest calls"), slowAt);
		slowTable(slowAt, data.slow.slice(0, 50));
	}
	if (data.gapList.length) {
		o.append(make("h2", {}, "Gaps"), gapsAt);
		table(gapsAt, [
			{ title: "from", value: (g) => g.from, show: (g) => "+" + time(g.from) },
			{ title: "to", value: (g) => g.to, show: (g) => "+" + time(g.to) },
			{ title: "lost", value: (g) => g.lost, show: (g) => number(g.lost) },
			{ title: "thread", value: (g) => g.tid, show: (g) => String(g.tid) },
			{ title: "cause", className: "name", text: true, value: (g) => g.cause, show: (g) => g.cause },
		], data.gapList, 50);
	}
}

// ---- pictures ----
const ROW = 18;
function canvasOf(id, rows) {
	const canvas = $(id), scale = devicePixelRatio || 1;
	const width = canvas.parentElement.clientWidth, height = Math.max(rows, 1) * ROW;
	canvas.width = width * scale;
	canvas.height = height * scale;
	canvas.style.height = height + "px";
	const g = canvas.getContext("2d");
	g.setTransform(scale, 0, 0, scale, 0, 0);
	g.font = "12px system-ui, sans-serif";
	g.textBaseline = "middle";
	return { canvas, g, width, height };
}
function box(g, x, w, row, frame, text) {
	g.fillStyle = matches(frame) ? style("--hit") : colour(frame);
	g.fillRect(x, row * ROW + 1, Math.max(w - (w > 3 ? 1 : 0), 0.7), ROW - 2);
	if (w < 30)
		return;
	g.fillStyle = matches(frame) ? "#000" : style("--ink");
	const fits = Math.floor((w - 6) / 6.2), label = text.length > fits ? text.slice(0, Math.max(fits - 1, 0)) + "…" : text;
	g.fillText(label, x + 3, row * ROW + ROW / 2 + 1);
}
const tip = $("tip");
function tell(event, lines) {
	tip.hidden = !lines;
	if (!lines)
		return;
	tip.replaceChildren(...lines.map((l, i) => make(i ? "div" : "b", {}, l)));
	tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
	tip.style.top = Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 8) + "px";
}

const { forward, weights } = flameInit(data, redraw, () => query, { $, number, time, bounds, style, name, matches, ROW, canvasOf, box, tell, hinted });

// ---- the timeline: one track below the other, calls by depth ----
let tracks = null;
const view = { from: 0, to: 1 };
let timelineBoxes = [];
// All of them, or of who served the page those of the view; null: a later view has been asked for.
async function readTracks() {
	if (!data.served)
		return tracks ||= await tracksOfPage($("events").textContent);
	try {
		const width = Math.max($("timeline-canvas").parentElement.clientWidth, 1);
		const list = await tracksServed(view, width);
		if (list)
			$("timeline-note").textContent = "";
		return list;
	} catch (e) {
		$("timeline-note").textContent = `The timeline cannot be asked for (${e.message}): does pugmark serve still run?`;
		return tracks;
	}
}
const firstAfter = (list, value) => { let a = 0, b = list.length; while (a < b) { const m = (a + b) >> 1; if (list[m] <= value) a = m + 1; else b = m; } return a; };
redraw.timeline = async () => {
	const list = await readTracks();
	if (!list)
		return;
	tracks = list;
	const most = 30;
	let rows = 1;
	for (const t of tracks)
		rows += Math.min(t.rows.length, most) + 1;
	const { g, width } = canvasOf("timeline-canvas", rows);
	const span = view.to - view.from || 1, x = (ns) => (ns - view.from) / span * width;
	timelineBoxes = [];
	g.fillStyle = style("--dim");
	for (let i = 0; i <= 4; i++) {
		const ns = view.from + span * i / 4;
		g.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center";
		g.fillText((data.times ? "+" + time(ns) : "event " + Math.round(ns)), width * i / 4 + (i === 0 ? 4 : i === 4 ? -4 : 0), ROW / 2);
	}
	g.textAlign = "left";
	let top = 1;
	for (const t of tracks) {
		const thread = threads[t.thread];
		g.fillStyle = style("--dim");
		g.fillText(`${thread.n} ${thread.tid}${t.stack ? ", stack " + t.stack : ""}${t.levels > most ? `, ${t.levels} levels, ${most} shown` : ""}`, 4, top * ROW + ROW / 2);
		top++;
		const depth = Math.min(t.rows.length, most);
		for (let d = 0; d < depth; d++) {
			const row = t.rows[d];
			if (!row)
				continue;
			for (let i = Math.max(firstAfter(row.from, view.from) - 1, 0); i < row.from.length && row.from[i] <= view.to;) {
				const a = Math.max(x(row.from[i]), 0), b = Math.min(x(row.to[i]), width), w = b - a;
				if (row.to[i] >= view.from) {
					box(g, a, w, top + d, row.frame[i], name(row.frame[i]));
					if (w > 2)
						timelineBoxes.push({ x: a, w, r: top + d, i, row });
				}
				if (w >= 1)
					i++;
				else // what begins within this pixel is one box, but for its last, which may go on
					i = Math.max(i + 1, firstAfter(row.from, view.from + (a + 1) / width * span) - 1);
			}
		}
		for (const gap of t.gaps)
			if (gap.to >= view.from && gap.at <= view.to) {
				g.fillStyle = style("--warn");
				g.globalAlpha = 0.35;
				g.fillRect(x(gap.at), top * ROW, Math.max(x(gap.to) - x(gap.at), 1), depth * ROW);
				g.globalAlpha = 1;
			}
		top += depth;
	}
	document.body.dataset.drawn = +(document.body.dataset.drawn || 0) + 1; // for who measures it
};
function zoom(factor, at) {
	const span = (view.to - view.from) * factor;
	const from = at - (at - view.from) * factor;
	view.from = Math.max(0, from);
	view.to = Math.min(data.end, view.from + Math.max(span, data.times ? 100 : 4));
	redraw.timeline();
}
function pan(share) {
	const span = view.to - view.from, by = Math.max(-view.from, Math.min(span * share, data.end - view.to));
	view.from += by;
	view.to += by;
	redraw.timeline();
}
function zoomTo(slow) {
	const margin = Math.max((slow.took[1]) * 0.05, 100);
	view.from = Math.max(0, slow.at[0] - margin);
	view.to = Math.min(data.end, slow.at[1] + slow.took[1] + margin);
	show("timeline");
}
function timelineInit() {
	const c = $("timeline-canvas");
	view.to = data.end || 1;
	const at = (e) => { const r = c.getBoundingClientRect(); return { x: e.clientX - r.left, ns: view.from + (e.clientX - r.left) / r.width * (view.to - view.from), row: Math.floor((e.clientY - r.top) / ROW) }; };
	const hit = (e) => { const p = at(e); return timelineBoxes.find((b) => b.r === p.row && p.x >= b.x && p.x < b.x + b.w); };
	let drag = null;
	c.addEventListener("wheel", (e) => { if (!e.ctrlKey && !e.shiftKey) return; e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, at(e).ns); }, { passive: false });
	c.onpointerdown = (e) => { drag = { x: e.clientX, from: view.from, to: view.to, moved: false }; };
	c.onpointermove = (e) => {
		if (drag && e.buttons) {
			const by = (drag.x - e.clientX) / c.clientWidth * (drag.to - drag.from);
			drag.moved ||= Math.abs(drag.x - e.clientX) > 3;
			view.from = Math.max(0, drag.from + by);
			view.to = view.from + drag.to - drag.from;
			redraw.timeline();
			return;
		}
		const b = hit(e);
		tell(e, b ? [name(b.row.frame[b.i]), hinted(b.row.frame[b.i]), data.times ? `+${time(b.row.from[b.i])}, ${time(b.row.to[b.i] - b.row.from[b.i])} as drawn` : "", b.row.doubt[b.i] ? `its times are known to within ${time(b.row.doubt[b.i])}` : data.times ? "its times were witnessed" : ""].filter(Boolean) : null);
	};
	c.onpointerup = () => { drag = null; };
	c.onmouseleave = () => { drag = null; tell(null, null); };
	c.ondblclick = (e) => { const b = hit(e); if (b) { view.from = b.row.from[b.i]; view.to = Math.max(b.row.to[b.i], view.from + 100); redraw.timeline(); } };
	c.onkeydown = (e) => {
		const middle = (view.from + view.to) / 2;
		const keys = { "+": () => zoom(0.5, middle), "=": () => zoom(0.5, middle), "-": () => zoom(2, middle), w: () => zoom(0.5, middle), s: () => zoom(2, middle), ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), a: () => pan(-0.25), d: () => pan(0.25), Home: () => { view.from = 0; view.to = data.end; redraw.timeline(); } };
		if (keys[e.key]) {
			e.preventDefault();
			keys[e.key]();
		}
	};
	$("zoom-in").onclick = () => zoom(0.5, (view.from + view.to) / 2);
	$("zoom-out").onclick = () => zoom(2, (view.from + view.to) / 2);
	$("zoom-all").onclick = () => { view.from = 0; view.to = data.end; redraw.timeline(); };
	$("pan-left").onclick = () => pan(-0.25);
	$("pan-right").onclick = () => pan(0.25);
	if (data.cut)
		$("timeline-note").textContent = `The timeline ends after ${number(data.cut)} events; report --from and --to choose another part, and pugmark serve shows all.`;
}

// ---- the call tree ----
function callTree() {
	const total = weights(forward), kids = forward.map(() => []);
	for (let i = 1; i < forward.length; i++)
		kids[forward[i].p].push(i);
	const list = (n) => {
		const ul = make("ul", { role: n ? "group" : "tree", className: n ? "" : "tree" });
		for (const k of kids[n].sort((a, b) => total[b] - total[a]).slice(0, 200)) {
			const li = make("li", { role: "treeitem" }), more = kids[k].length > 0;
			const label = `${more ? "▸ " : "  "}${name(forward[k].f)}  — ${number(forward[k].c)} calls${data.times ? ", " + time(total[k]) : ""}`;
			const b = make("button", {}, label);
			if (matches(forward[k].f))
				b.style.background = style("--hit");
			if (more) {
				li.setAttribute("aria-expanded", "false");
				b.onclick = () => {
					const open = li.getAttribute("aria-expanded") === "true";
					li.setAttribute("aria-expanded", String(!open));
					b.textContent = (open ? "▸" : "▾") + b.textContent.slice(1);
					open ? li.lastChild.remove() : li.append(list(k));
				};
			}
			li.append(b);
			ul.append(li);
		}
		return ul;
	};
	$("tree").replaceChildren(list(0));
}

// ---- all of it ----
document.title = "pugmark: " + data.title;
$("title").textContent = data.title;
$("when").textContent = data.when;
overview();
timelineInit();
callTree();
drawFunctions();
if (data.requests) {
	requestsInit(data.requests, { $, make, number, time, bounds, table, zoomTo });
	$("tab-requests").hidden = false;
}
if (data.against) {
	againstInit(data.against, { $, make, number, time, bounds, table });
	$("tab-against").hidden = false;
}
for (const v of views)
	$("tab-" + v)?.addEventListener("click", () => show(v));
$("search").oninput = (e) => {
	query = e.target.value.trim().toLowerCase();
	drawFunctions();
	callTree();
	redraw[shown]?.();
	if (query && (shown === "overview" || shown === "function"))
		show("functions");
	$("search").focus();
};
document.onkeydown = (e) => {
	if (e.target.tagName === "INPUT" || e.ctrlKey || e.metaKey || e.altKey)
		return;
	if (e.key === "/") {
		e.preventDefault();
		$("search").focus();
		return;
	}
	const view = views.filter((v) => !$("tab-" + v).hidden)[+e.key - 1];
	if (view) {
		show(view);
		$("tab-" + shown).focus();
	}
};
addEventListener("resize", () => redraw[shown]?.());
dark.addEventListener("change", () => { styles.clear(); hues.length = 0; redraw[shown]?.(); });
show("overview");
document.body.dataset.ready = "yes";
})();
