import type { Redis } from "ioredis";
import type { RedisLink } from "./_redis-link.ts";
import type { Commons } from "./commons.ts";

/** What the commons are made of. */
export interface RedisCommonsParts {
  readonly link: RedisLink;
  readonly url: string;
  readonly prefix: string;
}

interface Listener {
  readonly channel: string;
  readonly hear: (message: string) => void;
  readonly onReturn: (() => void) | undefined;
}

const HOLD_NEWEST = `
if tonumber(redis.call("GET", KEYS[2]) or "0") > tonumber(ARGV[2]) then return 0 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[3])
redis.call("SET", KEYS[2], ARGV[2], "PX", ARGV[3])
return 1`;

/** What gateways that share a Redis have in common. Whoever listens needs a connection that does nothing else. */
export function redisCommons({ link, url, prefix }: RedisCommonsParts): Commons & { close(): Promise<void> } {
  const listeners = new Set<Listener>();
  let opening: Promise<Redis> | undefined;

  return {
    async tell(topic, message) {
      await link.run("written", (redis) => redis.publish(`${prefix}${topic}`, message));
    },
    listen(topic, hear, onReturn) {
      const listener = { channel: `${prefix}${topic}`, hear, onReturn };
      listeners.add(listener);
      // It is kept until there is a connection, and said again by itself on every later one.
      void open()
        .then((redis) => redis.subscribe(listener.channel))
        .catch(() => {});
      return () => void listeners.delete(listener);
    },
    async hold(name, text, ttlMs) {
      await link.run("written", (redis) => redis.set(`${prefix}${name}`, text, "PX", Math.ceil(ttlMs)));
    },
    holdNewest: (name, text, at, ttlMs) =>
      link.run("written", async (redis) => {
        const keys = [`${prefix}${name}`, `${prefix}${name}:at`];
        return (await redis.eval(HOLD_NEWEST, 2, ...keys, text, at, Math.ceil(ttlMs))) === 1;
      }),
    held: (name) => link.run("read", async (redis) => (await redis.get(`${prefix}${name}`)) ?? undefined),
    async storage() {
      const { redisStorage } = await import("../cache/redis-storage.ts");
      return redisStorage(url, `${prefix}cache`);
    },
    async close() {
      listeners.clear();
      (await opening?.catch(() => undefined))?.disconnect();
    },
  };

  function open(): Promise<Redis> {
    opening ??= import("ioredis").then((module) => {
      const redis = new module.Redis(url, {
        connectTimeout: 2_000,
        maxRetriesPerRequest: null,
        retryStrategy: (times) => Math.min(50 * 2 ** times, 1_000),
      });
      redis.on("error", () => {});
      redis.on("message", (channel, message) => {
        for (const listener of listeners) if (listener.channel === channel) listener.hear(message);
      });
      let isFirst = true;
      redis.on("ready", () => {
        if (!isFirst) for (const { onReturn } of listeners) onReturn?.();
        isFirst = false;
      });
      return redis;
    });
    return opening;
  }
}
