// SPDX-License-Identifier: LGPL-2.1-or-later
// flame.js: the part of app.js (which calls it) that draws contexts by weight, roots on top, and
// those of the search in another colour. Answers with the tree's nodes, and what each weighs.
function flameInit(data, redraw, searched, { $, number, time, bounds, style, name, matches, ROW, canvasOf, box, tell, hinted }) {
	const tree = data.tree;
	const flame = { root: 0, reverse: false, byCalls: !data.times };
	function weights(nodes) {
		const total = nodes.map((n) => flame.byCalls ? n.c : n.s);
		for (let i = nodes.length - 1; i > 0; i--)
			total[nodes[i].p] += total[i];
		return total;
	}
	const forward = tree.p.map((p, i) => ({ p, f: tree.f[i], c: tree.c[i], s: tree.s[i], lo: tree.lo[i], hi: tree.hi[i] }));
	// What each function's stacks look like from the inside out: a node per suffix.
	let inverse;
	function reversed() {
		if (inverse)
			return inverse;
		inverse = [{ p: 0, f: -2, c: 0, s: 0, lo: 0, hi: 0, kids: new Map() }];
		for (let i = 1; i < forward.length; i++) {
			let at = 0;
			for (let n = i, depth = 0; n && depth < 64; n = forward[n].p, depth++) {
				let kid = inverse[at].kids.get(forward[n].f);
				if (kid === undefined) {
					kid = inverse.push({ p: at, f: forward[n].f, c: 0, s: 0, lo: 0, hi: 0, kids: new Map() }) - 1;
					inverse[at].kids.set(forward[n].f, kid);
				}
				at = kid;
				if (inverse.length > 400000)
					return inverse;
			}
			for (const key of ["c", "s", "lo", "hi"])
				inverse[at][key] += forward[i][key];
		}
		return inverse;
	}
	let flameBoxes = [];
	redraw.flame = () => {
		const nodes = flame.reverse ? reversed() : forward, total = weights(nodes);
		const kids = nodes.map(() => []);
		for (let i = 1; i < nodes.length; i++)
			kids[nodes[i].p].push(i);
		const list = [], width = $("flame-canvas").parentElement.clientWidth;
		let rows = 1;
		const put = (i, x, w, row) => {
			const todo = [[i, x, w, row]];
			while (todo.length) {
				const [n, nx, nw, r] = todo.pop();
				list.push([n, nx, nw, r]);
				rows = Math.max(rows, r + 1);
				let at = nx;
				for (const k of kids[n].sort((a, b) => total[b] - total[a])) {
					const kw = total[n] ? nw * total[k] / total[n] : 0;
					if (kw >= 0.7)
						todo.push([k, at, kw, r + 1]);
					at += kw;
				}
			}
		};
		put(flame.root, 0, width, 0);
		const { g } = canvasOf("flame-canvas", rows);
		flameBoxes = list.map(([n, x, w, r]) => ({ n, x, w, r, total: total[n], node: nodes[n] }));
		for (const b of flameBoxes)
			if (b.n)
				box(g, b.x, b.w, b.r, b.node.f, name(b.node.f));
			else {
				g.fillStyle = style("--card");
				g.fillRect(b.x, 0, b.w, ROW - 2);
				g.fillStyle = style("--ink");
				g.fillText(`all: ${flame.byCalls ? number(total[0]) + " calls" : time(total[0])}`, 4, ROW / 2);
			}
		const whole = total[0] || 1;
		$("flame-path").textContent = flame.root ? pathOf(nodes, flame.root) : "";
		$("flame-found").textContent = searched() ? `matched: ${(100 * matched(nodes, total) / whole).toFixed(1)} %` : "";
	};
	const pathOf = (nodes, n) => { const names = []; for (; n; n = nodes[n].p) names.unshift(name(nodes[n].f)); return names.join(" › "); };
	// The weight of what matches, nothing twice.
	function matched(nodes, total) {
		const inside = nodes.map(() => false);
		let all = 0;
		for (let i = 1; i < nodes.length; i++) {
			inside[i] = inside[nodes[i].p];
			if (!inside[i] && matches(nodes[i].f)) {
				inside[i] = true;
				all += total[i];
			}
		}
		return all;
	}
	const flameAt = (e) => { const r = $("flame-canvas").getBoundingClientRect(), x = e.clientX - r.left, row = Math.floor((e.clientY - r.top) / ROW); return flameBoxes.find((b) => b.r === row && x >= b.x && x < b.x + b.w); };
	const c = $("flame-canvas");
	c.onmousemove = (e) => {
		const b = flameAt(e);
		tell(e, b && b.n ? [name(b.node.f), hinted(b.node.f), flame.byCalls ? number(b.total) + " calls in all" : time(b.total) + " in all, as drawn", `itself: ${number(b.node.c)} calls` + (data.times ? `, ${bounds([b.node.lo, b.node.hi])}` : "")].filter(Boolean) : null);
	};
	c.onmouseleave = () => tell(null, null);
	c.onclick = (e) => { const b = flameAt(e); if (b) { flame.root = b.n; redraw.flame(); } };
	c.onkeydown = (e) => {
		const nodes = flame.reverse ? reversed() : forward;
		if (e.key === "Escape" || e.key === "Backspace" || e.key === "ArrowUp")
			flame.root = e.key === "Escape" ? 0 : nodes[flame.root].p;
		else if (e.key === "ArrowDown" || e.key === "Enter")
			flame.root = flameBoxes.find((b) => b.r === 1)?.n ?? flame.root;
		else
			return;
		e.preventDefault();
		redraw.flame();
	};
	$("flame-reset").onclick = () => { flame.root = 0; redraw.flame(); };
	$("flame-reverse").onclick = () => { flame.reverse = !flame.reverse; flame.root = 0; $("flame-reverse").setAttribute("aria-pressed", flame.reverse); redraw.flame(); };
	$("flame-weight").value = flame.byCalls ? "calls" : "time";
	$("flame-weight").disabled = !data.times;
	$("flame-weight").onchange = (e) => { flame.byCalls = e.target.value === "calls"; redraw.flame(); };
	return { forward, weights };
}
