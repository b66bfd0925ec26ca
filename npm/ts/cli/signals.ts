// The signals that this process gets: the command's as soon as it runs, and the end of the wait
// before.
import { closeSync, openSync, readFileSync } from "node:fs";
import { Interrupted } from "./exit.js";

/**
 * All that would end this process, and leave the command without the lock. Not those of a fault in
 * this process, not SIGPIPE and SIGXFSZ, which Node ignores, and not SIGPROF, by which its profiler
 * works. Node cannot hear SIGKILL and the real-time signals.
 */
const PASSED_ON: readonly NodeJS.Signals[] = [
  ...(["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT", "SIGABRT", "SIGALRM"] as const),
  ...(["SIGVTALRM", "SIGXCPU", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGSYS"] as const),
];
/**
 * A terminal sends these to all in its foreground, the command included. Many programs take a
 * second one for "at once".
 */
const OF_KEYS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

/** What the signals of this process go to. */
export interface Hearing {
  /** Aborted by a signal that comes before the command runs. */
  readonly waiting: AbortSignal;
  /** Gets them once the command runs. */
  pass?: (signal: NodeJS.Signals) => void;
}

export function hearSignals(): Hearing {
  const waiting = new AbortController();
  const hearing: Hearing = { waiting: waiting.signal };
  for (const signal of PASSED_ON) {
    process.on(signal, () => {
      if (hearing.pass === undefined) waiting.abort(new Interrupted(signal));
      else if (!(OF_KEYS.includes(signal) && isInForeground())) hearing.pass(signal);
    });
  }
  return hearing;
}

/** Whether the keys of a terminal reach this process. What it is sent then may be of a key. */
function isInForeground(): boolean {
  try {
    // proc(5): behind the program's name, which may hold anything, the third is its group, the
    // sixth the terminal's.
    const [, , group, , , foreground] = readFileSync("/proc/self/stat", "latin1").split(") ").at(-1)!.split(" ");
    return group === foreground;
  } catch {
    // Only Linux has that. Others show whether there is a terminal.
    try {
      closeSync(openSync("/dev/tty", "r"));
      return true;
    } catch {
      return false;
    }
  }
}
