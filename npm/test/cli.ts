// The command-line tool of the installed package, over the real bridge.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { constants } from "node:os";
import { between } from "./between.js";
import { check, equal, eventually, run, type Stack, type Suite, take } from "./harness.js";
import { edgelock, type Ended, program, Tool } from "./tool.js";

/** A ttl that is longer than any test. */
const LONG = { ttl: 60_000 };
/** A host that stands still for a second or two does not lose such a lock. */
const SHORT = "6s";
const LONGER_MS = 6_500;
const FOR_EVER = "echo ready; exec sleep 60";
const LOOP = "while :; do sleep 0.05; done";

const isFree = async (stack: Stack, name = "a"): Promise<boolean> => (await stack.lock(name).inspect()).holder === null;

/** Runs a shell's text under the test's lock, and waits until it says that it is ready. */
async function ready(stack: Stack, text: string, options: readonly string[] = [], variables = {}): Promise<Tool> {
  const tool = new Tool(["run", ...options, `${stack.mark}a`, "--", "sh", "-c", text], variables);
  await tool.wrote("ready");
  return tool;
}

/** Checks the exit code. Standard error must say what went wrong, and what to do. */
function refused({ code, out, err }: Ended, expected: number, said: RegExp): void {
  check(code === expected && said.test(err) && out === "", `${code}: ${out}${err}`);
}

