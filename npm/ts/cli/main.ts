#!/usr/bin/env node
// The command-line tool: which command is asked for, and how it ends.
import { readFile } from "node:fs/promises";
import { refuseChanged, split } from "./args.js";
import { settled } from "./bridge.js";
import { doctor } from "./doctor.js";
import { exitCode, explained, NOT_WRITTEN, OK, ofSignal, say, USAGE } from "./exit.js";
import { HELP, HELP_OF } from "./help.js";
import { inspect } from "./inspect.js";
import { release } from "./release.js";
import { run } from "./run.js";
import { watch } from "./watch.js";

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = { run, inspect, watch, release, doctor };

async function main([name = "", ...args]: readonly string[]): Promise<number> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (name === "--version") return print(`${await version()}\n`);
  if (command === undefined && name !== "help" && !wantsHelp([name])) {
    if (name !== "") say(`there is no command ${JSON.stringify(name)}`);
    process.stderr.write(HELP);
    return USAGE;
  }
  if (command === undefined) return print(HELP);
  if (wantsHelp(args)) return print(HELP_OF[name] ?? HELP);
  try {
    refuseChanged(args);
    return await command(args);
  } catch (error) {
    say(explained(error));
    const code = exitCode(error);
    if (code === USAGE) say(`\`edgelock ${name} --help\` says more`);
    return code;
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return OK;
}

async function version(): Promise<string> {
  const text = await readFile(new URL("package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** Behind `--` it is asked of another program. */
const wantsHelp = (args: readonly string[]): boolean => split(args)[0].some((arg) => arg === "--help" || arg === "-h");

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // The program that read the output has ended, as `head` does.
  if (error.code === "EPIPE") process.exit(ofSignal("SIGPIPE"));
  say(`the output cannot be written: ${error.message}`);
  process.exit(NOT_WRITTEN);
});
// What nobody can read must not end a command that runs.
process.stderr.on("error", () => {});

const code = await main(process.argv.slice(2));
await settled();
// Node tells later that something could not be written. What `run` wrote was its command's.
if (process.argv[2] !== "run") await new Promise<unknown>((written) => process.stdout.write("", written));
process.exit(code);
