// The same for its peer.
import { Redis } from "@upstash/redis";
import { upstash } from "../peer.js";

export function connect(url, token) {
  return upstash(new Redis({ url, token }));
}
