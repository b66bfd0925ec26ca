// A caller's own `fetch`. Whatever that does, the call fails with an error, and the module goes on.
import { Client, type ClientSettings, type Command, EdgelockError, type ErrorCode, type FetchInit } from "edgelock";
import { Background, check, equal, eventually, fails, type Stack, type Suite, take, thrown, unhandled } from "./harness.js";

/** Gives these answers in turn, and then the last one for ever. */
const answers = (...answers: Array<() => unknown>): NonNullable<ClientSettings["fetch"]> => (() => (answers.length > 1 ? answers.shift() : answers[0])?.()) as never;

const headers = (entries: Readonly<Record<string, string>> = {}) => ({ get: (name: string) => entries[name] ?? null });
const throws = (): never => {
  throw new Error("not today");
};
const refuses = async () => new Response(`{"error":"NOSCRIPT No matching script."}`, { status: 400 });

const acquire = (stack: Stack, answer: () => unknown): Promise<unknown> => stack.client({ fetch: answer as never, maxAttempts: 1, requestTimeout: 20_000 }).lock("a").tryAcquire();

/** After each of these answers the outcome is unknown, and nothing is left unhandled. */
async function areUnknown(stack: Stack, code: ErrorCode, answers: ReadonlyArray<() => unknown>): Promise<EdgelockError[]> {
  const errors: EdgelockError[] = [];
  equal(await unhandled(async () => {
    for (const answer of answers) errors.push(await fails(code, acquire(stack, answer)));
  }), []);
  for (const [at, error] of errors.entries()) check(error.isOutcomeUnknown, `${at}: ${error}`);
  return errors;
}

