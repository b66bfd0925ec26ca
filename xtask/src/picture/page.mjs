// Takes a picture of a sale's page while crowds buy. Needs WORKERS, two addresses, and SKU. The
// first argument is the picture's file.
import chromium from "@sparticuz/chromium";
import { setTimeout as pause } from "node:timers/promises";
import { launch } from "puppeteer-core";

const { WORKERS = "", SKU: sku } = process.env;
const workers = WORKERS.split(" ");
const [, , file] = process.argv;
/** For how long others buy before the picture is taken, and how many of them. */
const WATCHED_MS = 50_000;
const OTHERS = 12;
/** More than the page has. */
const HEIGHT = 1_000;

const browser = await launch({ executablePath: await chromium.executablePath(), args: chromium.args, headless: "shell" });
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1_280, height: HEIGHT });
  await page.goto(`${workers[0]}/?sku=${sku}`);
  await page.waitForSelector("#sale:not([hidden])");
  const end = Date.now() + WATCHED_MS;
  const others = Array.from({ length: OTHERS }, (_, at) => buyUntil(end + 5_000, at));
  while (Date.now() < end) {
    await page.click("#crowd");
    await pause(4_000 + 4_000 * Math.random());
  }
  // In the midst of a crowd, while the page sees whose turn it is.
  while (!(await page.evaluate(isInteresting))) {
    await page.click("#crowd");
    await pause(10);
  }
  await page.screenshot({ path: file, clip: await clip(page) });
  await Promise.all(others);
} finally {
  await browser.close();
}

function isInteresting() {
  const shown = (id) => document.getElementById(id).textContent;
  const isSeen = shown("holder") !== "free" && shown("waiting") !== "0 ";
  return isSeen && Number(shown("queued")) > 0 && Number(shown("count")) > 20;
}

/** What the page fills. */
async function clip(page) {
  const height = await page.evaluate(() => document.body.offsetHeight);
  return { x: 0, y: 0, width: 1_280, height };
}

async function buyUntil(end, at) {
  while (Date.now() < end) {
    const body = JSON.stringify({ order_id: crypto.randomUUID(), buyer: crypto.randomUUID(), quantity: 1 });
    await fetch(`${workers[at % workers.length]}/sales/${sku}/orders`, { method: "POST", body });
    await pause(300 * Math.random());
  }
}
