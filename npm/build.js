// Makes the package in npm/dist from the TypeScript in npm/ts, and from what wasm-bindgen and
// wasm-opt wrote to npm/build.
import { build } from "esbuild";
import { generateDtsBundle } from "dts-bundle-generator";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const dist = (name) => path(`dist/${name}`);
const glue = (name) => path(`build/${name}`);

// Each instance of the module has a memory of its own, so it has bindings of its own. What an
// instance that failed left to the garbage collector must not reach into another.
//
// wasm-bindgen's names of imports hold hashes, which cannot be compressed. names.json has the short
// names that wasm-opt gave to the imports and the exports. It calls the module of all imports `a`.
async function wrapGlue(folder, stem) {
  const names = JSON.parse(await readFile(glue(`${folder}names.json`), "utf8"));
  const imports = Object.fromEntries(names.imports.map(([, long, short]) => [long, short]));
  const exports = Object.fromEntries(names.exports);
  const text = await readFile(glue(`${folder}${stem}_bg.js`), "utf8");
  const contents = text.replace(/\bwasm\.(\w+)/g, (_, name) => `wasm.${exports[name] ?? name}`);
  const bundled = await build({ stdin: { contents, resolveDir: glue(folder) }, bundle: true, format: "esm", minify: true, write: false });
  // As a function's result, the list of exports is an object: the classes and the imports.
  const [body, list] = bundled.outputFiles[0].text.split(/export\{(.*)\};\s*$/);
  const members = list.split(",").map((item) => item.split(" as ")).map(([own, name = own]) => `${imports[name] ?? name}: ${own}`);
  const wrapped = `export function instantiate(module, guard) {
  ${body}
  const glue = { ${members.join(", ")} };
  const { exports } = new WebAssembly.Instance(module, { a: glue });
  glue.__wbg_set_wasm(guard(exports));
  return glue;
}
`;
  await writeFile(glue(`${folder}instantiate.js`), wrapped);
}

// The module as a file, and as text. A section without content has a name that no other build has.
async function writeModule() {
  const optimized = await readFile(glue("edgelock.wasm"));
  const build = `edgelock ${createHash("sha256").update(optimized).digest("hex").slice(0, 16)}`;
  const section = Buffer.from([0, build.length + 1, build.length, ...Buffer.from(build)]);
  const wasm = Buffer.concat([optimized, section]);
  const text = JSON.stringify(wasm.toString("base64"));
  await writeFile(dist("edgelock.wasm"), wasm);
  await writeFile(dist("text.cjs"), `module.exports = ${text};\n`);
  await writeFile(glue("wasm.js"), `export const build = "${build}";\nexport default ${text};\n`);
}

// The module of `edgelock/testing`, in the same two forms.
async function writeTable() {
  const wasm = await readFile(glue("table/edgelock.wasm"));
  await writeFile(dist("testing.wasm"), wasm);
  await writeFile(glue("table/wasm.js"), `export default ${JSON.stringify(wasm.toString("base64"))};\n`);
}

