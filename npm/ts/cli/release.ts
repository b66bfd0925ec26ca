// `edgelock release --force`: frees a lock, whoever holds it, once the user has seen who that is.
import type { Inspection } from "edgelock";
import { createInterface } from "node:readline/promises";
import { quoted } from "../quoted.js";
import { COMMON, oneName, parse } from "./args.js";
import { connect } from "./bridge.js";
import { NO, OK, say, UsageError } from "./exit.js";
import { Name, summary } from "./name.js";

const OPTIONS = { ...COMMON, force: { type: "boolean" }, yes: { type: "boolean" }, endless: { type: "boolean" } } as const;

export async function release(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, OPTIONS);
  const name = new Name(connect(values), oneName(positionals));
  if (!values.force) throw new UsageError("this frees a lock that another holds: say --force");
  if (!values.yes && !process.stdin.isTTY) throw new UsageError("there is no terminal to ask on: say --yes");
  const found = values.yes ? await name.inspect() : await agreed(name);
  if (values.yes && !values.endless && found?.holders.some(({ remaining }) => remaining === null)) throw new UsageError("it never ends, as no lock of edgelock does, and may be data: say --endless to delete it");
  if (found === undefined) {
    say("nothing was freed");
    return NO;
  }
  const wasHeld = found.holders.length > 0 && (await name.forceRelease());
  process.stdout.write(`lock ${quoted(name.name)} ${wasHeld ? "was freed" : "was free already"}\n`);
  return OK;
}

/**
 * Asks until the holders are still those that the user was asked about; nothing if the answer is
 * no.
 */
async function agreed(name: Name): Promise<Inspection | undefined> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D close it, and are no yes.
  const closed = new AbortController();
  terminal.once("close", () => closed.abort());
  const ask = (question: string) => terminal.question(question, { signal: closed.signal }).catch(() => "");
  try {
    for (let found = await name.inspect(); ; ) {
      if (found.holders.length === 0) return found;
      const answer = await ask(`lock ${quoted(name.name)}: ${summary(found)}.\nWhoever holds it learns of it at the next call only. Free it? [y/N] `);
      if (!/^y(es)?$/i.test(answer.trim())) return undefined;
      const now = await name.inspect();
      if (isSame(found, now)) return now;
      say("the holder has changed meanwhile");
      found = now;
    }
  } finally {
    terminal.close();
  }
}

const isSame = (one: Inspection, other: Inspection): boolean =>
  one.holders.length === other.holders.length && one.holders.every(({ token }) => other.holders.some((holder) => holder.token === token));
