// Arguments: what is given is known, or refused with what to do.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { UsageError } from "./exit.js";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<O extends Options> = ReturnType<typeof parseArgs<{ readonly args: string[]; readonly options: O; readonly allowPositionals: true }>>;

/** The options of every subcommand. */
export const COMMON = {
  url: { type: "string" },
  webdis: { type: "string" },
  "plain-http": { type: "boolean" },
} as const;

export const JSON_OPTION = { json: { type: "boolean" } } as const;

/**
 * Refuses arguments with bytes that are not UTF-8. Node has changed them to U+FFFD, so the command
 * would get others than the caller gave.
 */
export function refuseChanged(args: readonly string[]): void {
  if (args.some((arg) => arg.includes("\ufffd")) && !isUtf8(given())) throw new UsageError("an argument is not UTF-8, and the command would get another one");
}

/** The bytes of all arguments of this process; none where the system does not show them. */
function given(): Uint8Array {
  try {
    return readFileSync("/proc/self/cmdline");
  } catch {
    // Only Linux has that.
    return new Uint8Array();
  }
}

/** What stands before the first `--`, and behind it. Behind it there are no options. */
export function split(args: readonly string[]): readonly [before: readonly string[], behind: readonly string[]] {
  const end = args.indexOf("--");
  return end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
}

/**
 * The options and the other arguments. No message repeats an option's value, which may be a secret.
 */
export function parse<const O extends Options>(args: readonly string[], options: O): Parsed<O> {
  const secret = split(args)[0].find((arg) => /^--?(credential|token|password)\b/.test(arg));
  if (secret !== undefined) throw new UsageError("a credential is no argument, since `ps` would show it: set EDGELOCK_BRIDGE_CREDENTIAL");
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const [what = "these arguments are not understood"] = error instanceof Error ? error.message.split(". ") : [];
    throw new UsageError(isUnknown(error) ? `${what}. Put -- before a name that begins with -` : what);
  }
}

const isUnknown = (error: unknown): boolean => (error as { readonly code?: unknown }).code === "ERR_PARSE_ARGS_UNKNOWN_OPTION";

/** The name of the lock, which is the one argument that is no option. */
export function oneName(positionals: readonly string[]): string {
  const [name, ...others] = positionals;
  if (name === undefined) throw new UsageError("which lock? Give its name");
  if (others.length > 0) throw new UsageError(`one name is wanted, and ${positionals.length} are given: put quotes around a name with blanks`);
  return name;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * A duration in milliseconds. It needs its unit, since a bare number means seconds to some tools
 * and milliseconds to others.
 */
export function duration(value: string | undefined, option: string): number | undefined {
  if (value === undefined) return undefined;
  if (value === "0") return 0;
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value) ?? [];
  const factor = UNITS[unit];
  if (factor === undefined) throw new UsageError(`--${option} is a duration with its unit: 500ms, 30s, 5m or 1h`);
  return Math.round(Number(number) * factor);
}
