import { Client } from "edgelock";

const client = Client.fromEnv();
await client.lock("report").run(async (lease) => {
  await fetch("https://example.com/report", { method: "POST", signal: lease.signal });
});

const stock = { key: "{sku:42}:stock" };
const [lease, [left]] = await client.lock("sku:42").acquireAndRead([["GET", stock]]);
if (Number(left) > 0) await lease.commit([["DECR", stock]]);
else await lease.release();
