// A Worker in workerd, for a test that runs beside it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
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

/** Posts to a Worker. Its caller may hang up on what was sent; the text is of a good answer. */
export function post(url: string, body: object): { readonly sent: ClientRequest; readonly text: Promise<string> } {
  const sent = request(url, { method: "POST", agent: false });
  sent.end(JSON.stringify(body));
  const answered = async () => {
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    let text = "";
    for await (const piece of response) text += String(piece);
    if (response.statusCode !== 200) throw new Error(text);
    return text;
  };
  return { sent, text: answered() };
}
