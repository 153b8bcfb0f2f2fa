#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# page.sh: the page of `report --html` in a real browser: what it shows is what report counts; search,
# zoom, keys and a narrow screen; names that are markup are text; nothing is asked of any network.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq python3 objcopy
browser=
for candidate in chromium chromium-browser google-chrome; do
	command -v $candidate >/dev/null && browser=$candidate && break
done
[ -n "$browser" ] || skip 'no chromium here'
work_in_own_folder

# Runs SCRIPT at the end of the page, and prints what it leaves in `result`.
in_browser() { # PAGE WIDTH SCRIPT
	sed '$d' "$1" >probe.html # but for </html>
	cat >>probe.html <<-HTML
	<script>
	const wait = (ms) => new Promise((done) => setTimeout(done, ms));
	(async () => {
		while (!document.body.dataset.ready) await wait(20);
		let result;
		try { result = await (async () => { $3 })(); } catch (e) { result = "error: " + e.message; }
		const at = document.createElement("pre");
		at.id = "result";
		at.textContent = "RES" + "ULT" + JSON.stringify(result) + "END";
		document.body.append(at);
	})();
	</script></html>
	HTML
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$dir/profile" \
		--window-size="$2,900" --virtual-time-budget=15000 \
		--dump-dom "file://$dir/probe.html" 2>browser.err |
		python3 -c 'import html, re, sys
m = re.search("RESULT(.*)END</pre>", sys.stdin.read(), re.S)
print(html.unescape(m[1]) if m else "the page did not answer")'
}
shows() { # CLAIM PAGE WIDTH SCRIPT EXPECTED
	claim "$1" is "$(in_browser "$2" "$3" "$4")" "$5"
}

${CC:-cc} -O2 -Wno-attributes "$tests/programs/views.c" -o prog 2>err || skip 'no compiler'
run 0 record -q -o rec -- ./prog
run 0 report --html -o page.html rec
run 0 report --format json rec
cp out report.json
calls=$(jq .calls report.json)
claim 'one file, small' test "$(stat -c %s page.html)" -lt 200000

shows 'it says that it is complete, and how many calls there are' page.html 1280 \
	'return [document.querySelector("#overview p").className, document.querySelectorAll("#overview .facts b")[1].textContent]' \
	"[\"good\",\"$(printf "%'d" "$calls" | sed 's/[^0-9]//g' | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta')\"]"
shows 'the table of functions has those that ran, with their calls' page.html 1280 '
	document.getElementById("tab-functions").click();
	const rows = [...document.querySelectorAll("#function-table tbody tr")];
	return rows.map((r) => r.lastChild.textContent.replace(" (import)", "") + " " + r.firstChild.textContent.replaceAll(",", "")).sort()' \
	"$(jq -c '[.functions[] | "\(.function) \(.calls)"] | sort' report.json)"
shows 'search leaves what matches' page.html 1280 '
	const search = document.getElementById("search");
	search.value = "fact";
	search.dispatchEvent(new Event("input"));
	return [...document.querySelectorAll("#function-table td.name")].map((e) => e.textContent)' '["factorial"]'
shows 'a function has its callers and callees' page.html 1280 '
	[...document.querySelectorAll("#overview button.link, #function-table button.link")].find((b) => b.textContent === "first_step").click();
	const tables = document.querySelectorAll("#function table");
	return [document.querySelector("#function h2").textContent, ...[0, 1].map((i) => [...tables[i].querySelectorAll("td.name")].map((e) => e.textContent).sort())]' \
	"$(jq -c '.functions[] | select(.function == "first_step") | ["first_step", ([.callers[].function] | sort), ([.callees[].function] | sort)]' report.json)"
shows 'a function has how long its calls took: each of them, by the least and by the most' page.html 1280 '
	[...document.querySelectorAll("#function-table button.link")].find((b) => b.textContent === "factorial").click();
	const rows = [...document.querySelectorAll("#function .hist tbody tr")];
	return [1, 2].map((i) => rows.reduce((sum, r) => sum + Number(r.children[i].textContent.replaceAll(",", "")), 0))' \
	"$(jq -c '.functions[] | select(.function == "factorial") | .durations_ns.calls | [., .]' report.json)"
run 0 encode --fsa --format json rec
cp out automata.json
of_function='[...document.querySelectorAll("#function-table button.link")].find((b) => b.textContent === name).click();
	const rows = (id) => [...document.querySelectorAll(`#${id} tbody tr`)].map((r) => [...r.children]);'
