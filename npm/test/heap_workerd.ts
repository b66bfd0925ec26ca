// What calls leave behind in workerd, as its inspector shows: its own `process.memoryUsage` answers
// zeros. Node needs a `WebSocket`; up to 20 that is `--experimental-websocket`.
import { FINALIZED, KINDS } from "./calls.js";
import { runAll } from "./growth.js";
import { sleep } from "./harness.js";
import { serve } from "./serve.js";

const [, , workerd = "", folder = ""] = process.argv;
/** Asks V8. */
function ask(socket: WebSocket, method: string): Promise<Readonly<Record<string, number>>> {
  const id = ++questions;
  return new Promise((resolve) => {
    socket.addEventListener("message", function hear({ data }) {
      const answer = JSON.parse(data as string) as { readonly id?: number; readonly result: Record<string, number> };
      if (answer.id !== id) return;
      socket.removeEventListener("message", hear);
      resolve(answer.result);
    });
    socket.send(JSON.stringify({ id, method }));
  });
}

let questions = 0;

async function get(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

const { inspector, worker } = await serve(workerd, folder);
const [target] = JSON.parse(await get(`${inspector}json`)) as Array<{ readonly webSocketDebuggerUrl: string }>;
const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
await new Promise((open) => socket.addEventListener("open", open));

/** Collects garbage. V8 does that when the Worker runs the next time. */
async function collect(): Promise<void> {
  let isDone = false;
  const collected = ask(socket, "HeapProfiler.collectGarbage").then(() => (isDone = true));
  while (!isDone) {
    await get(worker);
    await Promise.race([collected, sleep(10)]);
  }
}

const host = {
  async make(kind: string, count: number) {
    await get(`${worker}${encodeURIComponent(kind)}?${count}`);
  },
  async inUse() {
    // What finalizers release between two requests is garbage in the next turn.
    for (let times = 0; times < 3; times++) await collect();
    const { usedSize = NaN } = await ask(socket, "Runtime.getHeapUsage");
    return { javascript: usedSize, wasm: Number(await get(worker)) };
  },
};

// The others leave the same here as in Node. `cargo xtask heap` makes them here, too.
const isUsual = process.env.EDGELOCK_HEAP_CALLS === undefined;
const kinds = new Map([...KINDS].filter(([kind]) => !isUsual || FINALIZED.includes(kind)));
runAll(host, kinds).then((passed) => process.exit(passed ? 0 : 1));
