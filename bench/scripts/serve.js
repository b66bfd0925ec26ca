// A server for the scripts in Node, which says where it listens.
import { createServer } from "node:http";

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
