// Runs deno.ts with as few permissions as it needs: the bridge's address, and then also two
// variables.
import { spawnSync } from "node:child_process";

const [deno = "", script = ""] = process.argv.slice(2);
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "", HOME } = process.env;
const net = `--allow-net=${new URL(url).host}`;

function run(permissions: readonly string[], args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const { status } = spawnSync(deno, ["run", "--no-prompt", ...permissions, script, url, credential, ...args], { env: { HOME, ...env }, stdio: "inherit" });
  return status === 0;
}

const variables = { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: credential };
const passed = [
  run([net], [], {}),
  run([net, `--allow-env=${Object.keys(variables).join()}`], ["variables"], variables),
];
process.exit(passed.every(Boolean) ? 0 : 1);