shows 'a function has the automaton of what it calls' page.html 1280 '
	const name = "first_step"; '"$of_function"'
	return rows("automaton").map((r) => r.map((c) => c.textContent))' \
	"$(jq -c '.automata[] | select(.name == "first_step").states | to_entries | map(.key as $k | (.value.arcs[] |
		["\($k)", "\(.[2])", "\(.[1])", (.[0] | sub("=>"; "jumps to "))]), (.value.ends // empty | ["\($k)", "\(.)", "", "it ends"]))' automata.json)"
shows 'and none where it calls nothing, nor code without level paths' page.html 1280 '
	const name = "leaf"; '"$of_function"'
	return [document.querySelector("#function h2").textContent, document.getElementById("automaton"), document.getElementById("code")]' '["leaf",null,null]'
run 0 record -q --level paths -o paths -- ./prog
run 0 report --html -o paths.html paths
shows 'at level paths it has its code, and how often each block ran' paths.html 1280 '
	const name = "factorial"; '"$of_function"'
	const calls = Number(document.querySelector("#function .facts b").textContent.replaceAll(",", ""));
	return [rows("code").length > 1, calls === Number(rows("code")[0][1].textContent.replaceAll(",", "")),
		document.getElementById("code").textContent.includes("ret")]' '[true,true,true]'
mv prog moved
run 0 report --html -o away.html paths
mv moved prog
shows 'where the file is gone, the overview says so' away.html 1280 '
	return [document.getElementById("overview").textContent.includes("prog: "), document.title.length > 9]' '[true,true]'
shows 'the call tree opens' page.html 1280 '
	document.getElementById("tab-calls").click();
	const top = document.querySelector("#tree li button");
	top.click();
	return document.querySelector("#tree li").getAttribute("aria-expanded") + document.querySelectorAll("#tree li li").length.toString().replace(/^[1-9].*/, " some")' '"true some"'
pixels='const ink = (id) => { const c = document.getElementById(id), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; };'
shows 'the flame graph is drawn, and goes into what is chosen by key' page.html 1280 "$pixels"'
	document.getElementById("tab-flame").click();
	const before = ink("flame-canvas") > 1000, path = document.getElementById("flame-path");
	const c = document.getElementById("flame-canvas");
	const none = path.textContent;
	c.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
	const inside = path.textContent.length > 0;
	c.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
	return [before, none, inside, path.textContent]' '[true,"",true,""]'
shows 'the timeline is drawn, and zooms by key' page.html 1280 "$pixels"'
	document.getElementById("tab-timeline").click();
	await wait(300);
	document.getElementById("zoom-all").click(); // now there is a scroll bar, or not
	await wait(300);
	const c = document.getElementById("timeline-canvas"), first = c.toDataURL(), drawn = ink("timeline-canvas") > 1000;
	c.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
	await wait(100);
	const zoomed = c.toDataURL() !== first;
	c.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
	await wait(100);
	return [drawn, zoomed, c.toDataURL() === first]' '[true,true,true]'
shows 'keys 1 to 5 change the view' page.html 1280 '
	document.dispatchEvent(new KeyboardEvent("keydown", { key: "3" }));
	return [document.getElementById("timeline").hidden, document.getElementById("overview").hidden, document.activeElement.id]' '[false,true,"tab-timeline"]'
shows 'nothing is wider than a narrow screen' page.html 390 '
	const wide = [];
	for (const v of ["overview", "flame", "timeline", "calls", "functions"]) {
		document.getElementById("tab-" + v).click();
		await wait(100);
		if (document.documentElement.scrollWidth > innerWidth) wide.push(v);
	}
	return wide' '[]'
shows 'nothing but the file itself was asked for, nor may it be' page.html 1280 '
	for (const v of ["flame", "timeline", "calls", "functions"]) {
		document.getElementById("tab-" + v).click();
		await wait(50);
	}
	const refused = await fetch("http://127.0.0.1:9/").then(() => "asked", (e) => e.name);
	return [performance.getEntriesByType("resource").filter((r) => !r.name.startsWith("data:") && !r.name.includes("127.0.0.1")).length,
		document.querySelector("meta[http-equiv]").content.startsWith("default-src '"'none'"'"), refused]' '[0,true,"TypeError"]'

# Names of a function that are markup, quotes and a change of direction.
cat >hostile.c <<'C'
static volatile int sink;
__attribute__((noipa)) void script(void) { sink++; }
__attribute__((noipa)) void quote(void) { sink++; script(); }
int main(void) { quote(); return 0; }
C
${CC:-cc} -O2 hostile.c -o hostile && objcopy \
	--redefine-sym script="</script><script>document.title='broken'</script>" \
	--redefine-sym quote="a\"b'c&lt;<img src=x onerror=document.title='broken'>"$'\u202e' hostile
claim 'a program with such names' is $? 0
run 0 record -q -o bad -- ./hostile
run 0 report --html -o bad.html bad
shows 'names that are markup stay text' bad.html 1280 '
	document.getElementById("tab-functions").click();
	const names = [...document.querySelectorAll("#function-table td.name")].map((e) => e.textContent);
	return [document.title.includes("broken"), document.querySelectorAll("img").length, names.filter((n) => n.startsWith("<\/script>") || n.startsWith("a\"b")).length]' \
	'[false,0,2]'

run 0 report --html --request '*img*' -o requests.html bad
shows 'requests have a tab, with names as text' requests.html 1280 '
	document.getElementById("tab-requests").click();
	const box = document.getElementById("requests");
	return [box.hidden, box.querySelector("h2").textContent, box.querySelector(".facts b").textContent, document.querySelectorAll("img").length]' \
	'[false,"Requests of *img*","1",0]'

# The same of all else that has a name: program, library, source file and line, thread, argument; in every
# tab, in what a function is inside of, and in what differs.
cat >library.c <<'C'
#line 1 "<img src=x onerror=document.title='broken'>.c"
__attribute__((noipa)) int from_library(int n) { return n + 1; }
C
cat >program.c <<'C'
#include <sys/prctl.h>
int from_library(int);
#line 1 "</script><script>document.title='broken'</script>\"'.c"
__attribute__((noipa)) int says(const char *text) { return *text; }
__attribute__((noipa)) int between(int n) { return n > 2 ? from_library(n) : from_library(n) + from_library(-n); }
int main(int argc, char **argv)
{
	prctl(PR_SET_NAME, "<img src=x>\"\xe2\x80\xae");
	for (int i = 0; i < 5 + argc; i++)
		between(i);
	return says(argv[1]) == 1;
}
C
markup=$'<img src=x onerror=document.title=1>"\'\u202e</script>'
mkdir -p "<img src=x>" && cd "<img src=x>" || exit 1
${CC:-cc} -g -O1 -shared -fPIC ../library.c -Wl,-soname,'lib<img src=x>"'$'\u202e'.so -o 'lib<img src=x>"'$'\u202e'.so &&
	${CC:-cc} -g -O1 -fno-inline ../program.c ./lib* -Wl,-rpath,"$PWD" -o 'p<img src=x>"'$'\u202e'
claim 'a program and a library with such names' is $? 0
objcopy --redefine-sym between="$markup"between ./p*
for level in calls paths; do
	run 0 record -q -o ../$level.rec --level $level --module 'lib<*' --args-of says -- ./p* "$markup"
done
run 0 record -q -o ../other.rec --module 'lib<*' -- ./p* "$markup" 1 2 3
cd .. || exit 1
inert='
	const wrong = [], seen = () => [...document.querySelectorAll("img, iframe, object, svg image")].length;
	for (const v of ["overview", "flame", "timeline", "calls", "functions", "requests", "against"]) {
		const tab = document.getElementById("tab-" + v);
		if (tab.hidden) continue;
		tab.click();
		await wait(100);
		for (const closed of document.querySelectorAll(`#${v} [aria-expanded="false"]`)) closed.click();
	}
	const names = [...new Set([...document.querySelectorAll("#function-table button.link")].map((b) => b.textContent))];
	let inside = "";
	for (const name of names) {
		document.getElementById("tab-functions").click();
		[...document.querySelectorAll("#function-table button.link")].find((b) => b.textContent === name).click();
		await wait(50);
		inside += document.getElementById("function").textContent;
	}
	const text = document.body.textContent;
	return [document.title.includes("broken") || document.title === "1", seen(), [...document.querySelectorAll("main *, header *")].filter((e) => e.children.length === 0 && e.textContent.includes("\u202e")).map((e) => e.closest("section")?.id + ":" + e.tagName + ":" + e.className + ":" + e.textContent.slice(0, 60)).slice(0, 3),
		text.includes("\\u{202e}"), inside.includes("<img src=x"), names.length > 3]'
for page in calls paths; do
	run 0 report --html --request says --against other.rec -o named.$page.html $page.rec
	shows "level $page: nothing that has a name is markup, in any tab" named.$page.html 1280 "$inert" '[false,0,[],true,true,true]'
done

run 0 record -q -o still --no-times -- ./prog
run 0 report --html -o still.html still
shows 'without times it counts calls' still.html 1280 '
	return [document.getElementById("flame-weight").value, document.getElementById("flame-weight").disabled]' '["calls",true]'
fails 1 'is there already' report --html -o page.html rec
run 2 report --html rec
claim 'where to is asked for' grep -q 'where to' err
conclude
