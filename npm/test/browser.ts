// The suites in a browser, started by its page. The examples are not among them, since they are for
// servers. A browser has few connections, so only what hardly sends anything runs at once.
import { deadlines } from "./deadlines.js";
import { type Bridge, run } from "./harness.js";
import { alone, promises } from "./suites.js";

Object.assign(globalThis, {
  runSuites(bridge: Bridge, print: (line: string) => void): Promise<boolean> {
    return run(bridge, [...promises, ...alone], print, [deadlines]);
  },
});
