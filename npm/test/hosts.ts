// What only hosts show that have an environment, realms, servers, and a Web Crypto to take away.
import { createServer, type Socket } from "node:net";
import { runInNewContext } from "node:vm";
import { Client, idempotent } from "edgelock";
import { listening } from "./between.js";
import { check, equal, eventually, fails, type Suite } from "./harness.js";

/** Whether it is unknown what came of a call to a server that does this with its connections. */
async function isUnknown(take: (socket: Socket) => void, isClosed = false): Promise<boolean> {
  const server = createServer(take);
  const client = new Client({ url: await listening(server), credential: "credential", maxAttempts: 1 });
  const close = () => new Promise((closed) => server.close(closed));
  if (isClosed) await close();
  const { isOutcomeUnknown } = await fails("unavailable", client.lock("a").tryAcquire());
  if (!isClosed) await close();
  return isOutcomeUnknown;
}

export const hosts: Suite = {
  async a_connection_that_was_refused_is_known_to_have_carried_nothing() {
    equal(await isUnknown(() => {}, true), false);
  },

  async a_connection_that_was_hung_up_on_is_not() {
    equal(await isUnknown((socket) => socket.once("data", () => socket.destroy())), true);
  },

  async a_client_of_the_environment_reads_it_when_it_is_first_used_if_it_names_no_bridge_yet(stack) {
    const names = ["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_CREDENTIAL"] as const;
    const [url, credential] = names.map((name) => process.env[name]);
    for (const name of names) delete process.env[name];
    try {
      const client = Client.fromEnv(undefined, { prefix: stack.mark });
      const lock = client.lock("a");
      const [once, semaphore] = [client.once("b"), client.semaphore("c", 2)];
      for (const call of [() => lock.acquire(), () => once.run(() => 7), () => semaphore.tryAcquire(), () => client.read([["TIME"]])]) {
        const { message, advice } = await fails("invalid_argument", async () => call());
        check(message.includes("EDGELOCK_BRIDGE_URL") && advice.includes("Upstash's console"), message);
      }
      await fails("invalid_argument", () => Client.fromEnv(undefined, { prefix: 7 } as never));
      Object.assign(process.env, { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: credential });
      await (await lock.acquire()).release();
      equal(await once.run(() => 7), { value: 7, replayed: false });
    } finally {
      Object.assign(process.env, { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: credential });
    }
  },

  async a_host_without_web_crypto_is_told_what_it_lacks(stack) {
    const own = Object.getOwnPropertyDescriptor(globalThis, "crypto")!;
    const lock = stack.lock("a");
    Object.defineProperty(globalThis, "crypto", { configurable: true, value: undefined });
    try {
      const { message, advice } = await fails("entropy_unavailable", lock.acquire());
      check(message.includes("Web Crypto") && advice.includes("Node has it from version 20"), `${message} ${advice}`);
    } finally {
      Object.defineProperty(globalThis, "crypto", own);
    }
  },

  async a_host_without_fetch_is_told_so_and_nothing_was_sent() {
    const own = Object.getOwnPropertyDescriptor(globalThis, "fetch")!;
    const lock = new Client({ url: "https://bridge.example", credential: "credential", maxAttempts: 1 }).lock("a");
    Object.defineProperty(globalThis, "fetch", { configurable: true, value: undefined });
    try {
      const { message, isOutcomeUnknown } = await fails("unavailable", lock.tryAcquire());
      check(message.includes("this host has no fetch") && !isOutcomeUnknown, message);
    } finally {
      Object.defineProperty(globalThis, "fetch", own);
    }
  },

  async calls_that_share_a_signal_are_all_ended_and_no_leak_is_suspected(stack) {
    const warnings: string[] = [];
    const warned = ({ message }: Error) => void warnings.push(message);
    process.on("warning", warned);
    try {
      const [holder, stop] = [await stack.lock("a").acquire(), new AbortController()];
      const waits = Array.from({ length: 20 }, () => stack.lock("a").acquire({ signal: stop.signal }).catch((error: unknown) => error));
      await eventually(async () => (await stack.lock("a").inspect()).waiters === waits.length);
      stop.abort("stop");
      equal(await Promise.all(waits), waits.map(() => "stop"));
      await holder.release();
      equal(warnings, []);
    } finally {
      process.off("warning", warned);
    }
  },

  async an_error_of_another_realm_says_what_failed(stack) {
    // As in Jest, where `fetch` is that of the host, and `Error` is not.
    const failure = runInNewContext(`new TypeError("fetch failed", { cause: new Error("no route") })`) as Error;
    const error = await fails("unavailable", stack.client({ fetch: () => Promise.reject(failure), maxAttempts: 1 }).lock("a").tryAcquire());
    check(error.message.includes("fetch failed: no route") && error.cause === failure, error.message);
  },

  async a_response_whose_body_is_of_another_realm_is_kept(stack) {
    let count = 0;
    const handle = idempotent(() => {
      count++;
      const bytes = runInNewContext("new Uint8Array([104, 105])") as Uint8Array;
      return new Response(new ReadableStream({ start: (body) => (body.enqueue(bytes), body.close()) }));
    }, { client: stack.client(), key: () => "one" });
    await (await handle(new Request("http://a/"))).body?.cancel();
    equal([await (await handle(new Request("http://a/"))).text(), count], ["hi", 1]);
  },
};
