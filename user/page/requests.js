// SPDX-License-Identifier: LGPL-2.1-or-later
// requests.js: the part of app.js (which calls it) that shows requests: how many are slow, why, what
// they did, the slowest one by one, and whose they are. What it shows is `report --request`'s JSON.
function requestsInit(r, { $, make, number, time, bounds, table, zoomTo }) {
	const box = $("requests"), facts = make("div", { className: "facts" });
	const share = (n) => number(n) + (r.requests ? ` (${(100 * n / r.requests).toPrecision(2)} %)` : "");
	for (const [what, value] of [["requests", number(r.requests)], ["slow, from " + time(r.limit_ns) + " on", share(r.slow.requests)], ["fast", share(r.fast.requests)], ["neither certainly", r.between ? number(r.between) : ""], ["not whole in the recording", r.part ? number(r.part) : ""], ["median of the fast ones", bounds(r.fast.median_ns)], ["median of the slow ones", bounds(r.slow.median_ns)], ["longest", bounds(r.slow.max_ns || r.fast.max_ns)]])
		if (value)
			facts.append(make("div", {}, make("b", {}, value), what));
	box.append(make("h2", {}, "Requests of " + r.request), facts, make("h2", {}, "Why the slow ones are slow"));
	const positive = (b) => bounds(b.map((ns) => Math.max(0, ns)));
	if (r.fault) {
		box.append(make("p", { id: "request-fault" }, make("b", {}, r.fault.function), ` took ${positive(r.fault.longer_ns)} longer a request, in ${r.fault.path.map((f) => f.function).join(" › ")}.`));
		if (r.fault.loop)
			box.append(make("p", {}, `Each time it calls ${r.fault.loop.function} ${r.fault.loop.calls_each.slow.toPrecision(3)} times, in fast requests ${r.fault.loop.calls_each.fast.toPrecision(3)}.`));
	} else {
		box.append(make("p", { id: "request-fault" }, r.slow.requests && r.fast.requests ? "No single call explains what they took longer." : "There is nothing to compare."));
	}
	const lists = [
		["What they did, for one request", r.functions, [
			{ title: "longer", first: true, value: (f) => f.longer_ns[0] + f.longer_ns[1] * 1e-9, show: (f) => positive(f.longer_ns) },
			{ title: "self, fast", className: "wide", value: (f) => f.fast.self_ns[1], show: (f) => bounds(f.fast.self_ns) },
			{ title: "self, slow", className: "wide", value: (f) => f.slow.self_ns[1], show: (f) => bounds(f.slow.self_ns) },
			{ title: "calls, fast", value: (f) => f.fast.calls, show: (f) => f.fast.calls.toFixed(1) },
			{ title: "calls, slow", value: (f) => f.slow.calls, show: (f) => f.slow.calls.toFixed(1) },
			{ title: "function", className: "name", text: true, value: (f) => f.function, show: (f) => f.function },
		]],
		["The slowest", r.slowest, [
			{ title: "start", value: (s) => s.start_ns[0], show: (s) => make("button", { className: "link", onclick: () => zoomTo({ at: s.start_ns, took: s.took_ns }) }, "+" + time(s.start_ns[0])) },
			{ title: "took", first: true, value: (s) => s.took_ns[0], show: (s) => bounds(s.took_ns) },
			{ title: "thread", value: (s) => s.tid, show: (s) => String(s.tid) },
			{ title: "whose", className: "name", text: true, value: (s) => s.id || "", show: (s) => s.id || "" },
		]],
		["Whose they are", r.ids || [], [
			{ title: "slow", first: true, value: (i) => i.slow, show: (i) => number(i.slow) },
			{ title: "fast", value: (i) => i.fast, show: (i) => number(i.fast) },
			{ title: "whose", className: "name", text: true, value: (i) => i.id, show: (i) => i.id },
		]],
	];
	for (const [title, rows, columns] of lists.filter((l) => l[1].length)) {
		const at = make("div");
		box.append(make("h2", {}, title), at);
		table(at, columns, rows, 30);
	}
}
