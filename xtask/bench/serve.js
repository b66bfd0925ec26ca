// What the scripts for Node have in common: the client's wasm, and a server that says where it listens.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

export const module = new WebAssembly.Module(readFileSync(new URL("./edgelock.wasm", import.meta.url)));

// Answers each request with the text that `answer` gives for its target.
export function serve(answer) {
  const server = createServer(async (request, response) => {
    try {
      response.end(await answer(request.url));
    } catch (error) {
      response.writeHead(500).end(String(error.stack));
    }
  });
  server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ event: "listen", port: server.address().port })));
}
