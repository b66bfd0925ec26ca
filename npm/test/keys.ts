// Which words of a command are keys: what the package knows, compared with what Redis itself says.
import { type Command, GroupCommit, type Word } from "edgelock";
import { check, equal, fails, type Stack, type Suite } from "./harness.js";

/** What `COMMAND` says of a command; the last ones are key specifications and subcommands. */
type Described = readonly [string, number, readonly string[], ...rest: readonly unknown[]];

/** Commands for operators, which nobody runs under a lock. */
const UNKNOWN = ["migrate", "pfdebug", "restore-asking"];

/** Calls that are ambiguous, in addition to those that are made from each command's description. */
const ODD = [
  "SORT k BY store ALPHA", "SORT k BY store GET store STORE d", "SORT k GET by STORE d LIMIT 0 1", "sort k store d", "SORT store",
  "GEORADIUS k 0 0 1 km STORE d STOREDIST e", "GEORADIUSBYMEMBER k store 1 km STOREDIST e",
  "XREAD COUNT 1 STREAMS a b 0 0", "XREAD STREAMS streams 0", "XREADGROUP GROUP STREAMS streams COUNT 1 STREAMS a b > >",
  "ZUNIONSTORE d 1 a WEIGHTS 2", "ZDIFF 2 a b WITHSCORES", "MSET a 1 b 2 c 3", "BITOP AND d a b c", "MEMORY USAGE k SAMPLES 5", "PFMERGE d a b",
];

/** A call of a command that fits its description. Each word is different. */
function call([name, arity, , ...rest]: Described): string[] {
  const least = Math.abs(arity) + (arity < 0 ? 3 : 0);
  const words = name.split("|");
  for (let at = words.length; at < least; at++) words.push(`word${at}`);
  for (const specification of rest[5] as readonly unknown[]) {
    const { begin_search: begin, find_keys: find } = fields(specification);
    const [from, how] = [fields(fields(begin)["spec"]), fields(fields(find)["spec"])];
    if (fields(find)["type"] === "keynum") words[Number(from["index"]) + Number(how["keynumidx"])] = "2";
    if (fields(begin)["type"] === "keyword") words.push(String(from["keyword"]), "key1", "key2", "id1", "id2");
  }
  return words;
}

/** An object from a list of names and values. */
function fields(list: unknown): Record<string, unknown> {
  const words = list as readonly unknown[];
  return Object.fromEntries(words.flatMap((name, at) => (at % 2 === 0 ? [[name, words[at + 1]]] : [])));
}

const offline = (stack: Stack) => stack.client({ fetch: () => Promise.reject(new Error("no network")), maxAttempts: 1 }).lock("a");

/** The words that the package wants marked as keys, one after another until all are. */
async function asked(stack: Stack, words: readonly string[]): Promise<string[]> {
  const lease = offline(stack).resume("a".repeat(22));
  const marked: Word[] = [...words];
  for (;;) {
    const error = await lease.exec([marked as unknown as Command]).then(() => undefined, (error: Error) => error);
    const place = Number(error?.message.match(/word (\d+) of command 0 \(.*\) is a key/)?.[1]);
    if (!place) break;
    check(typeof marked[place] === "string", `${words.join(" ")}: it is asked for once`);
    marked[place] = { key: String(words[place]) };
  }
  return words.filter((_, place) => typeof marked[place] === "object");
}

async function keysByRedis(stack: Stack, words: readonly string[]): Promise<unknown> {
  // Redis wants one word besides the name.
  if (words.length === 1) return [];
  return stack.redis(`COMMAND GETKEYS ${words.join(" ")}`).catch((error: Error) => {
    check(/no key arguments/.test(error.message), error.message);
    return [];
  });
}

export const keys: Suite = {
  async each_word_that_redis_takes_for_a_key_is_to_be_marked_and_no_other(stack) {
    const described = (await stack.redis("COMMAND")) as readonly Described[];
    check(described.length > 200, "it knows them all");
    const inner = (one: Described) => one[9] as readonly Described[];
    const callable = described.flatMap((one) => (inner(one).length > 0 ? inner(one) : [one]));
    const runnable = callable.filter(([name, , flags]) => !flags.includes("noscript") && !UNKNOWN.includes(name));
    const calls = [...runnable.map(call), ...ODD.map((words) => words.split(" "))];
    await Promise.all(calls.map(async (words) => equal([words, await asked(stack, words)], [words, await keysByRedis(stack, words)])));
  },

  async a_key_that_is_not_marked_is_refused_wherever_commands_are_taken(stack) {
    let sent = 0;
    const client = stack.client({ fetch: () => (sent++, Promise.reject(new Error("no network"))), maxAttempts: 1 });
    const [lock, lease] = [client.lock("a"), client.lock("a").resume("a".repeat(22))];
    const bad: readonly Command[] = [["TIME"], ["get", 42]];
    for (const call of [() => lease.exec(bad), () => lease.commit(bad), () => lock.acquireAndRead(bad), () => lock.tryAcquireAndRead(bad), () => client.read(bad)]) {
      const { message } = await fails("invalid_argument", call);
      check(message.startsWith('invalid argument: word 1 of command 1 (get) is a key: write it as { key: "…" }'), message);
    }
    const reading = new GroupCommit({ reads: () => bad, decide: () => ({ answer: 7 }) });
    await fails("invalid_argument", reading.submit(lock, 1));
    equal(sent, 0);
    const writing = new GroupCommit({ reads: () => [], decide: () => ({ answer: 7, writes: bad }) });
    await fails("invalid_argument", writing.submit(stack.lock("a"), 1));
    const ending = new GroupCommit({ reads: () => [], decide: () => ({ answer: 7 }), end: () => bad });
    await fails("invalid_argument", ending.submit(stack.lock("a"), 1));
    // Nobody knows the keys of these commands.
    await fails("unavailable", lease.exec([["SHOP.SELL", "sku:42"], ["TIME"]]));
  },
};
