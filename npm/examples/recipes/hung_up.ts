// Aborted when the client of a response of Node's hangs up.
import type { ServerResponse } from "node:http";

export function hungUp(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  // Comes after the end of each response, too. Then nobody listens any more.
  response.once("close", () => controller.abort());
  return controller.signal;
}
