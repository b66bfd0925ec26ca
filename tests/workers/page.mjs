// Uses the page of a sale as a customer does, in headless Chromium. Needs WORKER_URL and
// ADMIN_CREDENTIAL.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import chromium from "@sparticuz/chromium";
import { launch } from "puppeteer-core";

const { WORKER_URL: worker, ADMIN_CREDENTIAL: credential } = process.env;
const LIMIT_MS = 60_000;
const STOCK = 150;
/** How many units others buy while nobody sees the page, and for how long that is. */
const OTHERS = 40;
const AWAY_MS = 4_000;

const browser = await launch({
  executablePath: await chromium.executablePath(),
  args: chromium.args,
  headless: "shell",
  timeout: LIMIT_MS,
});
try {
  await useThePage();
} finally {
  await browser.close();
}

async function useThePage() {
  const page = await browser.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (message) => {
    // The browser reports each refusal as an error.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) wrong.push(message.text());
  });
  page.on("request", (request) => {
    const isOurs = request.url().startsWith(`${worker}/`) || request.url() === "data:,";
    if (!isOurs) wrong.push(`it asks ${request.url()}`);
  });

  await chooseASale(page);
  await openTheSale(page);
  await buyOneByKeyboard(page);
  await isAwayWhileOthersBuy(page);
  await sendTheCrowd(page);
  await seesAHandOver(page);
  await fillsEveryScreen(page);
  await runsNoScriptButItsOwn(page);
  assert.deepEqual(wrong.filter((text) => !text.includes("Content Security Policy")), []);
  assert.equal(wrong.length, 1, "only the foreign script was refused");
}

async function chooseASale(page) {
  await page.goto(`${worker}/?sku=%3Cimg%20src%3Dx%3E`);
  await shows(page, "#status", "That is no sku.");
  assert.equal(await page.$("img"), null);
  await page.goto(`${worker}/`);
  await page.type("#sku", "lamp");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.equal(page.url(), `${worker}/?sku=lamp`);
  await shows(page, "#status", "There is no sale of “lamp” yet.");
}

async function openTheSale(page) {
  const terms = { stock: STOCK, limit_per_buyer: 1, ends_at_ms: Date.now() + 3_600_000 };
  const headers = { authorization: `Bearer ${credential}` };
  const opened = await fetch(`${worker}/sales/lamp`, { method: "PUT", headers, body: JSON.stringify(terms) });
  assert.equal(opened.status, 201);
  await shows(page, "#left", `${STOCK} left`);
  await shows(page, "#status", "The sale is open.");
  await shows(page, "#holder", "free");
}

/** Others buy so many units. */
async function othersBuy(units) {
  const orders = Array.from({ length: units }, async (_, buyer) => {
    const body = JSON.stringify({ order_id: `other-${buyer}`, buyer: `other-${buyer}`, quantity: 1 });
    const answer = await fetch(`${worker}/sales/lamp/orders`, { method: "POST", body });
    assert.equal(answer.status, 201);
  });
  await Promise.all(orders);
}

async function buyOneByKeyboard(page) {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "buy");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid", "the focus is seen");
  await page.keyboard.press("Enter");
  // At once, and not with the next look.
  const left = await page.evaluate(async () => {
    const [status, left] = ["status", "left"].map((id) => document.getElementById(id));
    while (!status.textContent.startsWith("You have bought one.")) await new Promise(requestAnimationFrame);
    return left.textContent;
  });
  assert.equal(left, `${STOCK - 1} left`);
  await shows(page, "#status", `You have bought one. Then ${STOCK - 1} were left.`);
  await page.keyboard.press("Enter");
  await shows(page, "#status", "Not sold: a buyer may have 1");
  assert.equal(await page.$eval("#status", (status) => status.getAttribute("aria-live")), "polite");
}

/** What was sold in the meantime is no spike of one second. */
async function isAwayWhileOthersBuy(page) {
  const become = (state) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, value: state });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await become("hidden");
  await othersBuy(OTHERS);
  await pause(AWAY_MS);
  await become("visible");
  await shows(page, "#left", `${STOCK - 1 - OTHERS} left`);
  await eventually("the plot has all of it", async () => / [1-9]\d* units/.test((await plot(page))[1]));
  await pause(1_500);
  const [, label] = await plot(page);
  const [, most] = label.match(/and (\d+) units/);
  assert.ok(Number(most) <= (2 * OTHERS) / (AWAY_MS / 1_000), label);
}

