// The promises of the lock, against a real bridge and a real Redis. Those of tests/it/contract.rs
// have the same names here. Those of every kind are in tests/it/every_kind.rs.
import { type Client, type Command, type FetchInit, CommandFailedError, HeldError, type Lock, type LockOptions, type Reply } from "edgelock";
import { check, equal, eventually, fails, Network, sleep, type Stack, type Suite, take } from "./harness.js";

const get = (key: string): Command => ["GET", { key }];
const incr = (key: string): Command => ["INCR", { key }];
/** A lock that asks once says so if another has it. */
const ONCE: LockOptions = { wait: 0 };

const stock = (stack: Stack): Command[] => [
  ["EXISTS", { key: `${stack.mark}nothing` }],
  get(`${stack.mark}stock`),
];

/** A lock of each kind that a single bridge can have, as `owner` asks for it. */
const kinds = (client: Client, owner: string): Lock[] => [
  client.lock("a"),
  client.lock("b", { fair: true }),
  client.lock("c", { signalList: "signal" }),
  client.reentrant("d", owner),
  client.semaphore("e", 1),
  client.readWrite("f").write(),
  client.lockAll(["g", "h"]),
  client.limits([{ name: "i", limit: 1 }, { name: "j", limit: 1 }]),
];

export const contract: Suite = {
  async a_free_lock_is_the_token_under_its_name_for_the_ttl(stack) {
    const lease = await take(stack.lock("sku:42", { ttl: 30_000 }));
    equal(await stack.redis("GET ~sku:42"), lease.token);
    const left = Number(await stack.redis("PTTL ~sku:42"));
    check(left > 20_000 && left <= 30_000, `${left} is the ttl`);
    // The ttl less 1 % and 2 ms, and less the time that the request took.
    check(lease.remaining <= 30_000 - 300 - 2 && lease.remaining > 20_000, `${lease.remaining} remain`);
    await lease.release();
    equal(await stack.redis("EXISTS ~sku:42"), 0);
    equal(lease.remaining, 0);
  },

  async a_ttl_is_not_truncated_to_seconds(stack) {
    const asked = performance.now();
    const lease = await take(stack.lock("a", { ttl: 60_999 }));
    const left = Number(await stack.redis("PTTL ~a"));
    const took = performance.now() - asked;
    check(left >= 60_998 - took && left <= 60_999, `${left} is the ttl, after ${took} ms`);
    await lease.release();
  },

  async a_ttl_is_4_ms_to_366_days_in_whole_milliseconds(stack) {
    const longest = 366 * 24 * 60 * 60 * 1_000;
    for (const ttl of [4, longest - 1, longest]) stack.lock("a", { ttl });
    for (const ttl of [0, 3, -1, longest + 1, 1.5, NaN, Infinity, "10" as unknown as number]) {
      await fails("invalid_argument", () => stack.lock("a", { ttl }));
    }
  },

  async a_lock_that_another_holds_is_held_for_what_is_left(stack) {
    const lock = stack.lock("a");
    const lease = await take(lock);
    equal(await lock.tryAcquire(), null);
    const error = await fails("held", stack.lock("a", ONCE).acquire());
    check(error instanceof HeldError, "held has its class");
    check(error.remaining !== null && error.remaining > 5_000 && error.remaining <= 10_000, `${error.remaining} remain`);
    check(error.retryAfter > 0 && error.ahead === 0 && !error.isOutcomeUnknown, "it says when to come back");
    await lease.release();
    await (await take(lock)).release();
  },

  async a_lock_of_another_program_on_the_same_key_excludes_and_is_excluded(stack) {
    const lock = stack.lock("a");
    await stack.redis("SET ~a theirs NX");
    equal((await fails("held", stack.lock("a", ONCE).acquire())).remaining, null);
    await stack.redis("DEL ~a");
    const lease = await take(lock);
    equal(await stack.redis("SET ~a theirs NX"), null);
    await lease.release();
  },

  async a_key_of_another_type_is_told_apart_and_left_alone(stack) {
    await stack.redis("RPUSH ~a x");
    const lock = stack.lock("a");
    await fails("wrong_type", lock.tryAcquire());
    await fails("wrong_type", lock.inspect());
    equal(await stack.redis("KEYS *~*"), [`${stack.mark}a`]);
  },

  async what_another_version_has_stored_is_refused_and_stays(stack) {
    await stack.store("{~a}:fence", "v2 something else");
    const lock = stack.lock("a");
    await fails("refused", lock.tryAcquire());
    await fails("refused", lock.inspect());
    equal(await stack.redis("GET {~a}:fence"), "v2 something else");
    equal(await stack.redis("KEYS *~*"), [`{${stack.mark}a}:fence`]);
  },

  async a_waiter_gets_the_lock_when_it_is_released(stack) {
    const lock = stack.lock("a", { wait: 20_000 });
    const first = await take(lock);
    let isReleased = false;
    const waiter = lock.acquire().then(async (second) => {
      check(isReleased && second.fence > first.fence, "it comes second");
      await second.release();
    });
    await eventually(async () => (await lock.inspect()).waiters === 1);
    isReleased = true;
    await first.release();
    await waiter;
  },

  async a_wait_of_nothing_is_one_try(stack) {
    const network = new Network();
    const lock = stack.client(network).lock("a", { wait: 0 });
    const lease = await lock.acquire();
    await fails("held", lock.acquire());
    equal(network.seen.length, 2);
    await lease.release();
  },

  async a_free_lock_is_had_however_short_the_wait(stack) {
    const late = async (url: string, init: FetchInit) => sleep(50).then(() => fetch(url, init));
    const lock = stack.client({ fetch: late }).lock("a", { wait: 1 });
    await (await lock.acquire()).release();
  },

  async a_wait_sends_no_more_requests_than_it_may(stack) {
    const lease = await take(stack.lock("a", { ttl: 60_000 }));
    // A lost request is sent again, and both count.
    const network = new Network("pass", "lose the request");
    // The lost request is not the last one, even if this host stands still for a second or two.
    const lock = stack.client({ ...network, push: false }).lock("a", { wait: 6_000, maxRequests: 6 });
    await fails("held", lock.acquire());
    // The last request leaves the queue.
    await eventually(async () => (await stack.lock("a").inspect()).waiters === 0);
    check(network.seen.length <= 6, "it sends no more than it may");
    await lease.release();
  },

  async a_wait_gets_the_lock_of_a_holder_that_died(stack) {
    const lock = stack.lock("a", { ttl: 2_000, wait: 20_000 });
    // The first holder never releases.
    const died = await take(lock);
    died.handOver();
    check((await lock.acquire()).fence > died.fence, "it comes second");
  },

  async a_wait_ends_by_its_deadline_and_leaves_nothing_behind(stack) {
    const lease = await take(stack.lock("a"));
    await fails("held", stack.lock("a", { wait: 300 }).acquire());
    await lease.release();
    // If it is handed the lock in its last moment, it hands it on in the background.
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0 && (await stack.waitersFor("a")) === 0);
  },

  async fences_grow_with_every_lease_and_across_lost_data(stack) {
    const lock = stack.lock("a");
    let last = 0;
    for (let round = 0; round < 6; round++) {
      const lease = await take(lock);
      check(lease.fence > last && Number.isSafeInteger(lease.fence), `${lease.fence} after ${last}`);
      last = lease.fence;
      equal(await stack.lastFence("a"), last);
      if (round % 2 === 0) await stack.redis("DEL ~a {~a}:fence");
      else await lease.release();
    }
    // As if the clock had gone back: the stored fence is ahead of it.
    await stack.redis(`SET {~a}:fence ${last + 1_000_000_000}`);
    await stack.redis("DEL ~a");
    equal((await take(lock)).fence, last + 1_000_000_001);
  },

  async every_companion_key_expires(stack) {
    const lock = stack.lock("a");
    const lease = await take(lock);
    await lease.exec([]);
    await lease.release();
    // The call is aborted while its request is under way, and abandoned in the background.
    const stop = new AbortController();
    const network = new Network("hang");
    const slow = stack.client(network).lock("b", { signal: stop.signal });
    const givenUp = slow.tryAcquire().catch(() => {});
    await eventually(() => network.seen.length === 1);
    stop.abort();
    await givenUp;
    await eventually(async () => ((await stack.redis("KEYS {~b}:gone:*")) as string[]).length === 1);
    const keys = (await stack.redis("KEYS *~*")) as string[];
    equal(keys.filter((key) => key.includes("receipt")).length, 1);
    for (const key of keys) check(Number(await stack.redis(`PTTL ${key}`)) > 0, `${key} expires`);
  },

  async a_fence_is_remembered_for_as_long_as_the_client_says(stack) {
    const [minute, week] = [60_000, 7 * 24 * 60 * 60 * 1_000];
    for (const [fenceLife, life] of [[minute, minute], [undefined, week]] as const) {
      await (await take(stack.client({ fenceLife }).lock("a"))).release();
      const left = Number(await stack.redis("PTTL {~a}:fence"));
      check(left >= life && left <= (life * 9) / 8 + 10_000, `it lasts for ${left} ms`);
    }
  },

  async a_renewed_lease_has_its_full_ttl_again(stack) {
    const lease = await take(stack.lock("a"));
    await stack.redis("PEXPIRE ~a 5000");
    const deadline = () => performance.now() + lease.remaining;
    const before = deadline();
    await sleep(50);
    await lease.renew();
    // The deadline may be up to 5 ms short, since hosts' clocks are in whole milliseconds.
    check(deadline() >= before + 45, "it has more than before");
    check(Number(await stack.redis("PTTL ~a")) > 5_000, "and in Redis too");
    await lease.release();
  },

  async a_lease_that_is_no_longer_held_is_lost_and_touches_nothing(stack) {
    const lock = stack.lock("a");
    const commands = [incr(`${stack.mark}n`)];
    for (const call of ["renew", "exec", "commit", "release"] as const) {
      const lease = await take(lock);
      await stack.redis("SET ~a another");
      await fails("lost", call === "renew" || call === "release" ? lease[call]() : lease[call](commands));
      // The lease stays lost, whatever Redis has later.
      await stack.redis(`SET ~a ${lease.token}`);
      await fails("lost", lease.renew());
      await stack.redis("DEL ~a");
    }
    equal(await stack.redis("EXISTS ~n"), 0);
  },

  async a_lock_that_turned_into_another_type_is_lost(stack) {
    const lease = await take(stack.lock("a"));
    await stack.redis("DEL ~a");
    await stack.redis("RPUSH ~a x");
    await fails("lost", lease.release());
    equal(await stack.redis("TYPE ~a"), "list");
  },

  async past_its_deadline_a_lease_is_expired_and_sends_nothing(stack) {
    const network = new Network();
    const lease = await take(stack.client(network).lock("a", { ttl: 1_000 }));
    await stack.redis("PEXPIRE ~a 60000");
    await eventually(() => lease.signal.aborted);
    const sent = network.seen.length;
    await fails("expired", lease.renew());
    await fails("expired", lease.exec([]));
    await fails("expired", lease.commit([]));
    equal(network.seen.length, sent);
    // The release is sent all the same: here Redis keeps the lock much longer.
    await lease.release();
    await fails("released", lease.release());
    equal(network.seen.length, sent + 1);
  },

  async a_section_that_reads_and_writes_costs_two_requests(stack) {
    const key = `{${stack.mark}a}:stock`;
    await stack.redis(`SET ${key} 7`);
    const network = new Network();
    const [lease, replies] = await stack.client(network).lock("a").acquireAndRead([get(key)]);
    equal(replies, ["7"]);
    equal(await lease.commit([["SET", { key }, Number(replies[0]) - 1]]), ["OK"]);
    equal(network.seen.length, 2);
    equal(await stack.redis(`GET ${key}`), "6");
    equal(await stack.redis("EXISTS ~a"), 0);
    // The scripts declare the keys of the user's commands.
    equal(network.seen[0]?.filter((word) => word === key).length, 2);
    await fails("released", lease.release());
  },

  async exec_runs_under_the_lease_and_renews_it(stack) {
    const lease = await take(stack.lock("a"));
    await stack.redis("PEXPIRE ~a 5000");
    for (const n of [1, 2, 3]) equal(await lease.exec([incr(`${stack.mark}n`)]), [n]);
    check(Number(await stack.redis("PTTL ~a")) > 5_000, "it was renewed");
    await lease.release();
    await fails("released", lease.exec([]));
  },

  async an_acquisition_only_reads(stack) {
    await fails("invalid_argument", stack.lock("a").acquireAndRead([["incr", { key: `${stack.mark}n` }]]));
    await fails("invalid_argument", stack.lock("a").tryAcquireAndRead([["incr", { key: `${stack.mark}n` }]]));
    equal(await stack.redis("KEYS *~*"), []);
  },

  async a_read_that_fails_gives_the_lock_back(stack) {
    await stack.redis("RPUSH ~list x");
    const error = await fails("command_failed", stack.lock("a", { ttl: 600_000 }).acquireAndRead([["TIME"], get(`${stack.mark}list`)]));
    check(error.index === 1 && error.message.includes("WRONGTYPE"), error.message);
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
  },

  async a_try_that_reads_takes_a_free_lock(stack) {
    await stack.redis("SET ~stock 7");
    const network = new Network();
    for (const lock of kinds(stack.client(network), "we")) {
      const sent = network.seen.length;
      const [lease, replies] = await lock.tryAcquireAndRead(stock(stack));
      check(lease !== null && lease.fence > 0 && lease.remaining > 0, "it is free");
      equal(replies, [0, "7"]);
      await lease.commit([]);
      equal(network.seen.length, sent + 2);
      equal((await lock.inspect()).holder, null);
      // The same without anything to read.
      const [again, none] = await lock.tryAcquireAndRead([]);
      await again?.release();
      check(again !== null && none.length === 0, "it is free again");
    }
  },

  async a_refusal_brings_what_its_reads_found(stack) {
    const network = new Network();
    const others = kinds(stack.client(network), "they");
    for (const [place, lock] of kinds(stack.client(), "we").entries()) {
      const other = others[place] as Lock;
      const lease = await take(lock);
      const sent = network.seen.length;
      for (const left of [7, 6]) {
        await lease.exec([["SET", { key: `${stack.mark}stock` }, left]]);
        equal(await other.tryAcquireAndRead(stock(stack)), [null, [0, `${left}`]]);
      }
      equal(await other.tryAcquireAndRead([]), [null, []]);
      // One request for each try: it does not queue, and has nothing to give up.
      equal(network.seen.length, sent + 3);
      equal((await lock.inspect()).waiters, 0);
      await lease.release();
    }
  },

  async a_try_that_reads_and_whose_answer_is_lost_is_asked_again(stack) {
    await stack.redis("SET ~stock 7");
    for (const [place, lock] of kinds(stack.client(), "we").entries()) {
      for (const fate of ["lose the answer", "lose the request"] as const) {
        const network = new Network(fate, "pass", fate);
        const tried = kinds(stack.client(network), "they")[place] as Lock;
        const [lease, replies] = await tried.tryAcquireAndRead(stock(stack));
        equal(replies, [0, "7"]);
        equal(network.seen.length, 2);
        // The fence of the grant whose reply was lost: no other was issued.
        equal((await lock.inspect()).fence, lease?.fence);
        lease?.handOver();
        check(await lock.forceRelease(), "it was held");

        const held = await take(lock);
        equal(await tried.tryAcquireAndRead(stock(stack)), [null, [0, "7"]]);
        // The lost try may arrive late, so its token is abandoned.
        await eventually(() => network.seen.length === 5);
        await held.release();
      }
    }
  },

  async a_try_whose_read_fails_has_no_lock_and_leaves_another_its_own(stack) {
    await stack.redis("RPUSH ~stock x");
    const others = kinds(stack.client(), "they");
    for (const [place, lock] of kinds(stack.client(), "we").entries()) {
      const other = others[place] as Lock;
      const lease = await take(lock);
      const refused = await fails("command_failed", other.tryAcquireAndRead(stock(stack)));
      check(refused.index === 1, "it says which");
      await lease.renew();
      await lease.release();
      await fails("command_failed", other.tryAcquireAndRead(stock(stack)));
      await (await lock.acquire()).release();
    }
  },

  async a_write_that_fails_says_which_and_the_others_stand(stack) {
    await stack.redis("RPUSH ~list x");
    const lease = await take(stack.lock("a"));
    const [n, list] = [incr(`${stack.mark}n`), incr(`${stack.mark}list`)];
    const error = await fails("command_failed", lease.commit([n, list, n]));
    check(error.index === 1, "it says which");
    equal(await stack.redis("GET ~n"), "2");
    equal(await stack.redis("EXISTS ~a"), 0);
    await fails("released", lease.release());
  },

  async a_call_that_waits_for_a_lease_of_its_process_is_told_so_and_not_that_its_client_has_it(stack) {
    const lease = await take(stack.lock("a"));
    // As another request makes it anew.
    const held = await fails("held", stack.lock("a", { wait: 50 }).acquire());
    check(held.message.startsWith(`lock "${stack.mark}a" is held by another lease of this process (`), held.message);
    await lease.release();
  },

  async every_error_of_a_lock_names_it_and_a_failed_command_names_that(stack) {
    const key = `${stack.mark}sku:42`;
    const lock = stack.lock("sku:42");
    const lease = await take(lock);
    const held = await fails("held", stack.lock("sku:42", ONCE).acquire());
    check(held instanceof HeldError && held.requests === 1, "it says what it cost");
    equal(held.message, `lock "${key}" is held by another owner (expires in ${held.remaining} ms)`);
    await stack.redis("RPUSH ~list secret");
    const list = { key: `${stack.mark}list` };
    const failed = await fails("command_failed", lease.exec([get(`${stack.mark}n`), ["SETRANGE", list, 0, "secret"]]));
    check(failed instanceof CommandFailedError && failed.index === 1 && failed.command === "SETRANGE", "it says which");
    check(failed.message.startsWith(`command 1, "SETRANGE", failed under lock "${key}": WRONGTYPE`), failed.message);
    check(!failed.message.includes("secret"), failed.message);
    const [, second] = await Promise.allSettled([lease.exec([]), lease.exec([])]);
    const busy = await fails("busy", () => { if (second.status === "rejected") throw second.reason; });
    await lease.release();
    const released = await fails("released", lease.renew());
    const lost = await take(lock);
    check(await lock.forceRelease(), "it was held");
    const gone = await fails("lost", lost.renew());
    await stack.redis("RPUSH ~sku:42 x");
    const wrongType = await fails("wrong_type", lock.tryAcquire());
    for (const error of [held, failed, busy, released, gone, wrongType]) {
      equal(error.lock, key);
      check(error.message.includes(`"${key}"`), error.message);
    }
    // Errors that the TypeScript side makes itself have the same words.
    const handedOver = stack.lock("b\n");
    const left = await take(handedOver);
    left.handOver();
    const over = await fails("released", left.renew());
    equal(over.message, `the lease of lock "${stack.mark}b\\u{a}" was already released`);
    // A read without a lock has no lock to name.
    const read = await fails("command_failed", stack.client().read([get(`${stack.mark}list`)]));
    equal(read.lock, undefined);
    check(read.message.startsWith('command 0, "GET", failed: WRONGTYPE'), read.message);
  },

  async every_reply_of_redis_arrives_as_it_is(stack) {
    const text = 'naïve ☃ "quoted" \\ \r\n %41 \u0000';
    const key = (name: string) => ({ key: stack.mark + name });
    const lease = await take(stack.lock("a"));
    const replies: Reply[] = await lease.exec([
      ["SET", key("utf8"), text], ["GET", key("utf8")],
      ["SETBIT", key("bytes"), 0, 1], ["GET", key("bytes")], ["GET", key("nothing")],
      ["SET", key("empty"), ""], ["GET", key("empty")],
      ["INCRBY", key("n"), -9_007_199_254_740_991n],
      ["RPUSH", key("l"), "x", "yy"], ["LRANGE", key("l"), 0, -1],
      ["GEOADD", key("g"), "1.5", "2.5", "here"], ["GEOPOS", key("g"), "nowhere", "nor here"],
    ]);
    const bytes = new Uint8Array([128]);
    equal(replies, ["OK", text, 0, bytes, null, "OK", "", -9_007_199_254_740_991, 2, ["x", "yy"], 1, [null, null]]);
    // Scripts do not nest: that is a clear error.
    await fails("command_failed", lease.exec([["EVAL_RO", "return 1", 0]]));
    await lease.release();
  },

  async integers_arrive_with_every_digit_or_are_said_to_be_rounded(stack) {
    const key = (name: string) => ({ key: stack.mark + name });
    const [most, least] = [9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n];
    const lease = await take(stack.lock("a"));
    const counted: Reply[] = await lease.exec([
      ["INCRBY", key("n"), 9_007_199_254_740_993n], ["incr", key("n")],
      ["DECRBY", key("m"), most], ["Decr", key("m")],
      ["HINCRBY", key("h"), "a field", most], ["INCRBY", key("small"), Number.MAX_SAFE_INTEGER],
    ]);
    equal(counted, [9_007_199_254_740_993n, 9_007_199_254_740_994n, -most, least, most, Number.MAX_SAFE_INTEGER]);
    // Of others only a double is known.
    const others = await lease.exec([
      ["PEXPIRE", key("m"), 18_014_398_509_481_986n],
      ["BITFIELD", key("bits"), "INCRBY", "i64", 0, 9_007_199_254_740_993n, "GET", "u8", 0],
    ]);
    equal(others, [1, [{ rounded: 9_007_199_254_740_992 }, 0]]);
    equal(await lease.commit([["INCRBY", key("n"), 1n]]), [9_007_199_254_740_995n]);
    const reads: Command[] = [["GET", key("n")], ["HGET", key("h"), "a field"], ["PTTL", key("m")]];
    const [again, read] = await stack.lock("a").acquireAndRead(reads);
    for (const replies of [read, await stack.client().read(reads)]) equal(replies.slice(0, 2), ["9007199254740995", String(most)]);
    check(typeof Object(read[2]).rounded === "number", "how long it lives is told as rounded");
    await again.release();
    // What others store is inspected alike.
    await stack.store("{~b}:fence", "v1 9007199254740993 604800000 ,");
    await stack.redis("HSET ~b x 9007199254740993");
    const { fence, holder } = await stack.client().reentrant("b", "me").inspect();
    equal([fence, holder?.count], [9_007_199_254_740_993n, 9_007_199_254_740_993n]);
    await stack.redis("SET ~c x PX 9007199254740993");
    const held = await fails("held", stack.lock("c", ONCE).acquire());
    check(held.remaining !== null && held.remaining > 9e15, "it is held for so long");
  },

  async reads_without_a_lock_are_one_request(stack) {
    await stack.redis("MSET ~a 1 ~b 2");
    const network = new Network();
    const client = stack.client(network);
    equal(await client.read([get(`${stack.mark}a`), get(`${stack.mark}b`)]), ["1", "2"]);
    equal(network.seen.length, 1);
    await fails("invalid_argument", client.read([["DEL", { key: "a" }]]));
  },

  async inspection_says_who_holds_for_how_long_and_the_last_fence(stack) {
    const lock = stack.lock("a");
    equal(await lock.inspect(), { holder: null, holders: [], free: null, confirmed: null, isRead: false, fence: null, waiters: 0, quarantineRemaining: null });
    const lease = await take(lock);
    const { holder, fence } = await lock.inspect();
    check(holder !== null && holder.remaining !== null && holder.remaining > 5_000, "it is held");
    equal([holder.token, holder.count, fence], [lease.token, 1, lease.fence]);
    check(!JSON.stringify(holder).includes(lease.token), "the token does not show");
    await lease.release();
  },

  async the_holders_label_is_told_to_callers_that_find_the_lock_held_and_to_those_that_inspect_it(stack) {
    const label = "worker 7, 100 % ü";
    const lease = await take(stack.lock("a", { label }));
    const held = await fails("held", stack.lock("a", ONCE).acquire());
    check(held instanceof HeldError && held.label === label && held.message.includes(`is held by "${label}" (`), held.message);
    equal((await stack.lock("a").inspect()).holder?.label, label);
    await lease.release();
    const next = await take(stack.lock("a"));
    equal((await fails("held", stack.lock("a", ONCE).acquire())).label, null);
    await next.release();
  },

  async a_label_has_up_to_128_bytes_and_a_reentrant_lock_none(stack) {
    stack.lock("a", { label: "ü".repeat(64) });
    for (const odd of ["x".repeat(129), 7 as unknown as string, "\ud800"]) await fails("invalid_argument", () => stack.lock("a", { label: odd }));
    const labelled: LockOptions = { label: "x" };
    await fails("invalid_argument", () => stack.client().reentrant("a", "me", labelled));
  },

  async a_forced_release_frees_the_lock_and_the_holder_learns_it(stack) {
    const lock = stack.lock("a");
    equal(await lock.forceRelease(), false);
    const lease = await take(lock);
    equal(await lock.forceRelease(), true);
    await fails("lost", lease.renew());
  },

  async a_lease_goes_on_in_another_handler_by_its_token(stack) {
    const lease = await take(stack.lock("a"));
    const commands = [incr(`${stack.mark}n`)];
    await lease.exec(commands);
    const resumed = stack.lock("a").resume(lease.token);
    equal([resumed.remaining, resumed.fence], [0, 0]);
    check(!resumed.signal.aborted, "it is not known to be over");
    await resumed.renew();
    check(resumed.remaining > 5_000, "it goes on");
    // Its first write is not taken for a repeat of the first lease's first write.
    equal(await resumed.commit(commands), [2]);
    equal(resumed.fence, lease.fence);
    await fails("lost", lease.renew());
    equal(await stack.redis("GET ~n"), "2");
  },

  async a_renewal_gives_what_the_lock_was_acquired_for_unless_told(stack) {
    const lease = await take(stack.lock("a", { ttl: 60_000 }));
    const { fence } = lease;
    // The resuming handler need not know for how long the lock was acquired.
    const resumed = stack.lock("a").resume(lease.handOver());
    for (const renew of [() => resumed.renew(), () => resumed.exec([])]) {
      await stack.redis("PEXPIRE ~a 5000");
      await renew();
      check(Number(await stack.redis("PTTL ~a")) > 50_000, "it has what it was acquired for");
      check(resumed.remaining > 50_000 && resumed.remaining < 60_000, `${resumed.remaining} remain`);
      equal(resumed.fence, fence);
    }
    // If it asks for another ttl, it gets that.
    const told = stack.lock("a", { ttl: 90_000 }).resume(resumed.handOver());
    await told.renew();
    check(Number(await stack.redis("PTTL ~a")) > 80_000 && told.remaining > 80_000, "it has what was told");
    await told.release();
  },

  async a_renewal_for_another_ttl_gives_that_once_and_cuts_nothing_short(stack) {
    const pttl = async () => Number(await stack.redis("PTTL ~a"));
    const lease = await take(stack.lock("a", { ttl: 20_000 }));
    await lease.renew({ ttl: 60_000 });
    check((await pttl()) > 50_000 && lease.remaining > 50_000 && lease.remaining < 60_000, "it has what was asked for");
    await lease.renew();
    check((await pttl()) > 50_000 && lease.remaining > 50_000, "that is not cut short");
    // A resumed lease renews for what the lock was acquired for.
    const resumed = stack.lock("a").resume(lease.handOver());
    await stack.redis("PEXPIRE ~a 1000");
    await resumed.renew({ ttl: 5_000 });
    const left = await pttl();
    check(left > 4_000 && left <= 5_000 && resumed.remaining > 4_000 && resumed.remaining < 5_000, `${left} left`);
    await resumed.renew();
    check((await pttl()) > 15_000, "it has its own again");
    for (const ttl of [3, 366 * 86_400_000 + 1]) await fails("invalid_argument", resumed.renew({ ttl }));
    await resumed.release();
  },

  async a_renewal_that_is_overtaken_shortens_nothing(stack) {
    const lock = stack.lock("a", { ttl: 60_000 });
    const lease = await take(lock);
    // However late it comes, a renewal for 5 s does not shorten what a renewal for 60 s gave.
    const late = stack.lock("a", { ttl: 5_000 }).resume(lease.token);
    await lease.renew();
    await late.renew();
    check(late.remaining <= 5_000, "that is what it may count on");
    check(Number(await stack.redis("PTTL ~a")) > 50_000 && lease.remaining > 50_000, "it has what the other gave");
    await lease.release();
  },

  async names_with_a_prefix_or_a_hash_tag_lock_the_key_of_that_name(stack) {
    const long = "ü".repeat(240);
    const names = [
      ["sku:42", "~sku:42", "{~sku:42}:fence"],
      ["a:{42}:b", "~a:{42}:b", "~a:{42}:b:fence"],
      [long, `~${long}`, `{~${long}}:fence`],
    ] as const;
    for (const [name, key, fence] of names) {
      const lease = await take(stack.lock(name));
      equal(await stack.redis(`GET ${key}`), lease.token);
      equal(await stack.redis(`EXISTS ${fence}`), 1);
      await lease.release();
    }
  },

  async overlapping_writes_of_one_lease_are_refused_and_overlapping_renewals_are_not(stack) {
    const lease = await take(stack.lock("a"));
    const first = lease.exec([]);
    const second = fails("busy", lease.exec([]));
    const renewal = lease.renew();
    await Promise.all([first, second, renewal]);
    await lease.release();
  },

  async scripts_that_ask_for_key_locking_run_too(stack) {
    await (await take(stack.client({ keyLocking: true }).lock("a"))).release();
  },

  async contenders_are_never_inside_together_and_all_get_their_turn(stack) {
    const [contenders, turns] = [12, 5];
    const key = `{${stack.mark}a}:n`;
    let inside = 0;
    const contend = async (client: Client) => {
      for (let turn = 0; turn < turns; turn++) {
        const [lease, [n]] = await client.lock("a", { wait: 40_000, maxRequests: 10_000 }).acquireAndRead([get(key)]);
        equal(++inside, 1);
        await sleep(1);
        inside--;
        await lease.commit([["SET", { key }, Number(n ?? 0) + 1]]);
      }
    };
    await Promise.all(Array.from({ length: contenders }, () => contend(stack.client())));
    equal(await stack.redis(`GET ${key}`), String(contenders * turns));
  },
};