export const fetches: Suite = {
  async what_is_no_response_is_an_error_of_unknown_outcome_at_once(stack) {
    const get = throws;
    const odd: unknown[] = [undefined, null, 7, "odd", Symbol("odd"), {}, { status: 200 }, { status: 200, headers: {} }, { status: 200, headers: { get } }];
    for (const status of [undefined, "200", NaN, -1, 65_736, 2.5, {}]) odd.push({ status, headers: headers() });
    odd.push({ get status() { return throws(); } }, { get then() { return throws(); } });
    const errors = await areUnknown(stack, "unavailable", odd.flatMap((response) => [() => response, async () => response]));
    for (const [at, { cause }] of errors.entries()) check(cause instanceof Error, `${at} says what it is not`);
  },

  async what_cannot_even_be_looked_at_may_be_thrown(stack) {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const odd = [proxy, { get cause() { return throws(); } }, { get code() { return throws(); } }];
    await areUnknown(stack, "unavailable", odd.map((thrown) => () => Promise.reject(thrown)));
  },

  async the_cause_of_an_error_is_of_the_request_that_its_message_is_about(stack) {
    const refused = Object.assign(new TypeError("refused"), { cause: { code: "ECONNREFUSED" } });
    const fetch = (broke: string) => answers(() => Promise.reject(new TypeError(broke)), () => Promise.reject(refused));
    // What was lost first may have been executed, so that is what the call tells.
    const unknown = await fails("unavailable", stack.client({ fetch: fetch("the first broke"), maxAttempts: 2 }).lock("a").tryAcquire());
    equal([unknown.message.includes("the first broke"), unknown.isOutcomeUnknown, unknown.cause], [true, true, undefined]);
    const known = await fails("unavailable", stack.client({ fetch: fetch("refused"), maxAttempts: 1 }).lock("a").tryAcquire());
    check(known.cause instanceof TypeError && known.cause.message === "refused", `${known.cause}`);
    const odd = await fails("unavailable", stack.client({ fetch: () => Promise.reject("no error at all"), maxAttempts: 1 }).lock("a").tryAcquire());
    equal(odd.cause, "no error at all");
  },

  async what_a_host_says_in_several_lines_is_quoted_in_one(stack) {
    // So Node ends what OpenSSL says.
    const said = new TypeError("fetch failed", { cause: new Error("wrong version\x1b[2J:\n") });
    const error = await fails("unavailable", acquire(stack, () => Promise.reject(said)));
    check(/fetch failed: wrong version \[2J: \(for/.test(error.message) && error.cause === said, JSON.stringify(error.message));
  },

  async an_acquisition_sends_no_more_than_it_may_also_to_give_up_what_it_asked_for(stack) {
    for (const aborts of [false, true]) {
      for (const maxRequests of [4, 5, 8, 12]) {
        const gone = new Background();
        const stop = new AbortController();
        let sent = 0;
        const fetch = () => {
          if (++sent !== 3 || !aborts) return Promise.reject(new TypeError("lost"));
          setTimeout(() => stop.abort(new Error("gone")));
          return new Promise<never>(() => {});
        };
        const client = stack.client({ fetch, requestTimeout: aborts ? 2_000 : 100, waitUntil: gone.waitUntil });
        const { message } = (await thrown(client.lock("a", { maxRequests, wait: aborts ? 5_000 : 500 }).acquire({ signal: stop.signal }))) as Error;
        check(message.startsWith(aborts ? "gone" : "unavailable"), message);
        await gone.over();
        check(sent > (aborts ? 3 : 1) && sent <= maxRequests, `${sent} of ${maxRequests}`);
      }
    }
  },

  async a_reply_that_makes_no_sense_is_no_answer(stack) {
    // A lock keeps no result, and a debounce waits for a day at most.
    const replying = (parts: readonly unknown[]) => {
      const seen: string[] = [];
      const fetch = (async (_: string, { body = "" }: FetchInit) => {
        seen.push(body);
        const words = JSON.parse(body) as string[];
        return new Response(JSON.stringify({ result: [parts[0], words[3 + Number(words[2])], ...parts.slice(1)] }));
      }) as never;
      return { seen, client: stack.client({ fetch, maxAttempts: 1 }) };
    };
    const kept = replying([2, "+x\r\n"]);
    check((await fails("unexpected_reply", kept.client.lock("a").tryAcquire())).isOutcomeUnknown, "it may have been granted");
    await eventually(() => kept.seen.length === 2);
    await fails("unexpected_reply", replying([1, String(2 ** 53 - 1)]).client.debounce("a", 5).run(() => 1));
  },

  async a_call_that_is_aborted_inside_of_its_own_fetch_has_its_request_aborted(stack) {
    const controller = new AbortController();
    const requests: AbortSignal[] = [];
    // Any reason is thrown unchanged.
    const reason = { code: "held", message: "enough", isOutcomeUnknown: true };
    const fetch = (_: string, { signal }: FetchInit) => {
      requests.push(signal);
      controller.abort(reason);
      return new Promise<never>(() => {});
    };
    check((await thrown(stack.client({ fetch }).lock("a").inspect({ signal: controller.signal }))) === reason, "as it was told");
    equal(requests.map((request) => request.aborted), [true]);
  },

  async what_a_call_came_to_is_not_overtaken_by_an_abort_meanwhile(stack) {
    const controller = new AbortController();
    // The second request abandons the lock, before the call is told how the first was lost.
    const fetch = answers(throws, () => (controller.abort(), new Promise(() => {})));
    await fails("unavailable", stack.client({ fetch, maxAttempts: 1 }).lock("a").tryAcquire({ signal: controller.signal }));
    check(controller.signal.aborted, "it was not abandoned");
  },

  async what_cannot_be_read_is_an_answer_that_broke_off(stack) {
    const short = headers({ "content-length": "3" });
    const odd = [{}, 7, "abc", ["abc"], [7], [{ byteLength: 7 }], { [Symbol.asyncIterator]: throws }, { getReader: throws }];
    const responses = [
      ...odd.map((body) => ({ status: 200, headers: headers(), body })),
      ...[undefined, throws, () => 7, async () => ({})].map((text) => ({ status: 200, headers: short, text })),
    ];
    await areUnknown(stack, "truncated", responses.map((response) => async () => response));
  },

  async a_body_that_is_not_read_is_cancelled_and_may_refuse(stack) {
    let cancelled = 0;
    const count = () => void cancelled++;
    const cancels = [count, async () => (count(), throws()), () => (count(), throws()), undefined];
    const inspects = (response: unknown) => stack.client({ fetch: answers(async () => response), maxAttempts: 1 }).lock("a").inspect();
    equal(await unhandled(async () => {
      for (const cancel of cancels) {
        await fails("redirected", inspects({ status: 302, headers: headers(), body: { cancel } }));
        await fails("too_large", inspects({ status: 200, headers: headers({ "content-length": "9999999" }), body: { cancel } }));
      }
    }), []);
    equal(cancelled, 6);
  },

  async a_body_is_read_by_iterator_by_reader_and_as_text(stack) {
    // Safari's streams have no iterator, and other implementations of `fetch` have other bodies.
    const ways: Array<(bytes: Uint8Array<ArrayBuffer>) => object> = [
      (bytes) => ({ headers: headers(), body: [bytes.subarray(0, 3), bytes.subarray(3)], text: throws }),
      (bytes) => ({ headers: headers(), body: { getReader: () => new Response(bytes).body?.getReader() }, text: throws }),
      (bytes) => ({ headers: new Map([["content-length", `${bytes.length}`]]), body: undefined, text: async () => new TextDecoder().decode(bytes) }),
    ];
    for (const way of ways) {
      const send = async (url: string, init: FetchInit) => {
        const response = await fetch(url, init);
        return { status: response.status, ...way(new Uint8Array(await response.arrayBuffer())) };
      };
      await (await take(stack.client({ fetch: send as never, maxAttempts: 1 }).lock("a"))).release();
    }
  },

  async a_bridge_of_several_has_settings_of_its_own_and_the_clients_are_the_default() {
    const sent: Record<string, string> = {};
    const fetch = (url: string, { body = "" }: FetchInit) => ((sent[new URL(url).host] = body), Promise.reject(new Error("no network")));
    const shards = {
      own: { url: "http://own.example", credential: "credential", keyLocking: true, plainHttp: true },
      default: { url: "https://default.example", credential: "credential" },
    };
    const client = new Client({ shards, keyLocking: false, maxAttempts: 1, fetch });
    for (let n = 0; n < 30; n++) await fails("unavailable", client.lock(`${n}`).tryAcquire());
    equal(Object.entries(sent).map(([host, body]) => [host, body.includes("allow-key-locking")]).sort(), [["default.example", false], ["own.example", true]]);
    await fails("invalid_argument", () => new Client({ shards: { own: { ...shards.own, plainHttp: false } }, plainHttp: true }));
    const read: Command[] = [["GET", { key: "x" }]];
    await fails("unavailable", client.read(read, { shardOf: "a" }));
    await fails("invalid_argument", client.read(read));
    for (const odd of [{}, "odd", null, { a: 7 }]) {
      await fails("invalid_argument", async () => new Client({ shards: odd as never }).lock("a").tryAcquire());
    }
  },

  async a_fetch_that_throws_at_once_is_not_heard_under_the_call_that_sends(stack) {
    const bridges = [1, 2, 3].map((port) => ({ url: `http://127.0.0.1:${port}`, credential: "credential" }));
    // The first answer comes in a callback, and the next request is sent in the same callback.
    await fails("unavailable", stack.client({ maxAttempts: 1, fetch: answers(throws) }).lock("a").tryAcquire());
    for (const quorum of [bridges, bridges.slice(0, 1)]) {
      for (const fetch of [answers(throws), answers(refuses, throws), answers(refuses, refuses, throws)]) {
        const error = await thrown(new Client({ quorum, maxAttempts: 1, fetch }).lock("a").tryAcquire());
        check(error instanceof EdgelockError && ["unavailable", "refused"].includes(error.code), `${error}`);
      }
    }
  },

  async a_fetch_that_writes_to_its_headers_writes_to_nobody_else_s(stack) {
    const writes = (url: string, { headers, ...init }: FetchInit) => {
      const own = { ...headers };
      for (const name of Object.keys(headers)) delete (headers as Record<string, string>)[name];
      return fetch(url, { ...init, headers: own });
    };
    for (const send of [writes, fetch]) await (await take(stack.client({ fetch: send as never }).lock("a"))).release();
  },

  async a_fetch_may_use_the_client_that_it_serves(stack) {
    let depth = 0;
    const inner: Array<Promise<Array<PromiseSettledResult<unknown>>>> = [];
    const client = stack.client({
      maxAttempts: 1,
      requestTimeout: 20_000,
      fetch: (url, init) => {
        if (depth++ < 4) {
          const lock = client.lock("b");
          check(lease.remaining === 0 && lease.token.length === 22, "it can be looked at");
          inner.push(Promise.allSettled([lock.inspect(), lock.run(() => 7), client.read([["GET", { key: `${stack.mark}n` }]])]));
          if (depth === 3) throws();
        }
        return fetch(url, init);
      },
    });
    const lease = client.lock("a").resume("a".repeat(22));
    equal(await unhandled(async () => {
      await thrown(lease.renew());
      for (const outcome of (await Promise.all(inner)).flat()) {
        if (outcome.status === "rejected") check(["unavailable", "held"].includes(outcome.reason.code), `${outcome.reason}`);
      }
    }), []);
    equal((await client.lock("b").inspect()).holder, null);
  },

  async a_stream_that_is_none_leaves_a_waiter_that_asks(stack) {
    const odd = [undefined, 7, ["odd"], [7], [new DataView(new ArrayBuffer(3))], { getReader: throws }, { [Symbol.asyncIterator]: throws }];
    const responses: unknown[] = [undefined, ...odd.map((body) => ({ status: 200, headers: headers(), body }))];
    equal(await unhandled(async () => {
      for (const response of responses) {
        const send = (url: string, init: FetchInit) => (url.includes("/subscribe/") ? response : fetch(url, init));
        const held = await stack.lock("a").acquire();
        const waiting = stack.client({ fetch: send as never }).lock("a", { wait: 20_000 }).acquire();
        await eventually(async () => (await stack.lock("a").inspect()).waiters === 1);
        await held.release();
        await (await waiting).release();
      }
    }), []);
  },
};
