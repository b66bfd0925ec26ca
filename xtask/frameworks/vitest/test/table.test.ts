// These tests need no server: the table is in their process, and fake timers turn its clock.
import { LostError } from "edgelock";
import { Table } from "edgelock/testing";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("turns the table and its clients together", async () => {
  const table = new Table();
  const lock = table.client().lock("a", { ttl: 10_000 });
  const lease = await lock.acquire();
  const full = lease.remaining;
  await vi.advanceTimersByTimeAsync(4_000);
  expect(full - lease.remaining).toBeCloseTo(4_000, 0);
  expect(table.run("PTTL", "a")).toBe(6_000);
  await vi.advanceTimersByTimeAsync(6_001);
  await expect(lease.renew()).rejects.toMatchObject({ code: "expired" });
  expect(await lock.tryAcquire()).not.toBe(null);
});

it("wakes a waiter when a dead holder's time is over", async () => {
  const lock = new Table().client().lock("a", { ttl: 10_000, wait: 30_000 });
  const died = await lock.acquire();
  const waiter = lock.acquire();
  await vi.advanceTimersByTimeAsync(11_000);
  expect((await waiter).fence).toBeGreaterThan(died.fence);
});

it("has a lease lost in the middle of its work", async () => {
  const table = new Table();
  const lease = await table.client().lock("a").acquire();
  table.expire("a");
  await expect(lease.commit([["INCR", { key: "n" }]])).rejects.toBeInstanceOf(LostError);
  expect(table.run("GET", "n")).toBe(null);
});

it("sends again what was lost, by fake timers too", async () => {
  const table = new Table();
  const lease = await table.client().lock("a").acquire();
  table.loseNextReply();
  const writes = lease.commit([["INCR", { key: "n" }]]);
  await vi.runAllTimersAsync();
  await writes;
  expect(table.run("GET", "n")).toBe("1");
});
