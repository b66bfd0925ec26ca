// The recipe of payments, over each server of Node's.
import { createServer } from "node:http";
import { bank, inExpress, inFastify, listener } from "../examples/recipes/payments.js";
import { listening } from "./between.js";
import { about, equal, eventually, type Suite } from "./harness.js";

/** The recipe's servers, each by its address. */
async function served(): Promise<Record<string, string>> {
  const fastify = await inFastify.listen({ port: 0, host: "127.0.0.1" });
  const servers = { node: await listening(createServer(listener)), express: await listening(createServer(inExpress)), fastify };
  return Object.fromEntries(Object.entries(servers).map(([name, url]) => [name, `${url}/payments`]));
}

const post = (url: string, account: string, key: string | undefined, body: string) => {
  const headers = { "content-type": "application/json", "x-account": account, ...(key !== undefined && { "idempotency-key": key }) };
  return fetch(url, { method: "POST", headers, body });
};

async function is_charged_once(url: string, account: string): Promise<void> {
  let charged = 0;
  const charge = bank.charge;
  bank.charge = async (who, cents, key) => {
    if (who === account) charged++;
    return charge(who, cents, key);
  };
  const first = await post(url, account, "k1", `{ "cents": 7 }`);
  const told = [first.status, first.headers.get("location"), await first.text()];
  equal(told, [201, "/payments/1", `{"receipt":"${account} paid 7"}`]);
  equal(first.headers.get("idempotent-replayed"), null);
  const again = await post(url, account, "k1", `{ "cents": 7 }`);
  equal([again.status, again.headers.get("location"), await again.text()], told);
  equal([again.headers.get("idempotent-replayed"), charged], ["true", 1]);
  // Another account may have the same key.
  equal((await post(url, `${account}-b`, "k1", `{ "cents": 8 }`)).status, 201);

  const wrongs = [
    [undefined, 7, 400],
    ["a b", 7, 400],
    ["k1", 9, 422],
  ] as const;
  for (const [key, cents, status] of wrongs) {
    const answer = await post(url, account, key, `{ "cents": ${cents} }`);
    equal([answer.status, answer.headers.get("content-type")], [status, "application/problem+json"]);
  }
  // What fails is not kept.
  equal((await post(url, account, "k2", "no JSON")).status, 500);
  equal(charged, 1);
}

async function is_refused_while_the_first_is_at_it(url: string, account: string): Promise<void> {
  const charge = bank.charge;
  let [begun, isOpen] = [false, false];
  bank.charge = async (who, cents, key) => {
    if (who === account) {
      begun = true;
      await eventually(() => isOpen);
    }
    return charge(who, cents, key);
  };
  const first = post(url, account, "k", `{ "cents": 7 }`);
  await eventually(() => begun);
  const second = await post(url, account, "k", `{ "cents": 7 }`);
  equal([second.status, Number(second.headers.get("retry-after")) > 0], [409, true]);
  isOpen = true;
  equal((await first).status, 201);
}

const promises = { is_charged_once, is_refused_while_the_first_is_at_it };

export async function payments(): Promise<Suite> {
  const suites = Object.entries(await served()).map(([name, url]) => about(`a_payment_by_${name}`, promises, (promise, { mark }) => promise(url, `${mark}${name}`)));
  return Object.assign({}, ...suites);
}
