// `edgelock watch`: who holds a lock and how many wait, as it changes.
import { EdgelockError, type Inspection } from "edgelock";
import { setTimeout as sleep } from "node:timers/promises";
import { quoted } from "../quoted.js";
import { COMMON, JSON_OPTION, oneName, parse } from "./args.js";
import { connect } from "./bridge.js";
import { exitCode, UNAVAILABLE } from "./exit.js";
import { Name, plain, summary } from "./name.js";

const PAUSE_MS = 1_000;
/** To the first place, and nothing below. */
const CLEAR = "\x1b[H\x1b[2J";

type Seen = Inspection | EdgelockError;

/** Goes on until the process is ended. */
export async function watch(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...COMMON, ...JSON_OPTION });
  // A request that is repeated would be one more in that second.
  const name = new Name(connect(values, { maxAttempts: 1 }), oneName(positionals));
  const show = values.json ? lines(asJson(name.name)) : process.stdout.isTTY ? redrawn(name.name) : lines(asText(name.name));
  let hasAnswered = false;
  for (;;) {
    const pause = sleep(PAUSE_MS);
    try {
      const seen = await name.ask();
      hasAnswered = true;
      if (seen !== undefined) show(seen);
    } catch (error) {
      // A bridge that answered before may come back; all else is for the user to correct.
      const isAway = hasAnswered && exitCode(error) === UNAVAILABLE && error instanceof EdgelockError;
      if (!isAway) throw error;
      show(error);
    }
    await pause;
  }
}

function redrawn(name: string): (seen: Seen) => void {
  return (seen) => {
    const state = seen instanceof EdgelockError ? seen.message : summary(seen);
    process.stdout.write(`${CLEAR}lock ${quoted(name)}, ${new Date().toLocaleTimeString()} (Ctrl-C ends this)\n${state}\n`);
  };
}

/** A line for each change. That time passes is none. */
function lines(line: (seen: Seen) => string): (seen: Seen) => void {
  let last: string | undefined;
  return (seen) => {
    const state = seen instanceof EdgelockError ? seen.code : summary(seen, false);
    if (state !== last) process.stdout.write(`${line(seen)}\n`);
    last = state;
  };
}

const asText = (name: string) => (seen: Seen): string =>
  `${new Date().toISOString()} lock ${quoted(name)}: ${seen instanceof EdgelockError ? seen.message : summary(seen)}`;

const asJson = (name: string) => (seen: Seen): string =>
  JSON.stringify({ at: new Date().toISOString(), ...(seen instanceof EdgelockError ? { name, state: "unknown", error: seen.code } : plain(name, seen)) });
