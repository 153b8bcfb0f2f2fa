// SPDX-License-Identifier: LGPL-2.1-or-later
// against.js: the part of app.js (which calls it) that shows another recording beside this one: what
// only one did, what certainly took longer a call, and how often each was called.
function againstInit(a, { $, make, number, time, bounds, table }) {
	const box = $("against"), name = (r) => r.function + (r.import ? " (import)" : "");
	box.append(make("h2", {}, "Against " + a.title), make("p", { className: "dim" }, "This recording is the second; times are means of a call, between bounds. Longer or shorter is only what these bounds leave no doubt of."));
	const pair = (r, key) => (bounds(r[key][0]) || "–") + " → " + (bounds(r[key][1]) || "–");
	const times = [
		{ title: "at least, a call", first: true, value: (r) => r.apart_ns, show: (r) => time(r.apart_ns) },
		{ title: "total", value: (r) => r.total_ns[1][0], show: (r) => pair(r, "total_ns") },
		{ title: "self", className: "wide", value: (r) => r.self_ns[1][0], show: (r) => pair(r, "self_ns") },
		{ title: "function", className: "name", text: true, value: (r) => r.function, show: name },
	];
	const counts = [
		{ title: "there", value: (r) => r.calls[0], show: (r) => number(r.calls[0]) },
		{ title: "here", first: true, value: (r) => r.calls[1], show: (r) => number(r.calls[1]) },
		{ title: "function", className: "name", text: true, value: (r) => r.function, show: name },
	];
	for (const [title, rows, columns] of [
		["Longer here", a.rows.filter((r) => r.slower > 0), times],
		["Shorter here", a.rows.filter((r) => r.slower < 0), times],
		["Only here", a.rows.filter((r) => !r.calls[0]), counts],
		["Only there", a.rows.filter((r) => !r.calls[1]), counts],
		["Not equally often", a.rows.filter((r) => r.calls[0] && r.calls[1] && r.calls[0] !== r.calls[1]), counts],
	]) {
		const at = make("div");
		box.append(make("h2", {}, `${title}: ${number(rows.length)}`), at);
		if (rows.length)
			table(at, columns, rows, 30);
	}
}
