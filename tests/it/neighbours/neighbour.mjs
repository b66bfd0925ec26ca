// Serves one library's lock to a test. A line of words asks, and a line of JSON answers: null if
// the library does not say.
import { createInterface } from "node:readline";

export async function serve(client) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [verb, ...words] = line.split(" ");
    console.log(JSON.stringify((await client[verb](...words)) ?? null));
  }
  process.exit();
}

/** Whether `promise` is fulfilled; false if it rejects with an error of that name. */
export const unless = (name, promise) =>
  promise.then(
    () => true,
    (error) => {
      if (error.name !== name) throw error;
      return false;
    },
  );
