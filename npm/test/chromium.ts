// Runs the suites in a page of headless Chromium, as a bundler left them in a folder.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { launch } from "puppeteer-core";
import { listening } from "./between.js";
import type { Bridge } from "./harness.js";

declare const runSuites: (bridge: Bridge, print: (line: string) => void) => Promise<boolean>;
declare const tell: (line: string) => void;

const [folder = ""] = process.argv.slice(2);
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
/** Whether pages may not compile anything. */
let strict = false;
const server = createServer((request, response) => {
  const name = request.url === "/" ? "index.html" : request.url!;
  if (!existsSync(join(folder, name))) return response.writeHead(404).end();
  const policy = strict ? { "content-security-policy": "script-src 'self'" } : {};
  response.writeHead(200, { ...policy, "content-type": name.endsWith(".js") ? "text/javascript" : "text/html" });
  return response.end(readFileSync(join(folder, name)));
});
const { host } = new URL(await listening(server));

// The bridge allows pages of this origin, and the browser asks it.
const origin = "http://page.localhost";
const args = [...chromium.args.filter((arg) => arg !== "--disable-web-security"), `--host-resolver-rules=MAP page.localhost ${host}`];
const browser = await launch({ executablePath: await chromium.executablePath(), args, headless: "shell", timeout: 60_000 });
let passed = false;
try {
  const page = await browser.newPage();
  await page.exposeFunction("tell", (line: string) => console.log(line));
  page.on("pageerror", (error) => console.log(`uncaught: ${String(error)}`));
  // The suites make a client as soon as they are loaded.
  await page.evaluateOnNewDocument(() => addEventListener("error", ({ error }) => Object.assign(globalThis, { advised: error?.advice })));
  strict = true;
  await page.goto(`${origin}/`);
  const told = await page.waitForFunction(() => (globalThis as { advised?: string }).advised).then((handle) => handle.jsonValue());
  if (!String(told).includes("'wasm-unsafe-eval'")) throw new Error(`a page that may not compile is told: ${told}`);
  console.log("test a_page_whose_policy_forbids_wasm_is_told_what_to_allow ... ok");
  strict = false;
  await page.goto(`${origin}/`);
  passed = await page.evaluate((bridge: Bridge) => runSuites(bridge, (line) => tell(line)), { url, credential });
} finally {
  await browser.close();
}
process.exit(passed ? 0 : 1);
