// What each recipe promises, whichever way its host calls it.
import { shop } from "../examples/recipes/shop.js";
import { about, check, equal, eventually, type Stack, type Suite, take } from "./harness.js";

/** Asks a recipe to ship an order, as its host does. The signal aborts when the client hangs up. */
export type Call = (order: string, signal: AbortSignal) => Promise<Response>;

/** A ttl that is longer than any test. */
const LONG = { ttl: 60_000 };
const NEVER = new AbortController().signal;

/** What must be done before an order of a test is shipped. */
export const clerks = new Map<string, (signal: AbortSignal) => Promise<void>>();
const example = shop.ship;
shop.ship = async (order, signal) => {
  await clerks.get(order)?.(signal);
  return example(order, signal);
};

/** Orders whose bridge is away. */
const away = new Set<string>();
const real = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const isAway = [...away].some((order) => String(init?.body).includes(`order:${order}`));
  return isAway ? Promise.reject(new TypeError("away")) : real(input, init);
};

const lockOf = (stack: Stack, order: string) => stack.client({ prefix: "" }).lock(`order:${order}`, LONG);

/** The tests of a recipe. */
export function recipe(name: string, call: Call): Suite {
  const promises = { ships_for_one_at_a_time, says_when_to_come_again, answers_503_while_the_bridge_is_away };
  return about(name, promises, (promise, stack) => promise(stack, `${stack.mark}${name}`, call));
}

/** The test of a recipe whose host tells when a client hangs up. */
export function hangsUp(name: string, call: Call): Suite {
  return about(name, { stops_when_its_client_hangs_up }, (promise, stack) => promise(stack, `${stack.mark}${name}`, call));
}

async function ships_for_one_at_a_time(stack: Stack, order: string, call: Call): Promise<void> {
  let [inside, most, isOpen] = [0, 0, false];
  clerks.set(order, async () => {
    most = Math.max(most, ++inside);
    await eventually(() => isOpen);
    inside--;
  });
  const calls = [untilShipped(order, call), untilShipped(order, call)];
  await eventually(async () => (await lockOf(stack, order).inspect()).waiters === 1);
  isOpen = true;
  for (const answer of await Promise.all(calls)) equal([answer.status, await answer.json()], [200, { shipped: order }]);
  equal(most, 1);
}

/** On a slow machine a wait may end before its turn; the client is told to come again, and does. */
async function untilShipped(order: string, call: Call): Promise<Response> {
  for (;;) {
    const answer = await call(order, NEVER);
    if (answer.status !== 409) return answer;
  }
}

async function says_when_to_come_again(stack: Stack, order: string, call: Call): Promise<void> {
  await using _lease = await take(lockOf(stack, order));
  const answer = await call(order, NEVER);
  equal([answer.status, await answer.text()], [409, "another request is at it"]);
  check(Number(answer.headers.get("retry-after")) > 0, "it says when to come again");
}

async function answers_503_while_the_bridge_is_away(_: Stack, order: string, call: Call): Promise<void> {
  away.add(order);
  const answer = await call(order, NEVER);
  equal([answer.status, answer.headers.get("retry-after")], [503, "5"]);
}

async function stops_when_its_client_hangs_up(stack: Stack, order: string, call: Call): Promise<void> {
  const client = new AbortController();
  let isStopped = false;
  clerks.set(order, async (signal) => {
    check(!signal.aborted, "the client is still there");
    const stopped = new Promise((stop) => signal.addEventListener("abort", stop));
    client.abort();
    await stopped;
    isStopped = true;
  });
  await call(order, client.signal).catch(() => {});
  await eventually(() => isStopped);
  await eventually(async () => (await lockOf(stack, order).inspect()).holder === null);
}
