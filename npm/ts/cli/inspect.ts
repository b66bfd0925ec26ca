// `edgelock inspect`: who holds a lock.
import { quoted } from "../quoted.js";
import { COMMON, JSON_OPTION, oneName, parse } from "./args.js";
import { connect } from "./bridge.js";
import { OK } from "./exit.js";
import { Name, plain, summary } from "./name.js";

export async function inspect(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...COMMON, ...JSON_OPTION });
  const name = new Name(connect(values), oneName(positionals));
  const found = await name.inspect();
  process.stdout.write(values.json ? `${JSON.stringify(plain(name.name, found))}\n` : `lock ${quoted(name.name)}: ${summary(found)}\n`);
  return OK;
}
