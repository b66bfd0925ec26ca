// Turns over the real bridge, many at once. What stays in Redis is checked here; growth.ts measures
// what stays in the host and in the bridge.
import { Client, HeldError, LostError, TimedOutError } from "edgelock";
import { type Bridge, check, sleep } from "./harness.js";

/** The name of the mix among the kinds of calls. */
export const MIX = "a mix of turns, over the real bridge";

const LANES = 16;
/** How many names a lane leaves held, one after another. */
const FORGOTTEN = 8;
/** Of a lane: also the lock, its neighbour, the reentrant and read/write locks, and the work. */
const NAMES = FORGOTTEN + 5;

type Turn = () => Promise<unknown>;

/** Makes turns of all kinds, and checks what they leave in Redis. */
export function mix(bridge: Bridge): (count: number) => Promise<void> {
  const mark = `soak-${crypto.randomUUID().slice(0, 8)}:`;
  const { url, credential } = bridge;
  const client = new Client({ url, credential, prefix: mark });
  const lanes = Array.from({ length: LANES }, (_, lane) => turns(client, mark, `${lane}`));
  return async (count) => {
    let made = 0;
    let late = 0;
    await Promise.all(lanes.map(async (lane) => {
      while (made < count) {
        const turn = lane[made++ % lane.length]!;
        if (await isLate(turn)) late++;
      }
    }));
    check(late <= count / 4, `${late} of ${count} turns were late`);
    // Waits for what goes on after the last turns.
    await sleep(50);
    await leavesFencesAlone(bridge, mark);
  };
}

function turns(client: Client, mark: string, lane: string): readonly Turn[] {
  const name = (what: string) => `${what}-${lane}`;
  const lock = client.lock(name("a"));
  const n = { key: `${mark}n` };
  const shared = client.lock("shared", { wait: 100 });
  const readWrite = client.readWrite(name("rw"));
  const once = client.once(name("once"), { keep: 1_000 });
  const throttle = client.throttle(name("throttle"), 10);
  let forgotten = 0;
  return [
    async () => (await lock.acquire()).release(),
    async () => {
      const [lease] = await lock.acquireAndRead([["GET", n]]);
      await lease.commit([["SET", n, lane, "PX", 1_000]]);
    },
    () => lock.run((lease) => lease.renew()),
    async () => (await client.reentrant(name("r"), lane).acquire()).release(),
    async () => (await client.semaphore("permits", LANES).acquire()).release(),
    async () => (await readWrite.read().acquire()).release(),
    async () => {
      const lease = await readWrite.write().acquire();
      await lease.downgrade();
      await lease.release();
    },
    async () => (await client.lockAll([name("a"), name("b")]).acquire()).release(),
    () => once.run(() => lane),
    () => throttle.tryPass(),
    // All lanes want this lock.
    async () => (await shared.acquire()).release(),
    async () => (await shared.acquire({ signal: AbortSignal.timeout(5) })).release(),
    // Nobody releases this lock.
    async () => (await client.lock(name(`c${forgotten++ % FORGOTTEN}`), { ttl: 500 }).acquire()).handOver(),
  ];
}

/** Whether it was late: another had the lock, its caller gave up, or the host stood still. */
async function isLate(turn: Turn): Promise<boolean> {
  try {
    await turn();
    return false;
  } catch (error) {
    const isAborted = error instanceof DOMException && error.name === "TimeoutError";
    if (isAborted || error instanceof HeldError || error instanceof LostError || error instanceof TimedOutError) return true;
    throw error;
  }
}

/** Fences are left for a week, and other keys for no longer than a receipt lives. */
async function leavesFencesAlone(bridge: Bridge, mark: string): Promise<void> {
  const script = `local fences, others = 0, {} for _, key in ipairs(redis.call('KEYS', '*' .. ARGV[1] .. '*')) do
    if string.find(key, ':fence$') then fences = fences + 1 elseif redis.call('PTTL', key) > 60000 then others[#others + 1] = key end
    end return {fences, others}`;
  const headers = { authorization: `Bearer ${bridge.credential}` };
  const response = await fetch(bridge.url, { method: "POST", headers, body: JSON.stringify(["EVAL", script, 0, mark]) });
  const { result } = (await response.json()) as { result: [number, string[]] };
  const [fences, others] = result;
  // Two names are shared by all lanes.
  check(fences <= LANES * NAMES + 2, `${fences} fences are left in Redis`);
  check(others.length === 0, `these are left in Redis: ${others.join(", ")}`);
}
