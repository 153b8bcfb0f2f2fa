// SPDX-License-Identifier: LGPL-2.1-or-later
// function.js: the part of app.js (which calls it) that shows what is inside of one function: in which
// order it calls others, as the automaton of `encode --fsa`, and at level paths its code block by block.
function insideInit(data, { make, number, openByName }) {
	const automata = new Map((data.automata?.automata || []).map((a) => [a.name, a]));
	const listings = new Map((data.blocks?.functions || []).map((f) => [f.m + " " + f.a, f]));
	// A callee's name has how it was entered before it.
	const how = { "=>": "jumps to ", "^": "is entered by a signal: " };
	function calleeOf(symbol) {
		const sign = Object.keys(how).find((s) => symbol.startsWith(s)) || "";
		return [how[sign] || "", openByName(symbol.slice(sign.length))];
	}
	const cells = (what, ...list) => make("tr", {}, ...list.map((c) => make(what, what === "th" ? { scope: "col" } : {}, ...[c].flat())));
	const tableOf = (className, head, rows) => make("div", { className: "scroll" }, make("table", { className }, make("thead", {}, cells("th", ...head)), make("tbody", {}, ...rows)));

	// A row for each way on: from which state, what it calls, how often, to which state.
	function automaton(f, most = 200) {
		const a = automata.get(f.n), rows = [];
		if (!a || a.states.every((s) => !s.arcs.length))
			return null;
		a.states.forEach((s, i) => {
			for (const [symbol, to, times] of s.arcs)
				rows.push(cells("td", String(i), number(times), String(to), calleeOf(symbol)));
			for (const [key, word] of [["ends", "it ends"], ["cut", "the recording does not show how it goes on"]])
				if (s[key])
					rows.push(cells("td", String(i), number(s[key]), "", make("span", { className: "dim" }, word)));
		});
		const box = make("div", { id: "automaton" }, make("p", { className: "dim" }, "It begins in state 0. Two states are one where the same three calls can follow."));
		const draw = (n) => make("div", {}, tableOf("inside", ["state", "times", "then in", "what it calls"], rows.slice(0, n)),
			...rows.length > n ? [make("button", { onclick: (e) => e.target.parentElement.replaceWith(draw(n * 5)) }, `show more of ${number(rows.length)}`)] : []);
		box.append(draw(most));
		return box;
	}
	// Blocks by address, with how often each ran; a source line stands above its instructions.
	function code(f) {
		const l = listings.get(f.m + " " + f.a);
		if (!l)
			return null;
		const most = Math.max(...l.b.map((b) => b.c), 1), rows = [];
		for (const b of l.b) {
			const text = make("td", { className: "code" });
			for (const [instruction, line, source] of b.i) {
				if (line)
					text.append(make("div", { className: "dim" }, line + (source ? "  " + source : "")));
				text.append(make("div", {}, instruction));
			}
			const count = make("td", {}, number(b.c), make("div", { className: "bar-ran", style: `width:${100 * b.c / most}%` }));
			rows.push(make("tr", b.c ? {} : { className: "dim" }, make("td", {}, b.a), count, text));
		}
		return make("div", { id: "code" }, tableOf("inside", ["address", "times", "code"], rows));
	}
	const notes = [...(data.blocks?.notes || [])];
	if (data.automata?.left_out)
		notes.push(`In which order functions call others takes ${Math.ceil(data.automata.left_out / 1e6)} MB, which is too much for this page: pugmark encode --fsa tells it`);
	return { automaton, code, notes };
}
