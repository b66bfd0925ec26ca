// A Worker in workerd, for a test that runs beside it.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

interface Listening {
  readonly event: string;
  readonly port: number;
}

/** Serves a folder's Worker until this process ends. The addresses of both it and its inspector. */
export async function serve(workerd: string, folder: string, config = "config.capnp"): Promise<{ readonly worker: string; readonly inspector: string }> {
  const served = spawn(workerd, ["serve", config, "--inspector-addr=127.0.0.1:0", "--control-fd=3"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  process.on("exit", () => served.kill("SIGKILL"));
  const found = new Map<string, string>();
  for await (const line of createInterface(served.stdio[3] as Readable)) {
    const { event, port } = JSON.parse(line) as Listening;
    found.set(event, `http://127.0.0.1:${port}/`);
    const [inspector, worker] = [found.get("listen-inspector"), found.get("listen")];
    if (inspector !== undefined && worker !== undefined) return { inspector, worker };
  }
  throw new Error("workerd does not listen");
}
