// What only JavaScript has of work that is executed once: handlers that are executed once for each
// key, and signals.
import { idempotent, type IdempotentOptions, type ResultError } from "edgelock";
import { check, equal, eventually, fails, never, type Stack, type Suite, thrown, unhandled } from "./harness.js";

const LONG = 40_000;
const isHeld = async (stack: Stack): Promise<boolean> => (await stack.redis("EXISTS ~a")) === 1;

type NotKept = Parameters<NonNullable<IdempotentOptions<[]>["onNotKept"]>>[0];

export const handlers: Suite = {
  async a_signal_ends_the_wait_and_tells_the_work(stack) {
    const once = stack.client().once("a", { wait: LONG });
    const [stop, reason] = [new AbortController(), new Error("enough")];
    const work = once.run((lease) => new Promise((_, reject) => lease.signal.addEventListener("abort", () => reject(lease.signal.reason))), { signal: stop.signal });
    await eventually(() => isHeld(stack));
    const waiter = once.run(never, { signal: stop.signal });
    const ends = Promise.all([thrown(work), thrown(waiter)]);
    stop.abort(reason);
    equal((await ends).map((why) => why === reason), [true, true]);
    await eventually(async () => !(await isHeld(stack)));
  },

  async without_redis_each_call_refills_its_copy_for_itself(stack) {
    const client = stack.client({ fetch: () => Promise.reject(new TypeError("away")) });
    const times = { fresh: 1_000, stale: 1_000, wait: 20 };
    equal(await client.cached("a", times).get(() => 7), 7);
    await fails("unavailable", client.cached("a", { ...times, ifUnavailable: "fail" }).get(never));
  },

  async a_call_that_is_aborted_does_no_work_though_it_is_to_run_without_redis(stack) {
    const held = await stack.client().lock("a", { ttl: LONG }).acquire();
    const away = await fails("unavailable", stack.client({ fetch: () => Promise.reject(new TypeError("away")) }).lock("b", { wait: 0 }).acquire());
    const client = stack.client();
    const waits = [
      (signal: AbortSignal) => client.once("a", { wait: LONG, ifUnavailable: "run" }).run(never, { signal }),
      (signal: AbortSignal) => client.cached("a", { fresh: LONG, stale: LONG, wait: LONG }).get(never, { signal }),
    ];
    for (const wait of waits) {
      const stop = new AbortController();
      const ended = thrown(wait(stop.signal));
      setTimeout(() => stop.abort(away), 50);
      check((await ended) instanceof Error && ((await ended) as Error).message !== "the work is done", "no work is done");
    }
    await held.release();
  },

  async what_cannot_be_kept_is_told_though_there_is_a_copy(stack) {
    const cached = stack.client().cached("a", { fresh: LONG, stale: LONG, maxBytes: 10 });
    equal(await cached.get(() => 1), 1);
    await stack.redis(`PEXPIRE {${stack.mark}a}:result ${LONG}`);
    await fails("result_too_large", cached.get(() => "x".repeat(100)));
    const stop = new AbortController();
    const why = new Error("enough");
    const aborting = () => {
      stop.abort(why);
      throw why;
    };
    equal((await thrown(cached.get(aborting, { signal: stop.signal }))) === why, true);
    equal(await cached.get(() => Promise.reject("no")), 1);
    // Of something else, that cannot be kept either.
    equal(await cached.get(() => stack.client().once("b").run(() => NaN).then(({ value }) => value)), 1);
  },

  async a_handler_is_executed_once_for_each_key_and_its_response_is_given_again(stack) {
    const { handle, count } = counting(stack, () => new Response("é", { status: 201, headers: { "content-type": "text/x", "x-own": "1" } }));
    const [first, again] = [await handle(post("one")), await handle(post("one"))];
    equal([first.status, first.headers.get("content-type"), first.headers.get("x-own"), await first.text()], [201, "text/x", "1", "é"]);
    equal([again.status, again.headers.get("content-type"), again.headers.get("idempotent-replayed"), await again.text()], [201, "text/x", "true", "é"]);
    equal([(await handle(post("other"))).status, first.headers.get("idempotent-replayed"), count()], [201, null, 2]);
    // Without a key the handler is called each time.
    await handle(post(null));
    await handle(post(null));
    equal(count(), 4);
  },

  async the_headers_of_a_response_are_given_again_but_for_those_of_one_message(stack) {
    const redirect = counting(stack, () => Response.redirect("http://shop/orders/7", 303));
    for (const _ of [1, 2]) {
      const { status, headers } = await redirect.handle(post("moved"));
      equal([status, headers.get("location")], [303, "http://shop/orders/7"]);
    }
    const kept = { location: "/orders/7", etag: '"7"', "content-disposition": "attachment", "access-control-allow-origin": "http://a", vary: "origin", "cache-control": "no-store", "x-own": "1", "content-type": "text/x" };
    const dropped = { date: "Wed, 21 Oct 2026 07:28:00 GMT", age: "7", via: "1.1 a", connection: "close", "proxy-authenticate": "x", "transfer-encoding": "chunked", "content-length": "2", "alt-svc": "clear", "server-timing": "a" };
    const made = counting(stack, () => new Response("ok", { status: 201, headers: [...Object.entries({ ...kept, ...dropped }), ["set-cookie", "a=1"], ["set-cookie", "b=2"]] }));
    await made.handle(post("made"));
    const again = await made.handle(post("made"));
    equal([again.status, await again.text(), made.count()], [201, "ok", 1]);
    for (const [name, value] of Object.entries(kept)) equal([name, again.headers.get(name)], [name, value]);
    const stored = String(await stack.redis(`GET {${stack.mark}made}:result`));
    for (const name of ["set-cookie", ...Object.keys(dropped)]) check(!stored.includes(`"${name}"`), `${name} is not kept`);
    // An earlier version kept the type alone.
    await stack.client().once("old").run(() => ({ status: 200, type: "text/x", body: "ok" }));
    const old = await made.handle(post("old"));
    equal([old.headers.get("content-type"), await old.text()], ["text/x", "ok"]);
  },

  async a_response_with_bytes_or_without_a_body_is_given_again(stack) {
    const bytes = new Uint8Array([0xff, 0x00, 0xfe]);
    const { handle } = counting(stack, (request) => new Response(request.headers.get("idempotency-key") === "bytes" ? bytes : null, { status: request.headers.get("idempotency-key") === "bytes" ? 200 : 204 }));
    for (const _ of [1, 2]) equal([...new Uint8Array(await (await handle(post("bytes"))).arrayBuffer())], [...bytes]);
    for (const _ of [1, 2]) equal([(await handle(post("none"))).status, await (await handle(post("none"))).text()], [204, ""]);
  },

  async a_handler_that_fails_is_executed_again(stack) {
    const why = new Error("no handler");
    const outcomes = [() => new Response("no", { status: 503 }), () => Promise.reject(why), () => new Response("yes")];
    const { handle, count } = counting(stack, () => outcomes.shift()!());
    const failed = await handle(post("one"));
    equal([failed.status, await failed.text()], [503, "no"]);
    equal((await thrown(handle(post("one")))) === why, true);
    for (const _ of [1, 2]) equal(await (await handle(post("one"))).text(), "yes");
    equal(count(), 3);
  },

  async the_key_is_that_of_the_header_unless_there_is_another(stack) {
    const { handle, count } = counting(stack, () => new Response("done"), { key: undefined, scope: () => "shop" });
    for (const key of ["k-1", '"k-1"']) equal(await (await handle(post(key))).text(), "done");
    for (const key of ['"say \\"so\\""', 'say"so', '"\\x"', '"', "a b", "é", '""', "x".repeat(256), `"${"x".repeat(256)}"`]) {
      const valid = key.startsWith('"say');
      const answer = await handle(post(key));
      equal([key, answer.status, answer.headers.get("content-type")], [key, valid ? 200 : 400, valid ? "text/plain;charset=UTF-8" : "application/problem+json"]);
    }
    equal([count(), await stack.redis(`EXISTS {~shop:k-1}:result`)], [2, 1]);
    // Another request is told apart without a word of the user's.
    const other = await handle(post("k-1", "other"));
    const { title, status } = (await other.json()) as { title: string; status: number };
    equal([other.status, status, title], [422, 422, "Idempotency-Key is already used"]);
    // Nor do two accounts share keys.
    const elsewhere = counting(stack, () => new Response("mine"), { key: undefined, scope: () => "other" });
    equal(await (await elsewhere.handle(post("k-1", "other"))).text(), "mine");
    const one = counting(stack, () => new Response("one's secret"), { key: undefined, scope: () => "1" });
    const another = counting(stack, () => new Response("another's"), { key: undefined, scope: () => "1:2" });
    equal([await (await one.handle(post("2:x"))).text(), await (await another.handle(post("x"))).text()], ["one's secret", "another's"]);
    for (const print of [null, undefined, 7]) {
      await fails("invalid_argument", counting(stack, never, { fingerprint: () => print as unknown as string }).handle(post("k-3")));
    }
    for (const scope of ["", null, undefined, {}]) {
      await fails("invalid_argument", counting(stack, never, { key: undefined, scope: () => scope as string }).handle(post("k-2")));
    }
    // Text would be made of them, beside the scope: one key for all who have none.
    for (const key of [undefined, 7, {}]) {
      for (const scope of [undefined, () => "shop"]) {
        await fails("invalid_argument", counting(stack, never, { key: async () => key as string, scope }).handle(post(null)));
      }
    }
    // What would be more than a word in a name.
    for (const key of ["order-7}", "{}", "{7}:result", "100%"]) equal([key, (await handle(post(key))).status], [key, 200]);
  },

  async a_client_that_is_none_is_told_before_a_request_comes_or_with_the_first(stack) {
    for (const client of [undefined, null, 7, "client", {}, stack.bridge]) {
      await fails("invalid_argument", () => idempotent(never, { client: client as never }));
    }
    for (const made of [undefined, {}, Promise.resolve(stack.client())]) {
      await fails("invalid_argument", idempotent(never, { client: () => made as never })(post("one")));
    }
  },

  async a_key_may_be_required(stack) {
    const { handle, count } = counting(stack, () => new Response("done"), { required: true });
    const missing = await handle(post(null));
    equal([missing.status, missing.headers.get("content-type"), count()], [400, "application/problem+json", 0]);
    equal((await handle(new Request("http://shop/"))).status, 200);
    equal((await handle(post("one"))).status, 200);
  },

  async a_response_that_says_not_yet_is_not_kept_unless_it_is_wanted(stack) {
    let status = 200;
    const answer = () => new Response("x", { status });
    const counts = { own: counting(stack, answer), all: counting(stack, answer, { keepIf: () => true }), none: counting(stack, answer, { keepIf: async ({ status }) => status === 201 }) };
    const kept = async (of: keyof typeof counts, code: number) => {
      status = code;
      const [{ handle, count }, key] = [counts[of], `${of}${code}`];
      const before = count();
      for (const _ of [1, 2]) equal((await handle(post(key))).status, code);
      return count() - before === 1;
    };
    for (const code of [200, 201, 303, 400, 402, 404, 410, 422]) equal([code, await kept("own", code)], [code, true]);
    for (const code of [401, 403, 408, 409, 423, 425, 429, 500, 503]) equal([code, await kept("own", code)], [code, false]);
    equal([await kept("all", 429), await kept("all", 500), await kept("none", 200), await kept("none", 201)], [true, false, false, true]);
    const why = new Error("no opinion");
    equal(await thrown(counting(stack, answer, { keepIf: () => Promise.reject(why) }).handle(post("x"))) === why, true);
  },

  async a_handler_goes_on_without_redis_if_it_is_to_run_then(stack) {
    const told: string[] = [];
    const client = stack.client({ fetch: () => Promise.reject(new TypeError("away")) });
    const away = { client, wait: 20, onNotKept: ({ code }: { code: string }) => void told.push(code) };
    await fails("unavailable", counting(stack, never, away).handle(post("one")));
    const { handle, count } = counting(stack, () => new Response("done", { status: 201 }), { ...away, ifUnavailable: "run" });
    for (const _ of [1, 2]) equal((await handle(post("one"))).status, 201);
    equal([count(), told], [2, ["unavailable", "unavailable"]]);
    const failing = counting(stack, () => new Response("no", { status: 500 }), { ...away, ifUnavailable: "run" });
    equal((await failing.handle(post("one"))).status, 500);
  },

  async an_error_of_the_handler_is_passed_on_whatever_it_is(stack) {
    const held = await stack.client().lock("stock", { ttl: LONG }).acquire();
    const inner = counting(stack, () => stack.client().lock("stock", { wait: 0 }).run(() => new Response("sold")));
    await fails("held", inner.handle(post("one")));
    await held.release();
    await stack.client().once("charge", { fingerprint: "a" }).run(() => 1);
    const other = counting(stack, async () => new Response(String((await stack.client().once("charge", { fingerprint: "b" }).run(never)).value)));
    await fails("fingerprint_mismatch", other.handle(post("two")));
  },

  async a_response_of_an_error_is_given_again(stack) {
    const { handle } = counting(stack, () => Response.error());
    for (const _ of [1, 2]) equal((await handle(post("one"))).type, "error");
  },

  async a_response_that_is_too_large_is_given_before_it_ends(stack) {
    const endless = () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(300_000)) }));
    const { handle } = counting(stack, endless, { maxHold: 2_000 });
    equal((await handle(post("one"))).status, 200);
  },

  async a_response_that_is_too_large_is_given_and_not_kept(stack) {
    const told: unknown[] = [];
    const onNotKept = (error: NotKept, request: Request) => void told.push(error.code, (error as ResultError).most, request.headers.get("idempotency-key"));
    const large = () => new Response("x".repeat(200), { headers: { "x-own": "1" } });
    const { handle, count } = counting(stack, large, { maxBytes: 100, onNotKept });
    for (const _ of [1, 2]) {
      const response = await handle(post("one"));
      equal([response.headers.get("x-own"), (await response.text()).length], ["1", 200]);
    }
    equal([count(), told], [2, ["result_too_large", 100, "one", "result_too_large", 100, "one"]]);
    // `onNotKept` may be missing. If it is there, it can make the call fail.
    equal((await counting(stack, large, { maxBytes: 100 }).handle(post("one"))).status, 200);
    const throwing = (error: NotKept) => Promise.reject(error);
    await fails("result_too_large", counting(stack, large, { maxBytes: 100, onNotKept: throwing }).handle(post("one")));
    equal(await stack.redis("KEYS {~one}:result"), []);
  },

  async an_error_of_who_is_told_takes_the_place_of_the_response_whatever_it_is(stack) {
    const client = stack.client({ fetch: () => Promise.reject(new TypeError("away")) });
    const large = await fails("result_too_large", stack.client().once("large", { maxBytes: 1 }).run(() => "large"));
    const held = await stack.client().lock("held").acquire();
    const refused = await fails("held", stack.client().lock("held", { wait: 0 }).acquire());
    await held.release();
    for (const why of [large, refused]) {
      let count = 0;
      const onNotKept = () => (count++, Promise.reject(why));
      const { handle } = counting(stack, () => new Response("done"), { client, wait: 20, ifUnavailable: "run", onNotKept });
      equal([(await thrown(handle(post("one")))) === why, count], [true, 1]);
    }
  },

  async a_body_that_cannot_be_kept_fails_for_its_reader_alone(stack) {
    const large = () => new Response(new ReadableStream({
      pull: (source) => source.enqueue(new Uint8Array(100_000)),
      cancel: () => Promise.reject(new Error("it cannot be cancelled")),
    }));
    equal(await unhandled(async () => {
      const { body } = await counting(stack, large).handle(post("one"));
      check(body !== null, "it has a body");
      equal(await body.cancel().catch(({ message }: Error) => message), "it cannot be cancelled");
    }), []);
    const text = () => new Response(new ReadableStream({ start: (source) => (source.enqueue("hello"), source.close()) }));
    const { message } = (await thrown(counting(stack, text).handle(post("two")))) as Error;
    check(message.includes("Uint8Array"), message);
    equal(await stack.redis("KEYS {~two}:result"), []);
  },

  async what_is_kept_and_is_no_response_is_told(stack) {
    const once = stack.client().once("one");
    const response = { status: 200, type: null, body: "" };
    const others = [null, 7, "x", [], {}, { ...response, status: 99 }, { ...response, status: 200.5 }, { ...response, status: "200" }, { ...response, body: 1 }, { ...response, headers: 7 }, { ...response, headers: [["a b", "x"]] }, { ...response, headers: [7] }, { ...response, body: "%", isBinary: true }];
    for (const value of others) {
      await once.run(() => value);
      equal((await fails("result_unreadable", counting(stack, never).handle(post("one")))).lock, `${stack.mark}one`);
      await stack.redis("DEL {~one}:result");
    }
  },

  async a_handler_under_way_is_a_conflict_and_another_request_with_its_key_is_told(stack) {
    let end!: (response: Response) => void;
    const { handle } = counting(stack, () => new Promise((resolve) => (end = resolve)), { wait: 0, fingerprint: (request) => request.clone().text() });
    const first = handle(post("one", "body"));
    await eventually(async () => (await stack.redis("EXISTS ~one")) === 1 && end !== undefined);
    const [same, other] = [await handle(post("one", "body")), await handle(post("one", "other"))];
    equal([same.status, Number(same.headers.get("retry-after")) > 0, other.status], [409, true, 422]);
    end(new Response("done"));
    equal([await (await first).text(), await (await handle(post("one", "body"))).text()], ["done", "done"]);
    equal((await handle(post("one", "other"))).status, 422);
  },
};

const post = (key: string | null, body = ""): Request => new Request("http://shop/", { method: "POST", body, headers: key === null ? {} : { "idempotency-key": key } });

function counting(stack: Stack, answer: (request: Request) => Response | Promise<Response>, options: Partial<IdempotentOptions<[]>> = {}) {
  let count = 0;
  const handler = (request: Request) => {
    count++;
    return answer(request);
  };
  const key = (request: Request) => request.headers.get("idempotency-key");
  return { handle: idempotent(handler, { client: stack.client(), key, ...options }), count: () => count };
}
