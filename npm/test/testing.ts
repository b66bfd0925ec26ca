// What is promised over real bridges, over the table of `edgelock/testing`, in Node.
import { Table } from "edgelock/testing";
import { contract } from "./contract.js";
import { apart, run } from "./harness.js";
import { ofKinds } from "./suites.js";

const table = new Table();
const bridge = { url: "https://table.test", credential: "table" };

globalThis.fetch = (async (url: string, init: RequestInit) => {
  const { signal } = new AbortController();
  const response = await table.fetch(url, { method: "POST", redirect: "manual", headers: {}, signal, ...(init as object) });
  return { ...response, json: async () => JSON.parse(await response.text()) };
}) as unknown as typeof fetch;

// They take commands that the table does not know.
const [, most] = apart(contract, "every_reply_of_redis_arrives_as_it_is");
const [, promises] = apart(most, "integers_arrive_with_every_digit_or_are_said_to_be_rounded");

// One after another: the table takes the time of this process, and leases are counted in seconds.
run(bridge, [promises, ...ofKinds], console.log).then((passed) => process.exit(passed ? 0 : 1));
