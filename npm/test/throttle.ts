// The promises of throttles. They are those of tests/it/throttle.rs, with the same names.
import type { Throttle, ThrottleOutcome } from "edgelock";
import { check, equal, eventually, Network, type Stack, type Suite, thrown } from "./harness.js";

/** A window that no test sits out. */
const WINDOW = 600_000;
const PASSED: ThrottleOutcome = { passed: true };

const throttle = (stack: Stack, network: object = {}): Throttle => stack.client(network).throttle("a", WINDOW);
const isClosed = async (stack: Stack): Promise<boolean> => (await stack.redis(`EXISTS {${stack.mark}a}:throttle`)) === 1;

function isThrottled(outcome: ThrottleOutcome): void {
  check(!outcome.passed && outcome.retryAfter > 0 && outcome.retryAfter <= WINDOW, JSON.stringify(outcome));
}

export const throttles: Suite = {
  async one_call_passes_in_a_window_and_the_others_are_told_how_long_it_lasts(stack) {
    const network = new Network();
    const ours = throttle(stack, network);
    equal([await ours.tryPass(), ours.name], [PASSED, "a"]);
    for (let count = 0; count < 3; count++) isThrottled(await ours.tryPass());
    equal(network.seen.length, 4);
    isThrottled(await throttle(stack).tryPass());
    // The window of the call that passed counts, not that of the call that asks.
    equal((await stack.client().throttle("a", 1).tryPass()).passed, false);
    equal(await stack.client().throttle("b", WINDOW).tryPass(), PASSED);
  },

  async a_call_that_was_given_up_gives_its_pass_back(stack) {
    const [network, controller] = [new Network("withhold the answer"), new AbortController()];
    const call = throttle(stack, network).tryPass({ signal: controller.signal });
    await eventually(() => isClosed(stack));
    const why = new Error("enough");
    controller.abort(why);
    equal((await thrown(call)) === why, true);
    await eventually(async () => !(await isClosed(stack)));
    equal(await throttle(stack).tryPass(), PASSED);
  },
};
