// What npm packs, checked as registries and type checkers do.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { Client, type EdgelockError } from "edgelock";
import { Table } from "edgelock/testing";
import { check, equal, runTests } from "./harness.js";

/** A message of publint or attw. Their own types need a newer resolution of modules than ours. */
interface Message {
  readonly code: string;
}

const [tarball = "", installed = ""] = process.argv.slice(2);
const read = (name: string) => readFileSync(join(installed, name), "utf8");
const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" })
  .split("\n")
  .filter(Boolean)
  .map((name) => name.replace("package/", ""))
  .sort();

/** The oldest TypeScript that is promised, and the newest. Another builds the package. */
const COMPILERS = ["typescript-5.2", "typescript-7"] as const;
const tsc = (compiler: string) => join("node_modules", compiler, "bin/tsc");

function compile(compiler: string, options: readonly string[]): void {
  const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--module", "nodenext"];
  execFileSync("node", [tsc(compiler), ...strict, ...options], { stdio: "inherit" });
}

/** Works in a new folder. */
function beside(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "packed-"));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tests = {
  what_is_packed_is_what_was_reviewed() {
    const scripts = ["edge-light.js", "index.cjs", "index.js", "shared.js", "workerd.js"];
    const others = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "cli.js", "edgelock.wasm", "index.d.cts", "index.d.ts", "node.cjs", "node.js", "package.json", "text.cjs"];
    const testing = ["testing-node.js", "testing-workerd.js", "testing.cjs", "testing.d.cts", "testing.d.ts", "testing.js", "testing.wasm"];
    equal(files, [...scripts, ...scripts.map((name) => `${name}.map`), ...others, ...testing].sort());
  },

  its_public_api_is_that_of_the_snapshot() {
    const api = read("index.d.ts").replace(/^\s*\/\*\*[^]*?\*\/\n/gm, "");
    if (api === readFileSync("npm/api.d.ts", "utf8")) return;
    writeFileSync("target/api.d.ts", api);
    throw new Error("the public API has changed. If that is meant: cp target/api.d.ts npm/api.d.ts");
  },

  a_host_without_text_decoder_is_told_so() {
    // As Jest's jsdom.
    const client = `new (require(${JSON.stringify(resolve(installed))}).Client)({ url: "https://bridge.example", credential: "credential" }).lock("a")`;
    const table = `new (require(${JSON.stringify(resolve(installed, "testing.cjs"))}).Table)()`;
    for (const made of [client, table]) {
      const script = `delete globalThis.TextDecoder;
        try { ${made}; } catch ({ message, advice }) { console.log(message, advice); }`;
      const said = execFileSync("node", ["--eval", script], { encoding: "utf8" });
      check(said.startsWith("this host has no TextDecoder") && said.includes("node:util"), said);
    }
  },

  what_runs_scripts_on_the_edges_conditions_may_require_it() {
    // As Jest does with `@edge-runtime/jest-environment`. There no bundler replaces the import.
    const script = 'console.log(typeof require("edgelock").Client)';
    const node = ["--conditions=edge-light", "--eval", script];
    equal(execFileSync("node", node, { cwd: join(installed, "../.."), encoding: "utf8" }), "function\n");
  },

  it_is_packed_the_same_each_time() {
    beside((folder) => {
      execFileSync("npm", ["pack", "--silent", "--pack-destination", folder, join(process.cwd(), "npm/dist")]);
      check(readFileSync(join(folder, basename(tarball))).equals(readFileSync(tarball)), "byte by byte");
    });
  },

  it_names_the_repository_that_the_crate_names() {
    const [, address] = /^repository = "(.*)"$/m.exec(readFileSync("Cargo.toml", "utf8"))!;
    const { repository } = JSON.parse(read("package.json")) as { repository: unknown };
    equal(repository, { type: "git", url: `git+${address}.git`, directory: "npm" });
  },

  npm_would_change_nothing_of_it_when_it_is_published() {
    beside((folder) => {
      copyFileSync(join(installed, "package.json"), join(folder, "package.json"));
      execFileSync("npm", ["pkg", "fix"], { cwd: folder });
      equal(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")), JSON.parse(read("package.json")));
    });
  },

  every_file_that_package_json_names_is_there() {
    for (const [, name] of read("package.json").matchAll(/"\.\/([^"]+)"(?!:)/g)) check(files.includes(name!), `${name} is packed`);
  },

  nothing_of_the_building_machine_is_in_it() {
    for (const name of files) {
      const text = readFileSync(join(installed, name), "latin1");
      for (const place of [process.cwd(), process.env.HOME ?? "", "/.cargo/", "/.rustup/"]) {
        check(!(place.length > 1 && text.includes(place)), `${name} names no ${place}`);
      }
    }
  },

  the_host_reads_json_and_no_library_comes_along() {
    check(!readFileSync(join(installed, "edgelock.wasm"), "latin1").includes("serde_json"), "the wasm has no serde_json");
  },

  node_reads_the_module_from_its_file() {
    const script = `new (require(process.argv[1]).Client)({ url: "https://127.0.0.1:1", credential: "credential" });
      console.log(Object.keys(require.cache).map((path) => require("node:path").basename(path)).join());`;
    equal(execFileSync("node", ["-e", script, resolve(installed, "index.cjs")], { encoding: "utf8" }), "index.cjs\n");
  },

  the_command_line_tool_is_in_nobodys_bundle() {
    for (const name of files.filter((name) => name.endsWith("js"))) equal([name, read(name).includes("EDGELOCK_FENCE")], [name, name === "cli.js"]);
    check(read("cli.js").startsWith("#!/usr/bin/env node\n"), "it can be executed");
    const imports = [...read("cli.js").matchAll(/from "([^"]+)"/g)].map(([, name]) => name!);
    equal(imports.filter((name) => name !== "edgelock" && !name.startsWith("node:")), []);
  },

  source_maps_lead_to_the_source() {
    const map = JSON.parse(read("shared.js.map")) as { sources: string[]; sourcesContent: Array<string | null> };
    const at = map.sources.findIndex((source) => source.endsWith("ts/lease.ts"));
    check(map.sourcesContent[at]?.includes("export class Lease") ?? false, "the source of Lease is in the map");
    // Vite looks for a source that is not there, and warns.
    check(!map.sourcesContent.includes(null), "no source is left out");
  },

  types_are_precise() {
    check(!/\bany\b/.test(read("index.d.ts").replaceAll(/\/\*\*[^]*?\*\//g, "")), "no any");
    equal(read("index.d.ts"), read("index.d.cts"));
  },

  async types_are_called_in_the_declarations_as_they_are_imported() {
    const declarations = read("index.d.ts");
    check(!declarations.includes("$"), "none has a name that the bundler made");
    const declared = [...declarations.matchAll(/^export declare (?:(?:abstract )?class|function) (\w+)/gm)].map(([, name]) => name);
    const made = (await import(join(installed, "index.js"))) as Record<string, { readonly name: string }>;
    equal(declared.sort(), Object.keys(made).sort());
    // Whoever prints an object sees its class.
    for (const [name, one] of Object.entries(made)) check(one.name === name || name === "idempotent", `${one.name} is ${name}`);
    // Linters complain about a class that an interface adds to.
    for (const name of declared) check(!declarations.includes(`interface ${name} `), `${name} is one thing`);
  },

  types_need_nothing_but_what_every_project_has() {
    const declarations = ["index.d.ts", "index.d.cts"].map((name) => join(installed, name));
    for (const host of [["--lib", "es2022,dom", "--typeRoots", installed], ["--lib", "es2022", "--types", "node"]]) {
      for (const compiler of COMPILERS) compile(compiler, [...host, "--skipLibCheck", "false", ...declarations]);
    }
  },

  the_examples_compile_with_the_oldest_typescript_that_is_promised_and_with_the_newest() {
    const examples = join(installed, "../../examples");
    const names = readdirSync(examples, { encoding: "utf8", recursive: true }).filter((name) => name.endsWith(".ts"));
    const host = ["--lib", "es2022,esnext.disposable,dom", "--types", "node", "--skipLibCheck"];
    const compiled = (names: readonly string[], ...options: string[]) => {
      const files = [...names, "../test/frameworks.d.ts"].map((name) => join(examples, name));
      for (const compiler of COMPILERS) compile(compiler, [...host, "--noUncheckedIndexedAccess", ...options, ...files]);
    };
    // Next.js has its own way to find a module, and no other one may be written there.
    const isOfNext = (name: string) => name.includes("next_");
    compiled(names.filter((name) => !isOfNext(name)));
    compiled(names.filter(isOfNext), "--module", "esnext", "--moduleResolution", "bundler");
    const { peerDependencies } = JSON.parse(read("package.json")) as { peerDependencies: Record<string, string> };
    const version = execFileSync("node", [tsc(COMPILERS[0]), "--version"], { encoding: "utf8" }).match(/\d+\.\d+/)?.[0];
    equal(peerDependencies, { typescript: `>=${version}` });
    check(read("README.md").includes(`TypeScript ${version}`), "the README says so");
  },

  tests_load_a_table_of_less_than_100_kb_and_others_nothing_of_it() {
    const loaded = ["testing.cjs", "testing.wasm"].map((name) => gzipSync(readFileSync(join(installed, name))).length);
    check(loaded.reduce((sum, size) => sum + size) < 100_000, `${loaded} bytes`);
    for (const name of files.filter((name) => /\.c?js$/.test(name) && !name.startsWith("testing"))) check(!read(name).includes("table.test"), name);
  },

  async a_program_may_have_the_package_twice() {
    const others = (await import(join(installed, "index.js"))) as typeof import("edgelock");
    const client = new Table().client({ prefix: "a:" });
    check(others.Client !== Client, "these are two");
    const told: string[] = [];
    const handle = others.idempotent(async (request) => new Response(await request.text()), { client, wait: 0, maxBytes: 300, onNotKept: ({ code }) => void told.push(code) });
    const status = async (key: string, body = "") => (await handle(new Request("https://a.example", { method: "POST", headers: { "idempotency-key": key }, body }))).status;
    const lease = await client.lock("held").acquire();
    equal([await status("held"), await status("a", "one"), await status("a", "two"), await status("large", "x".repeat(999))], [409, 200, 422, 200]);
    equal(told, ["result_too_large"]);
    await lease.release();
    // What ended a lease of one says nothing of a request of the other.
    const hang = ({ signal }: { readonly signal: AbortSignal }) => new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const call = new others.Client({ url: "https://a.example", credential: "credential", fetch: (_, init) => hang(init) }).lock("a").tryAcquire({ signal: lease.signal });
    const early = await call.catch((error: unknown) => error);
    const next = await client.lock("held").acquire();
    const late = new others.Client({ url: "https://a.example", credential: "credential", fetch: (_, init) => (next.release().catch(() => {}), hang(init)) });
    const sent = await late.lock("a").tryAcquire({ signal: next.signal }).catch((error: unknown) => error);
    equal([early, sent].map((error) => (error as EdgelockError).isOutcomeUnknown), [false, true]);
  },

  async publint_finds_nothing() {
    const { publint } = (await import("publint")) as { publint(options: object): Promise<{ messages: readonly Message[] }> };
    equal((await publint({ pkgDir: installed, pack: false, strict: true })).messages, []);
  },

  async are_the_types_wrong_finds_nothing() {
    const attw = await import("@arethetypeswrong/core");
    const result = await attw.checkPackage(attw.createPackageFromTarballData(new Uint8Array(readFileSync(tarball))));
    check(result.types !== false, "it has types");
    equal("problems" in result ? result.problems : undefined, []);
  },
};

runTests(Object.entries(tests), console.log).then((passed) => process.exit(passed ? 0 : 1));
