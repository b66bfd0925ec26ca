// Bare requests, and the npm package and its peer, each imported when it is first asked for.
import { batch } from "../batch.js";
import * as bare from "./bare.js";

const imports = {
  "bare POST": async () => bare,
  edgelock: () => import("./edgelock.js"),
  "@upstash/lock": () => import("./upstash.js"),
};
const turns = {};

async function turn(name, { url, token }) {
  const { connect } = await imports[name]();
  return (turns[name] ??= await connect(url, token, imports));
}

// Milliseconds from the import until the first request is sent.
async function start(name, bridge) {
  let sent;
  const real = globalThis.fetch;
  globalThis.fetch = (...args) => ((sent ??= performance.now()), real(...args));
  const begun = performance.now();
  const acquire = await turn(name, bridge);
  const release = await acquire(`start-${crypto.randomUUID()}`);
  globalThis.fetch = real;
  await release();
  return { start_ms: sent - begun };
}

// `GET /` lists the cases; `GET /<case>?<size>` runs one batch of that case, and `GET
// /<case>?start` starts it, once in a process.
export async function answer(bridge, target) {
  const [path, what] = target.slice(1).split("?");
  const name = decodeURIComponent(path);
  if (name === "") return JSON.stringify(Object.keys(imports));
  if (what === "start") return JSON.stringify(await start(name, bridge));
  return JSON.stringify(await batch(await turn(name, bridge), Number(what)));
}
