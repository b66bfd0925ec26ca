// Runs the suites in a page of headless Chromium, as a bundler left them in a folder.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { launch } from "puppeteer-core";
import type { Bridge } from "./harness.js";

declare const runSuites: (bridge: Bridge, print: (line: string) => void) => Promise<boolean>;
declare const tell: (line: string) => void;

const [folder = ""] = process.argv.slice(2);
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const server = createServer((request, response) => {
  const name = request.url === "/" ? "index.html" : request.url!;
  if (!existsSync(join(folder, name))) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": name.endsWith(".js") ? "text/javascript" : "text/html" });
  return response.end(readFileSync(join(folder, name)));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

// A page may not call the bridge of another site. Users who call one from a page have a bridge that
// allows it.
const args = [...chromium.args, "--disable-web-security"];
const browser = await launch({ executablePath: await chromium.executablePath(), args, headless: "shell", timeout: 60_000 });
let passed = false;
try {
  const page = await browser.newPage();
  await page.exposeFunction("tell", (line: string) => console.log(line));
  page.on("pageerror", (error) => console.log(`uncaught: ${String(error)}`));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  passed = await page.evaluate((bridge: Bridge) => runSuites(bridge, (line) => tell(line)), { url, credential, waiters: 4 });
} finally {
  await browser.close();
}
process.exit(passed ? 0 : 1);
