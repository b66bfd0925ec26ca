// The installed command-line tool as a process, and what may be between it and the bridge.
import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { check, eventually } from "./harness.js";

const [program = ""] = process.argv.slice(2);

/** How a process ended, and what it wrote. */
export interface Ended {
  /** Its exit code, or 128 plus the number of the signal that ended it. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** A running tool. */
export class Tool {
  readonly ended: Promise<Ended>;
  out = "";
  err = "";
  readonly #child;

  /**
   * Starts it without a terminal, even if the tests have one: in a session of its own, as services
   * are.
   */
  constructor(args: readonly string[], variables: Variables = {}, file = program) {
    const env = { ...process.env, ...variables };
    this.#child = spawn(file, args, { env, detached: true, stdio: "pipe" });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => (this.out += text));
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.err += text));
    // A test that failed leaves no process behind. After the end, the id may be another process's.
    const clean = () => this.#killAll();
    process.on("exit", clean);
    this.#child.once("close", () => process.off("exit", clean));
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        const { out, err } = this;
        // Whatever it was asked, it must not have written these.
        const secrets = [process.env["EDGELOCK_BRIDGE_CREDENTIAL"], variables["EDGELOCK_BRIDGE_CREDENTIAL"], process.env["EDGELOCK_WEBDIS_PASSWORD"]];
        const told = secrets.find((secret) => secret && (out + err).includes(secret));
        if (told === undefined) resolve({ code: code ?? (signal === "SIGINT" ? 130 : signal === "SIGTERM" ? 143 : 137), out, err });
        else reject(new Error(`a secret was printed: ${out}${err}`));
      });
    });
  }

  /** Starts it on a terminal, which `script` makes. */
  static onTerminal(args: readonly string[], isInBackground = false): Tool {
    const tool = [program, ...args].map((arg) => `'${arg}'`).join(" ");
    // `script` runs it in a shell. A shell that stayed, as Debian's `sh` does, would also end by
    // the keys of the terminal.
    const command = isInBackground ? `set -m; ${tool} & wait` : `exec ${tool}`;
    return new Tool(["--quiet", "--return", "--command", command, "/dev/null"], {}, "script");
  }

  /** Starts it with its output to that file. */
  static into(file: string, args: readonly string[]): Tool {
    return new Tool(["-c", `exec "$0" "$@" >${file}`, program, ...args], {}, "sh");
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #killAll(): void {
    try {
      process.kill(-this.#child.pid!, "SIGKILL");
    } catch {
      // All have ended.
    }
  }

  /** Closes its output, as `head` does that has enough. */
  readNoMore(): void {
    this.#child.stdout.destroy();
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Waits until it has written this. Throws if it ends before. */
  async wrote(text: string): Promise<void> {
    let ended: Ended | undefined;
    this.ended.then((how) => (ended = how), () => {});
    await eventually(() => (this.out + this.err).includes(text) || ended !== undefined);
    check((this.out + this.err).includes(text), `${text} is in ${JSON.stringify(ended)}`);
  }
}

/** Runs the tool to its end. */
export const edgelock = (args: readonly string[], variables: Variables = {}): Promise<Ended> => new Tool(args, variables).ended;

/** A server between the tool and the bridge, until it is closed. */
export interface Between {
  readonly url: string;
  readonly close: () => void;
}

/**
 * Passes requests on to the bridge. `meddle` may answer them instead, and change the headers of an
 * answer.
 */
export async function between(bridge: string, meddle: (request: IncomingMessage, response: ServerResponse, headers: Headers) => boolean = () => false): Promise<Between> {
  const server = createServer((request, response) => void pass(request, response).catch(() => response.destroy()));
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { authorization = "", "content-type": type = "" } = request.headers;
    const body = Buffer.concat(parts);
    const answer = await fetch(`${bridge}${request.url}`, { method: "POST", headers: { authorization, "content-type": type }, ...(body.length > 0 && { body }) });
    const headers = new Headers(answer.headers);
    if (meddle(request, response, headers)) return;
    for (const name of ["content-length", "content-encoding", "transfer-encoding", "connection"]) headers.delete(name);
    headers.forEach((value, name) => response.setHeader(name, value));
    response.writeHead(answer.status).flushHeaders();
    for await (const part of (answer.body ?? []) as unknown as AsyncIterable<Uint8Array>) response.write(part);
    response.end();
  };
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
