// A client that is made, and asked for a lock, while its module is loaded. Some hosts do not allow
// I/O or random numbers yet.
import { Client, type EdgelockError } from "edgelock";

const client = new Client({ url: "https://127.0.0.1:1", credential: "credential", maxAttempts: 1 });
const outcome = client
  .lock("a")
  .tryAcquire()
  .then(() => Promise.reject(new Error("there is no bridge")), (error: EdgelockError) => error);

export function atModuleLevel(): { client: Client; outcome: Promise<EdgelockError> } {
  return { client, outcome };
}