// Whoever prints a lease sees `Lease`, as in no bundle that shortens names. Of classes that are not
// public nobody has an object to print.
const contents = await readFile(path("ts/public.ts"), "utf8");
const named = {
  name: "named",
  setup: ({ onLoad }) => onLoad({ filter: /\bnpm\/ts\/.*\.ts$/ }, async ({ path }) => {
    const text = await readFile(path, "utf8");
    const withName = (head, name) => (new RegExp(`\\b${name}\\b`).test(contents) ? `${head} static name = "${name}";` : head);
    return { loader: "ts", contents: text.replace(/^export class (\w+).*\{$/gm, withName) };
  }),
};

async function bundle() {
  const options = {
    bundle: true,
    target: "es2022",
    platform: "neutral",
    sourcemap: true,
    // A host reads all of it at each cold start. Lines stay short enough for a stack trace, whose
    // names are in the map.
    minify: true,
    lineLimit: 120,
    plugins: [named],
    outdir: path("dist"),
    alias: { "edgelock-glue": glue("instantiate.js"), "edgelock-wasm": glue("wasm.js"), "edgelock-exchange": path("../src/web/exchange.js") },
    external: ["./edgelock.wasm", "./edgelock.wasm?module", "./text.cjs"],
  };
  const entries = { index: path("ts/inline.ts"), workerd: path("ts/workerd.ts"), "edge-light": path("ts/edge-light.ts") };
  await build({ ...options, entryPoints: entries, format: "esm", splitting: true, chunkNames: "shared" });
  const { metafile } = await build({
    ...options,
    entryPoints: { index: path("ts/require.ts") },
    format: "cjs",
    outExtension: { ".js": ".cjs" },
    metafile: true,
  });
  // In Node both kinds of modules share one copy, so that an error is an instance of the same class
  // for both. Bundlers that know the condition `module` take the ES module for both: it is in a
  // bundle once, and is read once at the start, where CommonJS in a bundle is read twice.
  const [{ exports }] = Object.values(
    (await build({ ...options, entryPoints: { index: entries.index }, format: "esm", write: false, metafile: true })).metafile.outputs,
  ).filter((output) => output.entryPoint);
  if (Object.keys(metafile.outputs).length !== 2) throw new Error("one file and its map were expected");
  // Node searches a CommonJS file that a module imports for the names of its exports: 20 ms for one
  // of this size. It does not follow a `require` whose value goes through a variable.
  await writeFile(dist("node.cjs"), `const edgelock = require("./index.cjs");\nmodule.exports = edgelock;\n`);
  await writeFile(dist("node.js"), `import edgelock from "./node.cjs";\nexport const { ${exports.sort().join(", ")} } = edgelock;\n`);
}

// The command-line tool uses the package as others do. It is no part of the package's module, so it
// is in nobody's bundle.
async function bundleTool() {
  await build({ entryPoints: [path("ts/cli/main.ts")], outfile: dist("cli.js"), bundle: true, target: "node20", platform: "node", format: "esm", external: ["edgelock"] });
}

// `edgelock/testing` uses the package as others do, too. So the package's module has nothing of it.
async function bundleTesting() {
  const options = {
    bundle: true,
    target: "es2022",
    platform: "neutral",
    outdir: path("dist"),
    alias: { "edgelock-table-glue": glue("table/instantiate.js"), "edgelock-table-wasm": glue("table/wasm.js") },
    external: ["edgelock", "node:fs", "./testing.wasm"],
  };
  const entry = (name) => path(`ts/testing/${name}.ts`);
  await build({ ...options, entryPoints: { testing: entry("inline"), "testing-node": entry("node"), "testing-workerd": entry("workerd") }, format: "esm" });
  await build({ ...options, entryPoints: { testing: entry("require") }, format: "cjs", outExtension: { ".js": ".cjs" } });
}

// Generated sources are in the package already, and tell a reader nothing. But Vite looks for what
// a map leaves out, and warns. The others are shown as they were written.
async function shortenMaps() {
  for (const name of (await readdir(path("dist"))).filter((name) => name.endsWith(".map"))) {
    const map = JSON.parse(await readFile(dist(name), "utf8"));
    map.sourcesContent = map.sources.map((source, i) => (source.includes("/build/") ? "// generated" : map.sourcesContent[i].replace(/ static name = .*/g, "")));
    await writeFile(dist(name), JSON.stringify(map));
  }
}

// The same text for both kinds of modules.
async function declare() {
  const [types] = generateDtsBundle(
    [{ filePath: path("ts/public.ts"), output: { noBanner: true, sortNodes: false, exportReferencedTypes: false } }],
    { preferredConfigPath: path("tsconfig.json") },
  );
  const text = `/// <reference lib="esnext.disposable" />\n${withOwnNames(types)}`;
  await Promise.all(["index.d.ts", "index.d.cts"].map((name) => writeFile(dist(name), text)));
  // One file, whose clients are those of the package.
  const table = await readFile(path("ts/testing/table.ts"), "utf8");
  const { outputText } = ts.transpileDeclaration(table, { compilerOptions: { target: ts.ScriptTarget.ES2022 } });
  await Promise.all(["testing.d.ts", "testing.d.cts"].map((name) => writeFile(dist(name), outputText)));
}

// If a type is called like a global of the DOM, the bundler calls it `Lock$1`, and exports it as
// `Lock`. Editors would show that name.
function withOwnNames(types) {
  const [text, renamed = ""] = types.split(/^export \{\n([^}]*)\};\s*(?:export \{\};\s*)?$/m);
  const names = [...renamed.matchAll(/(\w+)\$1 as \1,/g)].map(([, name]) => name);
  return names.reduce(
    (text, name) => text.replaceAll(new RegExp(`^(declare class|interface|type) ${name}\\$1\\b`, "gm"), `export $1 ${name}`).replaceAll(`${name}$1`, name),
    text,
  );
}

// The address of the repository is in Cargo.toml alone.
async function describe() {
  const [, address] = /^repository = "(.*)"$/m.exec(await readFile(path("../Cargo.toml"), "utf8"));
  const described = JSON.parse(await readFile(path("package.json"), "utf8"));
  described.repository = { type: "git", url: `git+${address}.git`, directory: "npm" };
  await writeFile(dist("package.json"), `${JSON.stringify(described, null, 2)}\n`);
}

await rm(path("dist"), { recursive: true, force: true });
await mkdir(path("dist"));
await wrapGlue("", "edgelock_js");
await wrapGlue("table/", "edgelock_table_js");
await writeModule();
await writeTable();
await bundle();
await bundleTool();
await bundleTesting();
await shortenMaps();
await declare();
await describe();
for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) await copyFile(path(`../${name}`), dist(name));
await copyFile(path("README.md"), dist("README.md"));
