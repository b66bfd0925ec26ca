// The recipe of a provider for Medusa does what its interface asks for.
import { EdgelockProvider } from "../examples/recipes/medusa.js";
import { check, equal, eventually, type Stack, type Suite, thrown } from "./harness.js";

const providers = (stack: Stack): [EdgelockProvider, EdgelockProvider] => {
  const make = () => new EdgelockProvider({}, { client: stack.client({ prefix: "" }), prefix: stack.mark });
  return [make(), make()];
};
const code = async (call: Promise<unknown>) => ((await thrown(call)) as { code?: string }).code;

export const medusas: Suite = {
  async medusa_may_name_no_key_and_more_than_one_lease_has(stack) {
    const [a, b] = providers(stack);
    equal(await a.execute([], async () => "done"), "done");
    // As the lines of a large cart.
    const keys = Array.from({ length: 70 }, (_, at) => `item:${at}`);
    const others = (signal?: AbortSignal) => {
      check(signal?.aborted === false, "it is told if a lock is lost");
      return Promise.all([0, 35, 69].map((at) => code(b.acquire(`item:${at}`))));
    };
    equal(await a.execute(keys, others), ["held", "held", "held"]);
    let inside = 0;
    const alone = async () => {
      check(++inside === 1, "alone");
      await null;
      inside--;
    };
    // The third waits for the first key, and must not keep the others from the last one.
    await Promise.all([a.execute(keys, alone), b.execute([...keys].reverse(), alone), b.execute(["item:0", "item:69"], alone)]);
  },

  async medusa_runs_one_job_at_a_time_under_all_its_keys(stack) {
    const [a, b] = providers(stack);
    let [inside, most, done] = [0, 0, 0];
    const job = async (signal?: AbortSignal) => {
      most = Math.max(most, ++inside);
      check(signal?.aborted === false, "it is told if a lock is lost");
      await null;
      inside--;
      return ++done;
    };
    const jobs = [a.execute(["x", "y"], job, { timeout: 20 }), b.execute(["y", "x"], job, { timeout: 20 }), a.execute("x", job, { timeout: 20 })];
    equal([(await Promise.all(jobs)).sort(), most], [[1, 2, 3], 1]);
    // What a job throws is passed on, and the keys are free.
    equal(((await thrown(a.execute("x", () => Promise.reject(new Error("no stock"))))) as Error).message, "no stock");
    await b.acquire("x");
    equal(await code(a.execute(["y", "x"], job, { timeout: 1 })), "held");
    await b.release("x");
    equal(await a.execute(["y", "x"], job), 4);
  },

  async a_key_of_medusa_is_its_owner_s_in_every_process(stack) {
    const [a, b] = providers(stack);
    await a.acquire("cart", { ownerId: "ann", expire: 30 });
    equal(await code(b.acquire("cart", { ownerId: "bob" })), "held");
    equal([await b.release("cart", { ownerId: "bob" }), await b.release("cart")], [false, false]);
    const ends = async () => Number(await stack.redis(`PTTL {${stack.mark}}:cart:lock`));
    check((await ends()) <= 30_000, "it expires");
    // Its owner takes it for longer, from another process.
    await b.acquire("cart", { ownerId: "ann", expire: 90 });
    check((await ends()) > 60_000, "it is extended");
    equal([await b.release("cart", { ownerId: "ann" }), await a.release("cart", { ownerId: "ann" })], [true, false]);
    await b.acquire("cart", { ownerId: "bob" });
    equal(await b.release("cart", { ownerId: "bob" }), true);
  },

  async without_an_owner_a_key_of_medusa_is_taken_once_and_released_by_anybody(stack) {
    const [a, b] = providers(stack);
    await a.acquire("k");
    equal(await code(a.acquire("k")), "held");
    equal([await b.release("k"), await b.release("k")], [true, false]);
  },

  async of_several_keys_of_medusa_all_are_acquired_or_none(stack) {
    const [a, b] = providers(stack);
    await b.acquire("y", { ownerId: "bob" });
    equal(await code(a.acquire(["x", "y"], { ownerId: "ann" })), "held");
    await b.acquire("x", { ownerId: "bob" });
    const waits = a.acquire(["x", "y"], { ownerId: "ann", awaitQueue: true });
    await eventually(async () => Number((await stack.client({ prefix: "" }).lock(`{${stack.mark}}:x:lock`).inspect()).waiters) === 1);
    await b.releaseAll({ ownerId: "ann" });
    await b.releaseAll({ ownerId: "bob" });
    await waits;
    equal(await b.release(["x", "y"], { ownerId: "ann" }), true);
  },
};
