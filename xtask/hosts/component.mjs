// A host of WASI 0.2: jco on Node. `node component.mjs FILE [ARGUMENT…]` runs a component. With
// its file in COMPONENT, serves it, and says where as `workerd` does.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

import { transpile } from "@bytecodealliance/jco-transpile";
import { _setArgs } from "@bytecodealliance/preview2-shim/cli";
import { HTTPServer } from "@bytecodealliance/preview2-shim/http";

const [file] = process.argv.slice(2);
// The component's own begin with its file.
_setArgs(process.argv.slice(2));
const served = process.env.COMPONENT;
// Where what is generated finds the shim.
const modules = join(dirname(fileURLToPath(import.meta.url)), "node_modules");
await mkdir(modules, { recursive: true });
const folder = await mkdtemp(join(modules, ".component-"));
try {
  const options = { name: "component", noTypescript: true, outDir: folder };
  const { files } = await transpile(served ?? file, options);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const component = await import(pathToFileURL(join(folder, "component.js")));
  if (served) {
    const server = new HTTPServer(component.incomingHandler);
    server.listen(0, "127.0.0.1");
    console.log(JSON.stringify({ event: "listen", port: server.address().port }));
  } else {
    component.run.run();
  }
} finally {
  await rm(folder, { recursive: true });
}
