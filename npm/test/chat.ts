// The recipe of a state for Vercel's Chat SDK does what the SDK's own state in memory does.
import { createMemoryState } from "@chat-adapter/state-memory";
import type { QueueEntry, StateAdapter } from "chat";
import { chatState } from "../examples/recipes/chat_state.js";
import { about, check, equal, eventually, type Stack, type Suite } from "./harness.js";

const LONG = 60_000;
/** No text that the states look into; braces and colons are in the ids of threads. */
const THREAD = "slack:C{1}:17.5";

type Promised = (state: StateAdapter) => Promise<void>;

const promises: Record<string, Promised> = {
  async locks_a_thread_for_one_token(state) {
    const lock = await state.acquireLock(THREAD, LONG);
    check(lock !== null && lock.threadId === THREAD && lock.token !== "", "it is locked");
    check(Math.abs(lock.expiresAt - Date.now() - LONG) < 5_000, "it says until when");
    equal(await state.acquireLock(THREAD, LONG), null);
    const stranger = { ...lock, token: "A".repeat(22) };
    equal([await state.extendLock(lock, LONG), await state.extendLock(stranger, LONG)], [true, false]);
    await state.releaseLock(stranger);
    equal(await state.acquireLock(THREAD, LONG), null);
    await state.releaseLock(lock);
    equal(await state.extendLock(lock, LONG), false);
    const next = await state.acquireLock(THREAD, LONG);
    check(next !== null && next.token !== lock.token, "another token");
    // What is over is no error.
    await state.releaseLock(lock);
    await state.forceReleaseLock(THREAD);
    equal(await state.extendLock(next, LONG), false);
    await state.releaseLock(next);
    await state.forceReleaseLock(THREAD);
    const other = await state.acquireLock(`${THREAD}:other`, LONG);
    check(other !== null && (await state.acquireLock(THREAD, LONG)) !== null, "threads are apart");
  },

  async frees_a_thread_once_its_time_is_over(state) {
    const lock = (await state.acquireLock(THREAD, 100))!;
    await eventually(async () => (await state.acquireLock(THREAD, LONG)) !== null);
    equal(await state.extendLock(lock, LONG), false);
  },

  async keeps_values_and_subscriptions(state) {
    equal(await state.get("a"), null);
    await state.set("a", { n: [1, "x", null] });
    equal(await state.get("a"), { n: [1, "x", null] });
    equal([await state.setIfNotExists("a", 2), await state.setIfNotExists("b", "2", LONG)], [false, true]);
    equal([await state.get("a"), await state.get("b")], [{ n: [1, "x", null] }, "2"]);
    await state.delete("a");
    equal([await state.get("a"), await state.setIfNotExists("a", false), await state.get("a")], [null, true, false]);
    await state.set("brief", 1, 50);
    await eventually(async () => (await state.get("brief")) === null);
    equal(await state.isSubscribed(THREAD), false);
    await state.subscribe(THREAD);
    await state.subscribe(THREAD);
    equal([await state.isSubscribed(THREAD), await state.isSubscribed("slack")], [true, false]);
    await state.unsubscribe(THREAD);
    equal(await state.isSubscribed(THREAD), false);
  },

  async keeps_lists(state) {
    equal(await state.getList("l"), []);
    for (const n of [1, 2, 3]) await state.appendToList("l", { n }, { maxLength: 2, ttlMs: LONG });
    await state.appendToList("l", "last");
    equal(await state.getList("l"), [{ n: 2 }, { n: 3 }, "last"]);
    await state.delete("l");
    equal(await state.getList("l"), []);
    await state.appendToList("brief", 1, { ttlMs: 50 });
    await eventually(async () => (await state.getList("brief")).length === 0);
  },

  async queues_what_comes_while_a_thread_is_busy(state) {
    const entry = (text: string) => ({ enqueuedAt: 1, expiresAt: Date.now() + LONG, message: { text } }) as unknown as QueueEntry;
    equal([await state.queueDepth(THREAD), await state.dequeue(THREAD)], [0, null]);
    const depths = [];
    for (const text of ["a", "b", "c"]) depths.push(await state.enqueue(THREAD, entry(text), 2));
    equal([depths, await state.queueDepth(THREAD)], [[1, 2, 2], 2]);
    const texts = [await state.dequeue(THREAD), await state.dequeue(THREAD)].map((taken) => (taken?.message as { text?: string }).text);
    equal([texts, await state.dequeue(THREAD)], [["b", "c"], null]);
  },
};

const states: Record<string, (stack: Stack) => StateAdapter> = {
  in_memory: () => createMemoryState(),
  behind_a_bridge: (stack) => chatState(stack.client({ prefix: "" }), stack.bridge, `${stack.mark}chat`),
};

async function over(state: StateAdapter, promise: Promised): Promise<void> {
  await state.connect();
  await promise(state);
  await state.disconnect();
}

export const chats: Suite = Object.assign(
  {},
  ...Object.entries(states).map(([where, make]) => about(`a_chat_s_state_${where}`, promises, (promise, stack) => over(make(stack), promise))),
);
