// A test's body, for any runner. No server runs.
import type { Client } from "edgelock";
import { Table } from "edgelock/testing";

/** The code under test. */
export const sell = (client: Client) =>
  client.lock("sku:42").run((lease) => lease.exec([["DECR", { key: "{sku:42}:stock" }]]));

export async function sellsOnceThoughTheReplyIsLost(): Promise<void> {
  const table = new Table();
  table.run("SET", "{sku:42}:stock", 7);
  const died = await table.client().lock("sku:42", { ttl: 60_000 }).acquire();
  table.advance(60_001);
  // The reply to the sale itself.
  await sell(table.client({ onEvent: ({ type }) => type === "acquired" && table.loseNextReply() }));
  const isLost = await died.renew().then(() => false, () => true);
  if (!isLost || table.run("GET", "{sku:42}:stock") !== "6") throw new Error("not sold once");
}
