// Uses the page of a sale as a customer does, in headless Chromium. Needs WORKER_URL and
// ADMIN_CREDENTIAL.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import chromium from "@sparticuz/chromium";
import { launch } from "puppeteer-core";

const { WORKER_URL: worker, ADMIN_CREDENTIAL: credential } = process.env;
const LIMIT_MS = 60_000;
const STOCK = 150;

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
  await sendTheCrowd(page);
  await suitsPhonesAndTheDark(page);
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

async function buyOneByKeyboard(page) {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "buy");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid", "the focus is seen");
  await page.keyboard.press("Enter");
  await shows(page, "#status", `You have bought one. Then ${STOCK - 1} were left.`);
  await shows(page, "#left", `${STOCK - 1} left`);
  await page.keyboard.press("Enter");
  await shows(page, "#status", "Not sold: a buyer may have 1");
  assert.equal(await page.$eval("#status", (status) => status.getAttribute("aria-live")), "polite");
}

async function sendTheCrowd(page) {
  const [before, label] = await plot(page);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const answered = `The crowd was answered: ${STOCK - 1} sold, ${201 - STOCK} sold out.`;
  await shows(page, "#status", answered);
  assert.equal(await page.evaluate(() => document.activeElement.id), "crowd", "the focus stays");
  await shows(page, "#left", "Sold out");
  await shows(page, "#gone", String(STOCK));
  await shows(page, "#count", "200");
  await shows(page, "#outcomes", `${STOCK - 1}, ${201 - STOCK}`);
  for (const figure of ["#rate", "#median", "#slowest", "#items", "#fence"]) {
    const text = await page.$eval(figure, (found) => found.textContent);
    assert.ok(Number.parseFloat(text.replaceAll(",", "")) >= 1, `${figure}: ${text}`);
  }
  await eventually("the plot moves", async () => {
    const [after, newLabel] = await plot(page);
    return after !== before && newLabel !== label && !/At most 0 | 0 units/.test(newLabel);
  });
  await shows(page, "#status", answered);
}

/** The plot as it is drawn, and as it is described. */
function plot(page) {
  return page.$eval("#plot", (drawn) => [drawn.innerHTML, drawn.getAttribute("aria-label")]);
}

async function suitsPhonesAndTheDark(page) {
  await page.setViewport({ width: 320, height: 568 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 320, `${width} pixels wide`);
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  assert.notEqual(await back(), light);
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
