// The package's own server listens on every interface.
import { serve } from "@hono/node-server";
import { createApp } from "@humanwhocodes/upstash-redis-server";

const { URS_TOKEN: token, REDIS_URL: redisUrl } = process.env;
const app = createApp({ token, redisUrl });
// So the first client does not wait until it is connected to Redis.
await app.request("/", { method: "POST", headers: { authorization: `Bearer ${token}` }, body: '["PING"]' });
const say = ({ port }) => console.log(JSON.stringify({ event: "listen", port }));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, say);
