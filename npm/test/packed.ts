// What npm packs, looked at as registries and type checkers do.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, equal, runTests } from "./harness.js";

/** As publint and attw say it; their own types ask for a newer resolution of modules than ours. */
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

const tests = {
  what_is_packed_is_what_was_reviewed() {
    equal(files, [
      "LICENSE-APACHE",
      "LICENSE-MIT",
      "README.md",
      "edge-light.js",
      "edge-light.js.map",
      "edgelock.wasm",
      "index.cjs",
      "index.cjs.map",
      "index.d.cts",
      "index.d.ts",
      "index.js",
      "index.js.map",
      "node.js",
      "package.json",
      "shared.js",
      "shared.js.map",
      "workerd.js",
      "workerd.js.map",
    ]);
  },

  every_file_that_package_json_names_is_there() {
    for (const [, name] of read("package.json").matchAll(/"\.\/([^"]+)"/g)) check(files.includes(name!), `${name} is packed`);
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

  source_maps_lead_to_the_source() {
    const map = JSON.parse(read("shared.js.map")) as { sources: string[]; sourcesContent: Array<string | null> };
    const at = map.sources.findIndex((source) => source.endsWith("ts/lease.ts"));
    check(map.sourcesContent[at]?.includes("export class Lease") ?? false, "the source of Lease is in the map");
  },

  types_are_precise() {
    check(!/\bany\b/.test(read("index.d.ts").replaceAll(/\/\*\*[^]*?\*\//g, "")), "no any");
    equal(read("index.d.ts"), read("index.d.cts"));
  },

  types_need_nothing_but_what_every_project_has() {
    const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false", "--target", "es2022"];
    const declarations = ["index.d.ts", "index.d.cts"].map((name) => join(installed, name));
    for (const host of [["--lib", "es2022,dom", "--typeRoots", installed], ["--lib", "es2022", "--types", "node"]]) {
      execFileSync("node_modules/.bin/tsc", [...strict, ...host, "--module", "nodenext", ...declarations], { stdio: "inherit" });
    }
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
