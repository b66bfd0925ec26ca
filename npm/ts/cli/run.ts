// `edgelock run`: runs a command under a lock.
import { type Lease, LostError } from "edgelock";
import { hostname } from "node:os";
import { quoted } from "../quoted.js";
import { COMMON, duration, oneName, parse, split } from "./args.js";
import { connect } from "./bridge.js";
import { type Running, start } from "./command.js";
import { explained, LOST, say, UsageError } from "./exit.js";
import { seconds } from "./name.js";
import { type Hearing, hearSignals } from "./signals.js";

const OPTIONS = { ...COMMON, ttl: { type: "string" }, wait: { type: "string" }, label: { type: "string" }, "kill-after": { type: "string" } } as const;

const KILL_AFTER_MS = 10_000;

/** Node takes a longer one for the shortest. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals, command } = parseRun(args);
  const name = oneName(positionals);
  const killAfter = duration(values["kill-after"], "kill-after") ?? KILL_AFTER_MS;
  const lock = connect(values).lock(name, {
    ttl: duration(values.ttl, "ttl"),
    wait: values.wait === "forever" ? Infinity : duration(values.wait, "wait"),
    label: values.label ?? `${hostname().slice(0, 100)}:${process.pid}`,
    // The default is for hosts that count requests.
    maxRequests: Infinity,
  });
  const signals = hearSignals();
  const lease = await lock.acquire({ signal: signals.waiting });
  return underLease(lease, command, signals, killAfter);
}

/**
 * What stands behind `--` is the command, options included. A name that begins with `-` has a `--`
 * before it, too.
 */
function parseRun(args: readonly string[]) {
  const [before, behind] = split(args);
  const parsed = parse(before, OPTIONS);
  const isNameBehind = parsed.positionals.length === 0 && behind[1] === "--";
  const positionals = isNameBehind ? behind.slice(0, 1) : parsed.positionals;
  const command = isNameBehind ? behind.slice(2) : behind;
  if (command.length === 0 || command[0] === "") throw new UsageError("run what? Put the command behind the name: edgelock run NAME -- COMMAND");
  return { values: parsed.values, positionals, command };
}

/** Runs the command, and gives the lock back; the exit code. */
async function underLease(lease: Lease, command: readonly string[], signals: Hearing, killAfter: number): Promise<number> {
  if (signals.waiting.aborted) {
    await lease.release();
    throw signals.waiting.reason;
  }
  const stopKeeping = lease.keepAlive({ maxHold: Infinity });
  const lost = new Promise<undefined>((over) => lease.signal.addEventListener("abort", () => over(undefined), { once: true }));
  const running = start(command, { EDGELOCK_FENCE: String(lease.fence) });
  signals.pass = running.kill;
  const exit = await Promise.race([running.exit, lost]);
  if (exit === undefined) {
    say(`the command is told to stop: ${explained(lease.signal.reason)}`);
    await stop(running, killAfter);
    return LOST;
  }
  stopKeeping();
  return givenBack(lease, exit);
}

/** Gives the lock back once the command has ended with this exit code. */
async function givenBack(lease: Lease, exit: number): Promise<number> {
  try {
    await lease.release();
  } catch (error) {
    if (error instanceof LostError) {
      say(`the lease was lost before the command ended: ${explained(error)}`);
      return LOST;
    }
    say(`lock ${quoted(lease.name)} could not be given back, and ends with its ttl: ${explained(error)}`);
  }
  return exit;
}

/** Waits until it has ended. */
async function stop(running: Running, killAfter: number): Promise<void> {
  running.kill("SIGTERM");
  const timer = setTimeout(() => {
    say(`the command has not ended within ${seconds(killAfter)}, and is killed`);
    running.kill("SIGKILL");
  }, Math.min(killAfter, LONGEST_TIMER_MS));
  await running.exit;
  clearTimeout(timer);
}
