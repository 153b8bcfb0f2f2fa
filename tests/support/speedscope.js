// SPDX-License-Identifier: LGPL-2.1-or-later
/* speedscope.js NODE_MODULES BROWSER FILE...: opens each FILE in speedscope, in a browser without network,
 * and writes what speedscope then has, as its own key for that saves it, to opened.FILE. */
const path = require("path");
const fs = require("fs");
const [modules, browserPath, ...files] = process.argv.slice(2);
const puppeteer = require(path.resolve(modules, "puppeteer-core"));
const site = path.resolve(modules, "speedscope/dist/release/index.html");

/* In the page: loads a file by the hook of speedscope's own command, and saves until it is the new one. */
async function opened(name, base64, before) {
	const make = URL.createObjectURL;
	let saved = null;
	URL.createObjectURL = (blob) => { saved = blob; return make.call(URL, blob); };
	window.speedscope.loadFileFromBase64(name, base64);
	for (let i = 0; i < 400; i++) {
		await new Promise((done) => setTimeout(done, 25));
		saved = null;
		window.dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true, metaKey: true }));
		if (saved) {
			const has = await saved.text();
			if (JSON.parse(has).name !== before) {
				URL.createObjectURL = make;
				return has;
			}
		}
	}
	throw new Error(`${name}: speedscope does not open it`);
}

(async () => {
	fs.writeFileSync("none.js", "");
	const browser = await puppeteer.launch({
		executablePath: browserPath,
		args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync",
			"--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
			"--allow-file-access-from-files"],
		userDataDir: path.resolve("profile"),
	});
	try {
		const page = await browser.newPage();
		await page.goto(`file://${site}#localProfilePath=${path.resolve("none.js")}`);
		await page.waitForFunction("window.speedscope");
		let before = null;
		for (const file of files) {
			const has = await page.evaluate(opened, file, fs.readFileSync(file, "base64"), before);
			before = JSON.parse(has).name;
			fs.writeFileSync(`opened.${file}`, has);
		}
	} finally {
		await browser.close();
	}
})().catch((e) => { console.error(e.message); process.exit(1); });