const runs: Suite = {
  async a_command_runs_under_the_lock_with_its_fence_and_the_lock_is_free_afterwards(stack) {
    const seen: number[] = [];
    for (let i = 0; i < 2; i++) {
      const { code, out, err } = await edgelock(["run", `${stack.mark}a`, "--", "sh", "-c", "echo $EDGELOCK_FENCE"]);
      equal([code, err], [0, ""]);
      seen.push(Number(out));
      check(await isFree(stack), "it was given back");
    }
    check(0 < seen[0]! && seen[0]! < seen[1]!, `the fence grows: ${seen}`);
  },

  async a_command_has_its_arguments_as_they_are_and_its_input(stack) {
    const tool = new Tool(["run", `${stack.mark}a`, "--", "sh", "-c", 'read line; echo "$line|$1|$2"', "sh", "--help", "two words"]);
    tool.type("typed\n");
    equal(await tool.ended, { code: 0, out: "typed|--help|two words\n", err: "" });
  },

  async an_argument_that_node_changes_is_refused(stack) {
    const name = `${stack.mark}a`;
    const given = (bytes: string) => new Tool(["-c", `exec "$0" run "$1" -- printf %s "$(printf '${bytes}')"`, program, name], {}, "sh").ended;
    refused(await given("caf\\351"), 64, /UTF-8/);
    equal(await given("caf\\303\\251 \\357\\277\\275"), { code: 0, out: "caf\u00e9 \ufffd", err: "" });
  },

  async the_exit_code_is_that_of_the_command(stack) {
    const name = `${stack.mark}a`;
    equal((await edgelock(["run", name, "--", "sh", "-c", "exit 7"])).code, 7);
    equal((await edgelock(["run", name, "--", "sh", "-c", "kill -KILL $$"])).code, 137);
    refused(await edgelock(["run", name, "--", "no-such-command"]), 127, /no command "no-such-command"/);
    for (const file of ["/dev/null", "/dev/null/x"]) refused(await edgelock(["run", name, "--", file]), 126, /cannot be executed/);
    check(await isFree(stack), "it was given back");
  },

  async what_is_no_lock_of_a_command_is_not_to_be_waited_for(stack) {
    await stack.redis("SET ~data x");
    refused(await edgelock(["run", "--wait", "0", `${stack.mark}data`, "--", "true"]), 75, /never expires[^]*another name[^]*--endless/);
    await stack.redis("LPUSH ~list x");
    refused(await edgelock(["run", `${stack.mark}list`, "--", "true"]), 64, /use another name/);
  },

  async a_lock_that_another_has_is_waited_for_and_then_given_up_with_75(stack) {
    const lease = await take(stack.lock("a", { ...LONG, label: "the other" }));
    refused(await edgelock(["run", "--wait", "0", `${stack.mark}a`, "--", "echo", "ran"]), 75, /(held.*the other|the other.*held)[^]*--wait 5m/);
    const waiting = new Tool(["run", "--wait", "forever", `${stack.mark}a`, "--", "echo", "ran"]);
    await eventually(async () => (await stack.lock("a").inspect()).waiters === 1);
    await lease.release();
    equal(await waiting.ended, { code: 0, out: "ran\n", err: "" });
  },

  async a_signal_during_the_wait_leaves_the_queue_and_runs_nothing(stack) {
    await using _lease = await take(stack.lock("a", LONG));
    const waiting = new Tool(["run", "--wait", "forever", `${stack.mark}a`, "--", "echo", "ran"]);
    await eventually(async () => (await stack.lock("a").inspect()).waiters === 1);
    waiting.kill("SIGTERM");
    refused(await waiting.ended, 143, /SIGTERM/);
    equal((await stack.lock("a").inspect()).waiters, 0);
  },

  async signals_are_passed_on_and_the_lock_is_kept_until_the_command_has_ended(stack) {
    const tool = await ready(stack, `trap 'echo one' USR1; trap 'echo two; read line; exit 7' TERM; echo ready; ${LOOP}`);
    tool.kill("SIGUSR1");
    await tool.wrote("one");
    tool.kill("SIGTERM");
    await tool.wrote("two");
    check(!(await isFree(stack)), "it is held while the command tidies up");
    tool.type("\n");
    equal((await tool.ended).code, 7);
    check(await isFree(stack), "it was given back");
  },

  async a_signal_that_ends_most_programs_ends_the_command_before_the_lock_is_free(stack) {
    const everywhere = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
    // macOS has not all of them, and ignores one.
    const onLinux = ["SIGABRT", "SIGALRM", "SIGVTALRM", "SIGXCPU", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGSYS"] as const;
    for (const signal of process.platform === "linux" ? [...everywhere, ...onLinux] : everywhere) {
      const tool = await ready(stack, FOR_EVER);
      tool.kill(signal);
      equal([signal, (await tool.ended).code], [signal, 128 + constants.signals[signal]]);
      check(await isFree(stack), "it was given back");
    }
  },

  async the_keys_of_a_terminal_are_left_to_it(stack) {
    // A command in a session of its own gets no keys, so a signal that comes was passed on.
    const count = 'let n = 0; process.on("SIGINT", () => n++).on("SIGUSR1", () => process.exit(console.log("told " + n))); console.log("ready " + process.ppid); setInterval(() => {}, 1000)';
    const tool = Tool.onTerminal(["run", `${stack.mark}a`, "--", "setsid", process.execPath, "--eval", count]);
    await tool.wrote("ready");
    tool.type("\x03");
    await tool.wrote("^C");
    process.kill(Number(/ready (\d+)/.exec(tool.out)![1]), "SIGUSR1");
    await tool.wrote("told 0");
    equal((await tool.ended).code, 0);
  },

  async in_the_background_of_a_terminal_the_signals_of_its_keys_are_passed_on_as_others(stack) {
    const count = 'process.on("SIGINT", () => process.exit(console.log("told"))); console.log("ready " + process.ppid); setInterval(() => {}, 1000)';
    const tool = Tool.onTerminal(["run", `${stack.mark}a`, "--", process.execPath, "--eval", count], true);
    await tool.wrote("ready");
    process.kill(Number(/ready (\d+)/.exec(tool.out)![1]), "SIGINT");
    await tool.wrote("told");
    await tool.ended;
    check(await isFree(stack), "it was given back");
  },

  async a_name_that_begins_with_a_dash_stands_behind_two(stack) {
    const name = `-${stack.mark}a`;
    const command = ["sh", "-c", 'echo "$1"', "sh", "--"];
    equal(await edgelock(["run", "--ttl", "60s", "--", name, "--", ...command]), { code: 0, out: "--\n", err: "" });
    const { out } = await edgelock(["inspect", "--", name]);
    check(out.startsWith(`lock ${JSON.stringify(name)}: free; fence `), out);
    equal((await edgelock(["inspect", "--", `-token:${stack.mark}`])).code, 0);
    for (const args of [["run", name, "--", "echo"], ["inspect", name]]) {
      refused(await edgelock(args), 64, /Put -- before a name that begins with -/);
    }
    refused(await edgelock(["run", "--", name, "--"]), 64, /run what/);
  },
};

/** What becomes of a command, run with these options, once its lease or its bridge is gone. */
type Loss = readonly [command: string, options: readonly string[], gone: "lease" | "bridge", code: number, said: RegExp, out?: string];
const LOSSES: Readonly<Record<string, Loss>> = {
  a_loss_that_shows_when_the_command_has_ended_is_told: ["echo ready; read line", ["--ttl", "60s"], "lease", 79, /lost before the command ended/],
  a_bridge_that_is_away_at_the_end_does_not_change_the_exit_code_of_the_command: ["echo ready; read line; exit 3", ["--ttl", "60s"], "bridge", 3, /could not be given back/],
  a_lost_lease_stops_the_command_and_has_an_exit_code_of_its_own: [`trap 'echo told; exit 0' TERM; echo ready; ${LOOP}`, ["--ttl", SHORT], "lease", 79, /told to stop: .*lost/, "told"],
  a_command_that_ignores_the_loss_is_killed: [`trap '' TERM; echo ready; ${LOOP}`, ["--ttl", SHORT, "--kill-after", "200ms"], "lease", 79, /is killed/],
  a_bridge_that_goes_away_while_the_command_runs_costs_the_lease_in_the_end: [FOR_EVER, ["--ttl", SHORT], "bridge", 79, /told to stop/],
};

const becomes = ([command, options, gone, code, said, told = ""]: Loss) => async (stack: Stack) => {
  const bridge = await between(stack.bridge.url);
  const tool = await ready(stack, command, options, { EDGELOCK_BRIDGE_URL: bridge.url });
  await (gone === "lease" ? stack.lock("a").forceRelease() : bridge.close());
  // Commands that read end then.
  tool.type("\n");
  const ended = await tool.ended;
  bridge.close();
  check(ended.code === code && said.test(ended.err) && ended.out.includes(told), `${ended.code}: ${ended.out}${ended.err}`);
};

/** These tests wait for time to pass, so they run side by side. */
const waits: Suite = {
  ...Object.fromEntries(Object.entries(LOSSES).map(([name, loss]) => [name, becomes(loss)])),

  async a_lease_is_renewed_while_the_command_runs_and_has_a_label(stack) {
    const tool = await ready(stack, "echo ready; read line", ["--ttl", SHORT, "--label", "nightly"]);
    const first = (await stack.lock("a").inspect()).fence;
    const begin = performance.now();
    await eventually(() => performance.now() - begin > LONGER_MS);
    const { holder, fence } = await stack.lock("a").inspect();
    equal([holder?.label, fence], ["nightly", first]);
    tool.type("\n");
    equal((await tool.ended).code, 0);
  },

  async a_watch_asks_once_a_second_and_outlives_a_bridge_that_is_away(stack) {
    let [asked, isAway] = [0, false];
    const bridge = await between(stack.bridge.url, (_, response) => ({
      behind() {
        asked++;
        if (isAway) response.destroy();
        return isAway;
      },
    }));
    const begin = performance.now();
    const tool = new Tool(["watch", "--url", bridge.url, `${stack.mark}a`]);
    await tool.wrote(": free; ");
    isAway = true;
    await tool.wrote("unavailable");
    isAway = false;
    await eventually(() => tool.out.split(": free; ").length === 3);
    await eventually(() => asked >= 7);
    tool.kill("SIGINT");
    await tool.ended;
    bridge.close();
    // A slow host asks less often, never more often. Timers are exact to a millisecond.
    const most = 1 + (performance.now() - begin) / 999;
    check(asked <= most, `${asked} requests, of ${most} at most`);
  },
};

const shows: Suite = {
  async a_count_that_another_program_keeps_is_shown_with_every_digit(stack) {
    await stack.redis("HSET ~a owner 9007199254740993");
    const { out } = await edgelock(["inspect", "--json", `${stack.mark}a`]);
    const { holders } = JSON.parse(out) as { holders: Array<{ count: unknown }> };
    equal(holders[0]?.count, "9007199254740993");
  },

  async the_holder_is_shown_for_readers_and_for_machines(stack) {
    const name = `${stack.mark}a`;
    const lease = await take(stack.lock("a", { ...LONG, label: "web-1\x1b[2J" }));
    const shown = await edgelock(["inspect", name]);
    check(/^lock ".*a": held by "web-1\\u\{1b\}\[2J", \d+\.\d s left; fence \d+; 0 waiters\n$/.test(shown.out), shown.out);
    const { out } = await edgelock(["inspect", "--json", name]);
    const { holders, ...rest } = JSON.parse(out) as { holders: Array<{ remaining: number }> };
    equal(rest, { name, state: "held", fence: lease.fence, waiters: 0 });
    check(holders.length === 1 && holders[0]!.remaining > 0, out);
    check(!(shown.out + out).includes(lease.token), "no token is shown");
    await lease.release();
    const free = await edgelock(["inspect", name]);
    check(free.code === 0 && free.out.includes(`: free; fence ${lease.fence}`), free.out);
  },

  async a_lock_of_each_kind_is_shown_and_freed(stack) {
    const client = stack.client();
    const kinds = {
      lock: [client.lock("lock", LONG), /held by a holder/],
      reads: [client.readWrite("reads").read({ ...LONG, label: "r" }), /read by "r", .* and "r", /],
      writes: [client.readWrite("writes").write(LONG), /held by a holder/],
      semaphore: [client.semaphore("semaphore", 3, { ...LONG, label: "s" }), /held by "s", .* and "s", /],
      reentrant: [client.reentrant("reentrant", "an-owner", LONG), /held by a holder without a label, 2 times/],
    } as const;
    for (const [name, [lock, said]] of Object.entries(kinds)) {
      const leases = [await lock.tryAcquire(), await lock.tryAcquire()];
      check(leases[0] !== null, "the lock is free");
      const { out } = await edgelock(["inspect", stack.mark + name]);
      check(said.test(out) && !out.includes("an-owner"), out);
      const freed = await edgelock(["release", "--force", "--yes", stack.mark + name]);
      check(freed.code === 0 && freed.out.includes("was freed"), freed.out + freed.err);
      equal((await lock.inspect()).holders.length, 0);
    }
  },

  async data_that_is_no_lock_is_not_shown_as_one(stack) {
    await stack.redis("RPUSH ~a 1");
    refused(await edgelock(["inspect", `${stack.mark}a`]), 64, /use another name/);
  },

  async changes_are_watched_line_by_line(stack) {
    const tool = new Tool(["watch", `${stack.mark}a`]);
    const machine = new Tool(["watch", "--json", `${stack.mark}a`]);
    await Promise.all([tool.wrote(": free; "), machine.wrote(`"free"`)]);
    const lease = await take(stack.lock("a", { ...LONG, label: "web-1" }));
    await Promise.all([tool.wrote(`held by "web-1"`), machine.wrote(`"held"`)]);
    await lease.renew();
    const waiting = stack.lock("a", LONG).acquire();
    await Promise.all([tool.wrote("1 waiter"), machine.wrote(`"waiters":1`)]);
    await lease.release();
    await (await waiting).release();
    for (const one of [tool, machine]) {
      one.kill("SIGINT");
      equal((await one.ended).code, 130);
    }
    const states = machine.out.trim().split("\n").map((line) => (JSON.parse(line) as { state: string; waiters: number }));
    equal(states.slice(0, 3).map(({ state, waiters }) => [state, waiters]), [["free", 0], ["held", 0], ["held", 1]]);
    check(!(tool.out + machine.out).includes(lease.token), "no token is shown");
  },

  async a_terminal_is_redrawn_until_ctrl_c(stack) {
    await using _lease = await take(stack.lock("a", { ...LONG, label: "web-1" }));
    const tool = Tool.onTerminal(["watch", `${stack.mark}a`]);
    const frames = () => tool.out.split("\x1b[H\x1b[2J").length - 1;
    await eventually(() => frames() >= 2);
    check(tool.out.includes(`held by "web-1"`), tool.out);
    tool.type("\x03");
    equal((await tool.ended).code, 130);
  },
};

const frees: Suite = {
  async a_lock_is_freed_only_by_force_and_only_where_one_can_be_asked(stack) {
    await using _lease = await take(stack.lock("a", LONG));
    const name = `${stack.mark}a`;
    refused(await edgelock(["release", name]), 64, /--force/);
    refused(await edgelock(["release", "--yes", name]), 64, /--force/);
    refused(await edgelock(["release", "--force", name]), 64, /--yes/);
    check(!(await isFree(stack)), "it is held");
  },

  async a_lock_that_is_free_need_not_be_freed(stack) {
    equal(await edgelock(["release", "--force", "--yes", `${stack.mark}a`]), { code: 0, out: `lock "${stack.mark}a" was free already\n`, err: "" });
  },

  async what_never_ends_may_be_data_and_is_deleted_only_by_a_further_word(stack) {
    const name = `${stack.mark}a`;
    for (const data of ["SET ~a draft", "HSET ~a visits 42"]) {
      await stack.redis(data);
      check((await edgelock(["inspect", name])).out.includes("may be data"), data);
      refused(await edgelock(["release", "--force", "--yes", name]), 64, /--endless/);
      equal(await stack.redis("EXISTS ~a"), 1);
      equal((await edgelock(["release", "--force", "--yes", "--endless", name])).code, 0);
      equal(await stack.redis("EXISTS ~a"), 0);
    }
    await stack.redis("HSET ~a visits 42 name bob");
    refused(await edgelock(["release", "--force", "--yes", "--endless", name]), 64, /use another name/);
    equal(await stack.redis("HGET ~a name"), "bob");
  },

  async the_question_names_the_holder_and_only_yes_frees_the_lock(stack) {
    const lease = await take(stack.lock("a", { ...LONG, label: "web-1" }));
    for (const [answer, code] of [["n\n", 1], ["\n", 1], ["\x04", 1], ["\x03", 1], ["y\n", 0]] as const) {
      check(!(await isFree(stack)), "it is held");
      const tool = Tool.onTerminal(["release", "--force", `${stack.mark}a`]);
      await tool.wrote("[y/N]");
      check(/held by "web-1", \d+\.\d s left/.test(tool.out) && !tool.out.includes(lease.token), tool.out);
      tool.type(answer);
      equal((await tool.ended).code, code);
    }
    check(await isFree(stack), "it was freed");
  },

  async a_holder_that_came_after_the_question_is_asked_about_too(stack) {
    const first = await take(stack.lock("a", { ...LONG, label: "first" }));
    const tool = Tool.onTerminal(["release", "--force", `${stack.mark}a`]);
    await tool.wrote("[y/N]");
    await first.release();
    await using _second = await take(stack.lock("a", { ...LONG, label: "second" }));
    tool.type("y\n");
    await tool.wrote(`held by "second"`);
    tool.type("n\n");
    equal((await tool.ended).code, 1);
    check(!(await isFree(stack)), "it is held");
  },
};

/** What `doctor` found, by its checks. */
interface Report {
  readonly ok: boolean;
  readonly checks: ReadonlyArray<{ readonly check: string; readonly ok: boolean; readonly found: string; readonly advice?: string }>;
}

async function examined(args: readonly string[] = [], variables = {}): Promise<{ readonly code: number; readonly failed: string; readonly found: string }> {
  const { code, out, err } = await edgelock(["doctor", "--json", ...args], variables);
  check(err === "", err);
  const { ok, checks } = JSON.parse(out) as Report;
  equal(ok, code === 0);
  for (const one of checks) equal("advice" in one, !one.ok);
  const failed = checks.filter((one) => !one.ok).map(({ check, found, advice }) => `${check}: ${found} ${advice}`);
  return { code, failed: failed.join(), found: checks.map(({ check, found }) => `${check}: ${found}`).join("\n") };
}

/** Stands before a bridge whose Redis refuses each command with this error. */
const refusing = (stack: Stack, error: string) =>
  between(stack.bridge.url, (_, response) => ({ behind: () => response.writeHead(400).end(JSON.stringify({ error })).writableEnded }));

const examines: Suite = {
  async a_bridge_that_is_well_passes_every_check() {
    const { code, out } = await edgelock(["doctor"]);
    equal([code, out.trim().split("\n").map((line) => line.slice(0, 4))], [0, Array(7).fill("ok  ")]);
    for (const said of ["Upstash's dialect, says that it supports: push", "the median of 5", "given back", "Redis evicts no keys", "they listen;"]) check(out.includes(said), out);
  },

  async what_is_wrong_has_a_line_with_what_to_do(stack) {
    const scriptless = await refusing(stack, "ERR unknown command 'EVAL', with args beginning with: ");
    const cases: Array<[Record<string, string | undefined>, RegExp]> = [
      [{ EDGELOCK_BRIDGE_URL: undefined, EDGELOCK_BRIDGE_CREDENTIAL: undefined }, /^settings: .*set EDGELOCK_BRIDGE_URL and EDGELOCK_BRIDGE_CREDENTIAL.*Upstash's console/],
      [{ EDGELOCK_BRIDGE_CREDENTIAL: "the-wrong-credential" }, /^bridge: .*Check the credential/],
      [{ EDGELOCK_BRIDGE_URL: "http://127.0.0.1:1" }, /^bridge: unavailable.*see that the bridge/],
      // OpenSSL ends its words with a line.
      [{ EDGELOCK_BRIDGE_URL: stack.bridge.url.replace("http:", "https:") }, /^bridge: unavailable.*SSL.*see that the bridge/],
      [{ NODE_OPTIONS: "--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()-60000" }, /^clock: \d+ ms behind.*NTP/],
      [{ EDGELOCK_BRIDGE_URL: process.env["EDGELOCK_WEBDIS_URL"], EDGELOCK_BRIDGE_CREDENTIAL: process.env["EDGELOCK_WEBDIS_PASSWORD"] }, /^bridge: .*--webdis/],
      [{ EDGELOCK_BRIDGE_URL: scriptless.url }, /^bridge: .*this Redis runs none/],
    ];
    for (const [variables, said] of cases) {
      const { code, failed } = await examined([], variables);
      check(code === 1 && said.test(failed), failed);
    }
    scriptless.close();
    const { code, out } = await edgelock(["doctor"], { EDGELOCK_BRIDGE_URL: "http://127.0.0.1:1" });
    check(code === 1 && out.includes("\nFAIL bridge: "), out);
    equal((await edgelock(["doctor", stack.mark])).code, 64);
  },

  async a_redis_that_evicts_keys_is_told() {
    const policy = async (name: string) => {
      const redis = connect(process.env["EDGELOCK_REDIS_SOCKET"] ?? "");
      redis.write(`CONFIG SET maxmemory-policy ${name}\r\n`);
      const [reply] = await once(redis, "data");
      redis.destroy();
      equal(String(reply), "+OK\r\n");
    };
    try {
      for (const name of ["volatile-lru", "allkeys-random"]) {
        await policy(name);
        const { code, failed } = await examined();
        check(code === 1 && failed.startsWith(`memory: Redis evicts keys`) && failed.includes(`(${name}) Have it refuse`), failed);
      }
    } finally {
      await policy("noeviction");
    }
  },

  async the_names_that_it_locks_begin_with_the_prefix(stack) {
    equal((await edgelock(["doctor", "--prefix", stack.mark])).code, 0);
    // A fence is left of each of its locks, and more for a minute.
    const left = (await stack.redis("KEYS *~*")) as string[];
    check(left.length >= 2 && left.every((key) => key.startsWith(`{${stack.mark}edgelock-doctor:`)), left.join());
  },

  async a_webdis_is_told_by_its_user() {
    const { EDGELOCK_WEBDIS_URL: url = "", EDGELOCK_WEBDIS_USER: user = "", EDGELOCK_WEBDIS_PASSWORD: password } = process.env;
    const { code, failed, found } = await examined(["--url", url, "--webdis", user], { EDGELOCK_BRIDGE_CREDENTIAL: password });
    check(code === 0 && found.includes("webdis's dialect") && found.includes("they listen;"), failed + found);
  },

  async a_credential_that_may_only_read_is_told_from_a_user_of_redis_without_rights(stack) {
    const reading = await refusing(stack, "NOPERM this user has no permissions to run the 'eval' command or its subcommand");
    const { code, failed } = await examined(["--url", reading.url]);
    check(code === 1 && /a credential that may write.*ACL SETUSER/.test(failed), failed);
    reading.close();
  },

  async a_user_of_redis_that_may_have_one_prefix_is_asked_for_it(stack) {
    const keyless = await refusing(stack, "NOPERM this user has no permissions to access one of the keys used as arguments");
    check((await examined(["--url", keyless.url])).failed.includes("give that (`prefix`, `--prefix`)"), "it says so");
    keyless.close();
  },

  async whether_waiters_are_told_is_tried_and_not_believed(stack) {
    const silent = await between(stack.bridge.url, () => ({ behind: (headers) => (headers.delete("x-edgelock-bridge"), false) }));
    const polling = await examined(["--url", silent.url]);
    check(polling.code === 0 && polling.found.includes("they poll;"), polling.failed);
    silent.close();
    const buffering = await between(stack.bridge.url, (_, response) => ({
      behind(headers) {
        const isStream = headers.get("content-type")?.includes("event-stream") ?? false;
        if (isStream) response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        return isStream;
      },
    }));
    const { code, failed } = await examined(["--url", buffering.url]);
    check(code === 1 && /^waiters: they listen, and hear nothing.*buffers/.test(failed), failed);
    buffering.close();
  },
};

const answers: Suite = {
  async help_is_as_the_page_shows_it() {
    const page = readFileSync("docs/cli.md", "utf8");
    for (const command of [[], ["run"], ["inspect"], ["watch"], ["release"], ["doctor"]]) {
      const { code, out, err } = await edgelock([...command, "--help"]);
      equal([code, err], [0, ""]);
      // The page shows once what all commands have in common.
      const [own, bridge] = out.split("\nThe bridge:\n");
      const shown = bridge === undefined ? [own] : [own, `The bridge:\n${bridge}`];
      for (const part of shown) {
        check(page.includes(`\`\`\`text\n${part}\`\`\``), `docs/cli.md shows:\n${part}`);
      }
      check(out.split("\n").every((line) => line.length <= 84), "it fits a terminal");
    }
  },

  async help_is_what_help_shows_too() {
    equal(await edgelock(["help"]), await edgelock(["--help"]));
  },

  async the_version_is_that_of_the_package() {
    const { version } = JSON.parse(readFileSync("npm/package.json", "utf8")) as { version: string };
    equal(await edgelock(["--version"]), { code: 0, out: `${version}\n`, err: "" });
  },

  async arguments_that_cannot_work_are_refused_with_64(stack) {
    const name = `${stack.mark}a`;
    const cases: Array<[string[], RegExp]> = [
      [[], /^usage: /],
      [["constructor"], /^edgelock: there is no command "constructor"\nusage: /],
      [["run"], /run what/],
      [["run", name], /run what/],
      [["run", name, "echo"], /run what/],
      [["run", "--", "echo"], /which lock/],
      [["run", "two", "names", "--", "echo"], /one name/],
      [["run", "--ttl", "10", name, "--", "echo"], /--ttl is a duration with its unit/],
      [["run", "--ttl", "1ms", name, "--", "echo"], /ttl/],
      [["run", "--wait", "soon", name, "--", "echo"], /--wait is a duration/],
      [["run", "--label", "x".repeat(200), name, "--", "echo"], /label/],
      [["inspect", "--tll", name], /--tll/],
      [["inspect", "", name], /one name/],
      [["inspect", ""], /name/],
      [["inspect", "--url", "redis://host", name], /that of Redis itself/],
      [["inspect", "--url", "http://bridge.example", name], /plain http/],
    ];
    for (const [args, said] of cases) refused(await edgelock(args), 64, said);
    check(await isFree(stack), "nothing was taken");
  },

  async output_that_cannot_be_written_is_no_success(stack) {
    const name = `${stack.mark}a`;
    for (const args of [["inspect", name], ["watch", name], ["release", "--force", "--yes", name], ["doctor"], ["--help"], ["--version"]]) {
      refused(await Tool.into("/dev/full", args).ended, 74, /cannot be written: ENOSPC/);
      const unread = new Tool(args);
      unread.readNoMore();
      refused(await unread.ended, 141, /^$/);
    }
  },

  async a_credential_is_no_argument_and_is_not_repeated() {
    for (const args of [["--credential=hunter2"], ["--credential", "hunter2"], ["--token=hunter2"], ["--json=hunter2"], ["-phunter2"]]) {
      const ended = await edgelock(["inspect", ...args, "a"]);
      equal([ended.code, ended.err.includes("hunter2")], [64, false]);
    }
    refused(await edgelock(["inspect", "--credential=hunter2", "a"]), 64, /EDGELOCK_BRIDGE_CREDENTIAL/);
  },

  async a_bridge_that_cannot_be_used_has_an_exit_code_for_each_reason(stack) {
    const name = `${stack.mark}a`;
    for (const args of [["run", name, "--", "echo", "ran"], ["inspect", name], ["watch", name], ["release", "--force", "--yes", name]]) {
      refused(await edgelock(args, { EDGELOCK_BRIDGE_URL: "http://127.0.0.1:1" }), 69, /unavailable/);
      refused(await edgelock(args, { EDGELOCK_BRIDGE_CREDENTIAL: "the-wrong-credential" }), 77, /Check the credential/);
      refused(await edgelock(args, { EDGELOCK_BRIDGE_CREDENTIAL: undefined }), 64, /EDGELOCK_BRIDGE_CREDENTIAL/);
    }
  },
};

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
run({ url, credential }, [runs, shows, frees, examines, answers], console.log, [waits]).then((passed) => process.exit(passed ? 0 : 1));
