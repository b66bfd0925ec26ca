// The cases: the same work with the same bridge, by hand, by edgelock, and by @upstash/lock.
import { Lock } from "@upstash/lock";
import { batch, TTL_MS } from "./batch.js";
import { connect } from "./js/edgelock.js";
import { upstash } from "./peer.js";
import { onRequest } from "./requests.js";

// The bodies that edgelock posts to acquire and to release, cut where its token stands.
async function recordBodies(turn) {
  const bodies = [];
  const real = globalThis.fetch;
  globalThis.fetch = (url, init) => (bodies.push(init.body), real(url, init));
  const release = await turn("recorded");
  await release();
  globalThis.fetch = real;
  // EVAL, script, number of keys, the keys, nonce, token.
  const words = JSON.parse(bodies[0]);
  const token = words[3 + Number(words[2]) + 1];
  return bodies.map((body) => body.split(token));
}

function randomToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").slice(0, 22);
}

// Makes the cases. Each is a function that acquires, and returns the function that releases.
export async function prepare(redis, url, token) {
  const edgelock = connect(url, token);
  const [acquire, release] = await recordBodies(edgelock);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

  const bare = (options) => {
    const post = async (body) => {
      const response = await fetch(url, { method: "POST", headers, body, ...options() });
      const { result } = await response.json();
      if (result[0] !== 1) throw new Error(`the bridge says ${result}`);
    };
    return async (name) => {
      const token = randomToken();
      const named = (parts) => parts.join(token).replaceAll("recorded", name);
      await post(named(acquire));
      return () => post(named(release));
    };
  };

  const cases = {
    "bare POST": bare(() => ({})),
    "bare POST, abortable": bare(() => ({ signal: AbortSignal.timeout(2_000) })),
    edgelock,
    "@upstash/lock": upstash(redis),
  };
  return { cases, redis };
}

// How many requests the peer sends to read and write one value under a lock.
async function peerSection(redis) {
  let requests = 0;
  onRequest(() => requests++);
  const lock = new Lock({ id: "section", redis, lease: TTL_MS });
  if (!(await lock.acquire())) throw new Error("not acquired");
  const stock = (await redis.get("section-stock")) ?? 5;
  await redis.set("section-stock", stock - 1);
  if (!(await lock.release())) throw new Error("not released");
  return requests;
}

// `GET /<case>?<size>` runs one batch of that case; `GET /` lists the cases; `GET /section` counts
// the peer's requests.
export async function answer({ cases, redis }, target) {
  const [path, size] = target.slice(1).split("?");
  const name = decodeURIComponent(path);
  if (name === "") return JSON.stringify(Object.keys(cases));
  if (name === "section") return JSON.stringify(await peerSection(redis));
  return JSON.stringify(await batch(cases[name], Number(size)));
}
