// Turns of a lock, timed.
import { onRequest } from "./requests.js";

export const TTL_MS = 10_000;

let names = 0;

// Acquires `size` locks one after another, and then releases them. Returns the milliseconds of both
// parts, and the requests of all. Each acquisition has a name of its own, so that they can be timed
// without the releases.
export async function batch(turn, size) {
  const releases = [];
  let requests = 0;
  onRequest(() => requests++);
  const start = performance.now();
  for (let i = 0; i < size; i++) releases.push(await turn(`bench-${names++}`));
  const acquired = performance.now();
  for (const release of releases) await release();
  return { acquire_ms: acquired - start, release_ms: performance.now() - acquired, requests };
}
