// Serves the cases in Node, as a Worker does in workerd.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Redis } from "@upstash/redis";
import { answer, prepare } from "./cases.js";

const { BRIDGE_URL: url, BRIDGE_TOKEN: token } = process.env;
const module = new WebAssembly.Module(readFileSync(new URL("./edgelock.wasm", import.meta.url)));
const cases = await prepare(module, new Redis({ url, token }), url, token);

const server = createServer(async (request, response) => {
  try {
    response.end(await answer(cases, request.url));
  } catch (error) {
    response.writeHead(500).end(String(error.stack));
  }
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ event: "listen", port: server.address().port })));
