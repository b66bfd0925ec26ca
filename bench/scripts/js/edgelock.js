// The npm package, as its users call it: acquires, and returns what releases.
import { Client } from "edgelock";
import { TTL_MS } from "../batch.js";

export function connect(url, token) {
  const client = new Client({ url, credential: token });
  return async (name) => {
    const lease = await client.lock(name, { ttl: TTL_MS }).tryAcquire();
    return () => lease.release();
  };
}
