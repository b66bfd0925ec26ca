// The suites in a browser, started by its page. A browser has few connections, so no two tests run
// at once.
import { type Bridge, run } from "./harness.js";
import { elsewhere } from "./suites.js";

Object.assign(globalThis, {
  runSuites(bridge: Bridge, print: (line: string) => void): Promise<boolean> {
    return run(bridge, [...elsewhere.beside, ...elsewhere.alone], print);
  },
});
