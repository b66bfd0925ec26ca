// Counts with each package that wasm-pack built, in Node. The argument is their folder.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: credential } = process.env;
const [, , folder] = process.argv;

for (const target of ["web", "bundler", "nodejs"]) {
  const { count, default: init } = await import(`${folder}/${target}/counter.js`);
  // A page's own module fetches its wasm. Node's `fetch` knows no files.
  if (target === "web") await init({ module_or_path: await readFile(`${folder}/web/counter_bg.wasm`) });
  const counts = await Promise.all(Array.from({ length: 5 }, () => count(url, credential, target)));
  assert.deepEqual(counts.sort(), [1, 2, 3, 4, 5]);
  console.log(`counted with the package for ${target}`);
}