async function sendTheCrowd(page) {
  const [before, label] = await plot(page);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const sold = STOCK - 1 - OTHERS;
  const answered = `The crowd was answered: ${sold} sold, ${200 - sold} sold out.`;
  await shows(page, "#status", answered);
  assert.equal(await page.evaluate(() => document.activeElement.id), "crowd", "the focus stays");
  await shows(page, "#left", "Sold out");
  await shows(page, "#gone", String(STOCK));
  await shows(page, "#count", "200");
  await shows(page, "#outcomes", `${sold}, ${200 - sold}`);
  for (const figure of ["#rate", "#median", "#slowest", "#items", "#fence", "#most", "#pace"]) {
    const text = await page.$eval(figure, (found) => found.textContent);
    assert.ok(Number.parseFloat(text.replaceAll(",", "")) >= 1, `${figure}: ${text}`);
  }
  await eventually("the plot moves", async () => {
    const [after, newLabel] = await plot(page);
    return after !== before && newLabel !== label && !/At most 0 | 0 units/.test(newLabel);
  });
  await shows(page, "#status", answered);

  const [turns, latest] = await page.$$eval("#earlier, #latest", (bars) => bars.map((bar) => bar.getAttribute("d").split("M").length - 1));
  assert.ok(turns >= 2 && latest === 1, `${turns} turns, and ${latest}`);
  await shows(page, "#queued", "0");
  await shows(page, "#waiting", "0");

  // Another order is not one of the crowd.
  await page.focus("#buy");
  const rate = () => page.$$eval("#rate, #count", (found) => found.map((figure) => figure.textContent));
  const crowd = await rate();
  await page.keyboard.press("Enter");
  await shows(page, "#status", "Not sold: ");
  assert.deepEqual(await rate(), crowd);
}

/** The page is shown what two looks could have found. */
async function seesAHandOver(page) {
  const shown = await page.evaluate(() => {
    const look = { status: 200, held: true, remaining_ms: 900, age_ms: 0, waiting: 2, fence: 7 };
    for (const holder of ["isolate a", "isolate b"]) showLock({ ...look, holder });
    drawPlot();
    return ["holder", "remaining", "waiting", "handover"].map((id) => document.getElementById(id).textContent);
  });
  assert.deepEqual(shown, ["isolate b", "0.9 s", "2 ●●", "from isolate a to isolate b"]);
  let told;
  await eventually(() => `the plot has the holder: ${told}`, async () => {
    told = await page.$eval("#held", (held) => held.getAttribute("aria-label"));
    return told.includes("1 times isolate b");
  });
}

/** The plot as it is drawn, and as it is described. */
function plot(page) {
  return page.$eval("#plot", (drawn) => [drawn.innerHTML, drawn.getAttribute("aria-label")]);
}

/** From a phone to a wide screen, no part is cut off, and none leaves a hole beside it. */
async function fillsEveryScreen(page) {
  for (const width of [320, 390, 703, 704, 950, 1_119, 1_120, 1_280, 1_920]) {
    await page.setViewport({ width, height: 900 });
    const { whole, rows } = await page.evaluate(() => {
      const rows = new Map();
      for (const part of document.querySelectorAll("section")) {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        const row = rows.get(top) ?? { left, right, wide: 0, bottoms: [] };
        row.wide += right - left;
        rows.set(top, { ...row, left: Math.min(row.left, left), right: Math.max(row.right, right), bottoms: [...row.bottoms, bottom] });
      }
      return { whole: document.documentElement.scrollWidth, rows: Array.from(rows.values()) };
    });
    assert.ok(whole <= width, `${whole} pixels on ${width}`);
    assert.equal(rows.length, width < 704 ? 5 : width < 1_120 ? 4 : 2, `rows on ${width}`);
    for (const { left, right, wide, bottoms } of rows) {
      const gaps = 16 * (bottoms.length - 1);
      assert.ok(Math.abs(left - rows[0].left) < 1 && Math.abs(right - rows[0].right) < 1, `a hole at the side on ${width}`);
      assert.ok(Math.abs(wide + gaps - (right - left)) < 1, `a hole in a row on ${width}`);
      assert.ok(Math.max(...bottoms) - Math.min(...bottoms) < 1, `a hole below a part on ${width}`);
    }
  }
  await shows(page, "#plot-part .axis", "60 s ago");
  const colours = () => page.evaluate(() => ["body", "section", "#latest", "#h0"].map((part) => getComputedStyle(document.querySelector(part))[part.startsWith("#") ? "fill" : "backgroundColor"]));
  const light = await colours();
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  const dark = await colours();
  for (const [at, colour] of light.entries()) assert.notEqual(dark[at], colour);
}

async function runsNoScriptButItsOwn(page) {
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "globalThis.foreign = true";
    document.body.append(script);
    return globalThis.foreign === true;
  });
  assert.equal(ran, false);
}

/** Waits until an element's text begins with `text`. */
async function shows(page, selector, text) {
  let shown;
  await eventually(() => `${selector} shows “${shown}”, and not “${text}”`, async () => {
    shown = await page.$eval(selector, (found) => found.textContent);
    return shown.startsWith(text);
  });
}

async function eventually(what, holds) {
  const end = Date.now() + LIMIT_MS;
  while (!(await holds())) {
    assert.ok(Date.now() < end, typeof what === "string" ? what : what());
    await pause(50);
  }
}
