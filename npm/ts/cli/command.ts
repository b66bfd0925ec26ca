// The user's command: started, told signals, and its end as an exit code.
import { type ChildProcess, spawn } from "node:child_process";
import { quoted } from "../quoted.js";
import { NOT_EXECUTABLE, NOT_FOUND, ofSignal, say } from "./exit.js";

/** A command that was started. */
export interface Running {
  /** Its exit code once it has ended, as a shell has it. */
  readonly exit: Promise<number>;
  /** Does nothing once it has ended. */
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** Starts a command on this terminal, with these variables beside those of this process. */
export function start(command: readonly string[], variables: Readonly<Record<string, string>>): Running {
  const [file = "", ...args] = command;
  let child: ChildProcess;
  try {
    child = spawn(file, args, { stdio: "inherit", env: { ...process.env, ...variables } });
  } catch (error) {
    // Node throws some of the system's reasons, and tells the others later.
    return { exit: Promise.resolve(notStarted(file, error as NodeJS.ErrnoException)), kill: () => {} };
  }
  const exit = new Promise<number>((ended) => {
    child.once("exit", (code, signal) => ended(signal === null ? (code ?? 0) : ofSignal(signal)));
    child.on("error", (error) => {
      // A signal that could not be sent is an error too, and not the end.
      if (child.pid === undefined) ended(notStarted(file, error));
    });
  });
  return { exit, kill: (signal) => void child.kill(signal) };
}

function notStarted(file: string, { code, message }: NodeJS.ErrnoException): number {
  const isMissing = code === "ENOENT";
  say(isMissing ? `there is no command ${quoted(file)}` : `the command cannot be executed: ${message}`);
  return isMissing ? NOT_FOUND : NOT_EXECUTABLE;
}
