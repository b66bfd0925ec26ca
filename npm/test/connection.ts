// How failed connections are told, on hosts that can have servers of their own.
import { createServer, type Server, type Socket } from "node:net";
import { Client } from "edgelock";
import { listening } from "./between.js";
import { equal, fails, type Suite } from "./harness.js";

/** A server that only calls `take` with its connections, and its address. */
async function serve(take: (socket: Socket) => void): Promise<[Server, string]> {
  const server = createServer(take);
  return [server, await listening(server)];
}

const close = (server: Server): Promise<void> => new Promise((closed) => server.close(() => closed()));

async function isUnknownAt(url: string): Promise<boolean> {
  const client = new Client({ url, credential: "credential", maxAttempts: 1 });
  return (await fails("unavailable", client.lock("a").tryAcquire())).isOutcomeUnknown;
}

export const connection: Suite = {
  async a_connection_that_was_refused_is_known_to_have_carried_nothing() {
    const [server, url] = await serve(() => {});
    await close(server);
    equal(await isUnknownAt(url), false);
  },

  async a_connection_that_was_hung_up_on_is_not() {
    const [server, url] = await serve((socket) => socket.once("data", () => socket.destroy()));
    equal(await isUnknownAt(url), true);
    await close(server);
  },
};
