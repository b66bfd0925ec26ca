// What calls leave behind in workerd, as its inspector tells: the host's own `process.memoryUsage` is of zeros. Node must have a
// `WebSocket`, by `--experimental-websocket` up to 20.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { KINDS } from "./calls.js";
import { tests } from "./growth.js";
import { runTests, sleep } from "./harness.js";

const [, , workerd = "", folder = ""] = process.argv;
const served = spawn(workerd, ["serve", "config.capnp", "--inspector-addr=127.0.0.1:0", "--control-fd=3"], {
  cwd: folder,
  stdio: ["ignore", "inherit", "inherit", "pipe"],
});
process.on("exit", () => served.kill("SIGKILL"));

interface Listening {
  readonly event: string;
  readonly port: number;
}

/** The ports of the inspector, and of the Worker. */
async function ports(): Promise<[inspector: number, http: number]> {
  const found = new Map<string, number>();
  for await (const line of createInterface(served.stdio[3] as Readable)) {
    const { event, port } = JSON.parse(line) as Listening;
    found.set(event, port);
    const [inspector, http] = [found.get("listen-inspector"), found.get("listen")];
    if (inspector !== undefined && http !== undefined) return [inspector, http];
  }
  throw new Error("workerd does not listen");
}

/** A question to V8. */
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

const [inspector, http] = await ports();
const [target] = JSON.parse(await get(`http://127.0.0.1:${inspector}/json`)) as Array<{ readonly webSocketDebuggerUrl: string }>;
const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
await new Promise((open) => socket.addEventListener("open", open));
const worker = `http://127.0.0.1:${http}/`;

/** Collects garbage. V8 does so when the Worker runs the next time. */
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
    // What finalizers let go of, between two requests, is garbage in the next turn.
    for (let times = 0; times < 3; times++) await collect();
    const { usedSize = NaN } = await ask(socket, "Runtime.getHeapUsage");
    return { javascript: usedSize, wasm: Number(await get(worker)) };
  },
};

runTests(tests(host, KINDS), console.log, 300_000).then((passed) => process.exit(passed ? 0 : 1));
