// The installed command-line tool as a process.
import { spawn } from "node:child_process";
import { check, eventually } from "./harness.js";

export const [program = ""] = process.argv.slice(2);

/** How a process ended, and what it wrote. */
export interface Ended {
  /** Its exit code, or 128 plus the number of the signal that ended it. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** A running tool. */
export class Tool {
  readonly ended: Promise<Ended>;
  out = "";
  err = "";
  readonly #child;

  /** Without a terminal, even if the tests have one: in a session of its own. */
  constructor(args: readonly string[], variables: Variables = {}, file = program) {
    const env = { ...process.env, ...variables };
    this.#child = spawn(file, args, { env, detached: true, stdio: "pipe" });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => (this.out += text));
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.err += text));
    // A test that failed leaves no process behind. After the end, the id may be another process's.
    const clean = () => this.#killAll();
    process.on("exit", clean);
    this.#child.once("close", () => process.off("exit", clean));
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        const { out, err } = this;
        // Whatever it was asked, it must not have written these.
        const secrets = [process.env["EDGELOCK_BRIDGE_CREDENTIAL"], variables["EDGELOCK_BRIDGE_CREDENTIAL"], process.env["EDGELOCK_WEBDIS_PASSWORD"]];
        const told = secrets.find((secret) => secret && (out + err).includes(secret));
        if (told === undefined) resolve({ code: code ?? (signal === "SIGINT" ? 130 : signal === "SIGTERM" ? 143 : 137), out, err });
        else reject(new Error(`a secret was printed: ${out}${err}`));
      });
    });
  }

  /** Starts it on a terminal, which `script` makes. */
  static onTerminal(args: readonly string[], isInBackground = false): Tool {
    const tool = [program, ...args].map((arg) => `'${arg}'`).join(" ");
    // A shell that stayed, as Debian's `sh` does, would also end by the keys of the terminal.
    const command = isInBackground ? `set -m; ${tool} & wait` : `exec ${tool}`;
    return new Tool(["--quiet", "--return", "--command", command, "/dev/null"], {}, "script");
  }

  /** Starts it with its output to that file. */
  static into(file: string, args: readonly string[]): Tool {
    return new Tool(["-c", `exec "$0" "$@" >${file}`, program, ...args], {}, "sh");
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #killAll(): void {
    try {
      process.kill(-this.#child.pid!, "SIGKILL");
    } catch {
      // All have ended.
    }
  }

  /** Closes its output, as `head` does that has enough. */
  readNoMore(): void {
    this.#child.stdout.destroy();
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Waits until it has written this. Throws if it ends before. */
  async wrote(text: string): Promise<void> {
    let ended: Ended | undefined;
    this.ended.then((how) => (ended = how), () => {});
    await eventually(() => (this.out + this.err).includes(text) || ended !== undefined);
    check((this.out + this.err).includes(text), `${text} is in ${JSON.stringify(ended)}`);
  }
}

/** Runs the tool to its end. */
export const edgelock = (args: readonly string[], variables: Variables = {}): Promise<Ended> => new Tool(args, variables).ended;
