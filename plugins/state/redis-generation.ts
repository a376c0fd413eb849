import { randomUUID } from "node:crypto";
import { GatewayError } from "../../core/mod.ts";
import { STATE_LOST, STATE_UNAVAILABLE } from "../../core/services/state.ts";
import { readIfExists, replaceFile } from "../lib/files.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Detects that Redis has lost what was stored in it. */
export interface Generation {
  /** The generation that this machine knows. */
  readonly current: string | undefined;
  /** Adopts the generation in Redis if none is known here. Rejects with `STATE_LOST`. */
  learn(): Promise<void>;
  /** Like {@link learn}, and begins the first generation if there is none anywhere. */
  check(): Promise<void>;
  /** Goes on with what Redis has now; false if nothing was lost. */
  acknowledge(): Promise<boolean>;
}

const MAX_TRIES = 10;
/** Generations before the current one that are known to be lost. */
const MAX_BEFORE = 32;
const PATTERN = /^[0-9a-f-]{36}$/;

/** Sets the key if it is still as it was read; an empty string stands for none. */
const CHANGE = `
local kept = redis.call("GET", KEYS[1]) or ""
if kept ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2])
return 1`;

/**
 * Keeps the name of what Redis holds both in Redis and in a local file. Absent in Redis but known here, or another one
 * than here: what was stored is lost. Absent in both: nothing was stored yet. Known in Redis alone: this machine is new.
 * Behind its own name, Redis keeps those of the lost generations that the operator knows about, so that one
 * acknowledgment is enough for all machines.
 */
export function createGeneration(
  connection: RedisConnection,
  { key, file, host }: { readonly key: string; readonly file: string | undefined; readonly host: string },
): Generation {
  let known: string | undefined;

  return {
    get current() {
      return known;
    },
    learn: () => compare(false),
    check: () => compare(true),
    async acknowledge() {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const local = await load();
        const text = await read();
        const [id = randomUUID(), ...before] = text === "" ? [] : text.split(" ");
        if (local === undefined || local === id || before.includes(local)) {
          if (text !== "") await adopt(id);
          return false;
        }
        if (
          !(await change(
            text,
            [id, ...[local, ...before].filter((each) => PATTERN.test(each)).slice(0, MAX_BEFORE)].join(" "),
          ))
        )
          continue;
        await adopt(id);
        return true;
      }
      throw createLostError(host);
    },
  };

  async function compare(mayBegin: boolean): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const text = await read();
      const local = await load();
      if (text === "") {
        if (local !== undefined) throw createLostError(host);
        if (!mayBegin) return;
        // Another gateway may begin it at the same moment: then the next try finds that one.
        await change("", randomUUID());
        continue;
      }
      const [id = "", ...before] = text.split(" ");
      if (id === local) return;
      if (local !== undefined && !before.includes(local)) throw createLostError(host);
      return adopt(id);
    }
    throw createLostError(host);
  }

  async function read(): Promise<string> {
    return (await connection.run("read", (redis) => redis.get(key))) ?? "";
  }

  async function change(from: string, to: string): Promise<boolean> {
    return (await connection.run("written", (redis) => redis.eval(CHANGE, 1, key, from, to))) === 1;
  }

  async function load(): Promise<string | undefined> {
    if (known !== undefined || file === undefined) return known;
    const text = await readIfExists(file, 1_024);
    if (text === undefined) return undefined;
    // A damaged copy is known to be another one than that in Redis, until it is acknowledged.
    known = PATTERN.test(text.trim()) ? text.trim() : "damaged";
    return known;
  }

  async function adopt(id: string): Promise<void> {
    if (file !== undefined)
      await replaceFile(file, { bytes: Buffer.from(`${id}\n`), mode: 0o600 }).catch((cause: unknown) => {
        const message = `What is in Redis at ${host} cannot be told from what will be later: ${GatewayError.from(cause).message}`;
        throw new GatewayError(STATE_UNAVAILABLE, message, { cause, data: { sent: false } });
      });
    known = id;
  }
}

function createLostError(host: string): GatewayError {
  return new GatewayError(
    STATE_LOST,
    `Redis at ${host} has lost what was stored in it: calls under an idempotency key are refused, as they may have been made before. Find out what was done (toolpipe audit export), then go on with: toolpipe state acknowledge`,
    { data: { sent: false } },
  );
}
