// The signals that this process gets: the command's as soon as it runs, and the end of the wait before.
import { closeSync, openSync } from "node:fs";
import { Interrupted } from "./exit.js";

const PASSED_ON: readonly NodeJS.Signals[] = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT"];
/** A terminal sends these to all that it runs, the command included. Many programs take a second one for "at once". */
const OF_KEYS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

/** Hears the signals of this process. */
export class Signals {
  readonly #waiting = new AbortController();
  #pass: ((signal: NodeJS.Signals) => void) | undefined;

  constructor() {
    const isOnTerminal = hasTerminal();
    for (const signal of PASSED_ON) {
      process.on(signal, () => {
        if (this.#pass === undefined) this.#waiting.abort(new Interrupted(signal));
        else if (!(isOnTerminal && OF_KEYS.includes(signal))) this.#pass(signal);
      });
    }
  }

  /** Aborted by a signal that comes before the command runs. */
  get waiting(): AbortSignal {
    return this.#waiting.signal;
  }

  /** From now on signals are passed on. */
  passTo(pass: (signal: NodeJS.Signals) => void): void {
    this.#pass = pass;
  }
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
