// A short example of each kind of lock: docs/kinds.md shows them.
import { type Client, GroupCommit, type Lease } from "edgelock";

export async function sellOne(client: Client, sku: string): Promise<boolean> {
  const stock = { key: `{${sku}}:stock` };
  const lock = client.lock(sku, { wait: 3_000 });
  const [lease, [left]] = await lock.acquireAndRead([["GET", stock]]);
  if (Number(left) > 0) await lease.commit([["DECR", stock]]);
  else await lease.release();
  return Number(left) > 0;
}

export function rebuildIndex(client: Client, rebuild: (lease: Lease) => Promise<number>): Promise<number> {
  // Renewed for as long as it takes. If the lock is lost, `lease.signal` is aborted.
  return client.lock("index", { ttl: 30_000, wait: 0 }).run(rebuild);
}

export function answer(client: Client, think: (signal: AbortSignal) => Promise<string>): Promise<string> {
  // If a newer turn takes the lock over, `signal` is aborted, and the error is `lost`.
  return client.lock("chat:7", { takeOver: true, listen: true }).run(async (lease) => {
    const said = await think(lease.signal);
    await lease.commit([["RPUSH", { key: "{chat:7}:said" }, said]]);
    return said;
  });
}

export function callPartner(client: Client, call: () => Promise<string>): Promise<string> {
  // At most three calls at once, in all processes together.
  return client.semaphore("partner", 3, { wait: 10_000 }).run(call);
}

export function convert(client: Client, tenant: string, work: () => Promise<string>): Promise<string> {
  // One at a time of each tenant, and twenty in all, of which this job counts as two.
  const own = { name: `{jobs}:${tenant}`, limit: 1 };
  return client.limits([own, { name: "{jobs}:all", limit: 20, permits: 2 }]).run(work);
}

export async function putInCart(client: Client, sku: string, customer: string, units: number): Promise<string> {
  // For ten minutes, and at most four for each customer at once. `sold_out`: too few are left.
  const owner = { id: customer, most: 4 };
  const lease = await client.reservations(sku, 100, { weight: units, owner }).acquire();
  return lease.handOver();
}

export async function pay(client: Client, sku: string, token: string, order: string): Promise<void> {
  // Once. The error is `lost` if the ten minutes are over, and `confirmed` the second time.
  const paid = { key: `{${sku}}:orders` };
  await client.reservations(sku, 100).resume(token).commit([["RPUSH", paid, order]]);
}

export async function transfer(client: Client, from: string, to: string, amount: number): Promise<void> {
  // Both accounts, or none: two transfers that cross do not wait for each other for ever.
  const lease = await client.lockAll([`{bank}:${from}`, `{bank}:${to}`]).acquire();
  const balance = (account: string) => ({ key: `{bank}:${account}:balance` });
  await lease.commit([["DECRBY", balance(from), amount], ["INCRBY", balance(to), amount]]);
}

export function price(client: Client, look: () => Promise<number>): Promise<number> {
  return client.readWrite("prices").read().run(look);
}

export async function reprice(client: Client, write: () => Promise<void>, publish: () => Promise<void>): Promise<void> {
  const lease = await client.readWrite("prices").write().acquire();
  await write();
  // From here on others may read, and nobody else writes yet.
  await lease.downgrade();
  await publish();
  await lease.release();
}

export async function charge(client: Client, order: string, pay: () => Promise<string>): Promise<string> {
  const { value, replayed } = await client.once(`charge:${order}`).run(pay);
  return replayed ? `${value}, as before` : value;
}

export function prices(client: Client, ask: () => Promise<number[]>): Promise<number[]> {
  // For a minute all get the copy. In the hour after that one caller asks, and the others get the
  // copy.
  return client.cached("prices", { fresh: 60_000, stale: 3_600_000, wait: 500 }).get(ask);
}

export async function sendReport(client: Client, send: () => Promise<void>): Promise<number> {
  // The first in an hour sends it. The others are told for how long nobody sends it again.
  const outcome = await client.throttle("report", 3_600_000).tryPass();
  if (outcome.passed) await send();
  return outcome.passed ? 0 : outcome.retryAfter;
}

export async function edited(client: Client, page: string, index: () => Promise<number>): Promise<number | null> {
  // Of edits that come close together, the last one makes the index, and after 10 s at the latest.
  const outcome = await client.debounce(page, 1_000, { maxWait: 10_000 }).run(index);
  return outcome.superseded ? null : outcome.value;
}

export function inOneSaga<T>(client: Client, saga: string, step: () => Promise<T>): Promise<T> {
  // Each handler of the same saga may enter. All others wait until it has left as often.
  return client.reentrant("account:7", saga).run(step);
}

export async function reserve(client: Client, seat: string): Promise<string | null> {
  const buyer = { key: `{seat:${seat}}:buyer` };
  const lock = client.lock(`seat:${seat}`, { ttl: 120_000, wait: 0 });
  const [lease, [sold]] = await lock.acquireAndRead([["GET", buyer]]);
  // Whoever has the token has the seat: it is a secret of this buyer.
  if (sold === null) return lease.handOver();
  await lease.release();
  return null;
}

export async function book(client: Client, seat: string, token: string, buyer: string): Promise<number> {
  const lease = client.lock(`seat:${seat}`).resume(token);
  // Says whether the seat is still held. Until then `fence` and `remaining` are 0.
  await lease.renew();
  await lease.commit([["SET", { key: `{seat:${seat}}:buyer` }, buyer]]);
  return lease.fence;
}

export const visits = new GroupCommit({
  usesFence: false,
  reads: (page: string) => [["GET", { key: `{${page}}:visits` }]],
  begin: () => ({ count: undefined as number | undefined }),
  decide: (page, [before], state) => {
    state.count = (state.count ?? Number(before ?? 0)) + 1;
    return { answer: state.count, writes: [["INCR", { key: `{${page}}:visits` }]] };
  },
});
