// Servers for tests in Node, and what stands between a client and the bridge.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Server } from "node:net";

/** Has it listen at a port that the system picks. Returns its address. */
export async function listening(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What happens on the way. Each may wait, and returns whether it answered itself. */
interface Meddling {
  readonly before?: (() => Promise<boolean>) | undefined;
  /** May also change the headers of the answer. */
  readonly behind?: ((headers: Headers) => boolean | Promise<boolean>) | undefined;
  /** It was answered, or could not be. */
  readonly over?: (() => void) | undefined;
}

/** Passes a request on to the bridge, and what that answers back. */
async function passOn(bridge: string, request: IncomingMessage, response: ServerResponse, { before, behind }: Meddling): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  if (await before?.()) return;
  const { authorization = "", "content-type": type = "" } = request.headers;
  const body = Buffer.concat(parts);
  // Nobody listens for a client that is gone. What is to be executed goes on.
  const hungUp = new AbortController();
  if (request.url?.startsWith("/subscribe/")) response.on("close", () => hungUp.abort());
  const answer = await fetch(`${bridge}${request.url}`, { method: "POST", headers: { authorization, "content-type": type }, signal: hungUp.signal, ...(body.length > 0 && { body }) });
  const headers = new Headers(answer.headers);
  if (await behind?.(headers)) return;
  for (const name of ["content-length", "content-encoding", "transfer-encoding", "connection"]) headers.delete(name);
  headers.forEach((value, name) => response.setHeader(name, value));
  response.writeHead(answer.status).flushHeaders();
  for await (const part of (answer.body ?? []) as unknown as AsyncIterable<Uint8Array>) response.write(part);
  response.end();
}

/** A server before the bridge, until it is closed. What `meddle` says happens on the way. */
export class Between {
  readonly #server: Server & { closeAllConnections(): void };

  constructor(bridge: string, meddle: (request: IncomingMessage, response: ServerResponse) => Meddling = () => ({})) {
    this.#server = createServer((request, response) => {
      const meddling = meddle(request, response);
      void passOn(bridge, request, response, meddling)
        .catch(() => response.destroy())
        .finally(meddling.over);
    });
  }

  listen(): Promise<string> {
    return listening(this.#server);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** One that listens. */
export async function between(...args: ConstructorParameters<typeof Between>): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = new Between(...args);
  return { url: await server.listen(), close: () => server.close() };
}
