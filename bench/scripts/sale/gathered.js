// The same script, with all orders of the moment in one request. Shared turns of a lock are
// compared with this.
import { execute } from "./order.js";
import { shop } from "./shop.js";

const MOST = 256;
/**
 * workerd takes a request that only waits for another's promise for hung, unless it has a timer of
 * its own.
 */
const LONGEST_MS = 30_000;
const LATE = [503, { code: "unavailable" }];

/** For each sale, the orders that wait, and whether a request is under way. */
const sales = new Map();

export default shop(async (env, sku, order) => {
  const sale = sales.get(sku) ?? { waiting: [], isBusy: false };
  sales.set(sku, sale);
  const place = { order };
  sale.waiting.push(place);
  if (sale.isBusy) {
    const word = new Promise((resolve) => (place.wake = resolve));
    const timer = setTimeout(() => place.wake(), LONGEST_MS);
    await word;
    clearTimeout(timer);
  }
  // An order that is woken without an answer is the first that waits. It sends, since I/O belongs
  // to the request that begins it.
  if (place.answer === undefined && sale.waiting[0] === place) await send(env, sku, sale);
  return place.answer ?? LATE;
});

async function send(env, sku, sale) {
  sale.isBusy = true;
  const turn = sale.waiting.splice(0, MOST);
  try {
    const answers = await execute(env, sku, turn.map(({ order }) => order));
    turn.forEach((place, at) => (place.answer = answers[at]));
  } finally {
    sale.isBusy = false;
    for (const place of turn) {
      place.answer ??= LATE;
      place.wake?.();
    }
    sale.waiting[0]?.wake();
  }
}
