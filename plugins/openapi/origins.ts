import { GatewayError } from "../../core/mod.ts";
import { readState, type StateStore, updateState } from "../../core/services/state.ts";
import { sha256Hex } from "../lib/hash.ts";

/** Origins that requests and credentials of an API may be sent to. */
export interface Origins {
  /** Learns the origins that the document names, if they were never known. */
  learn(named: readonly string[]): Promise<void>;
  /** Throws unless a URL has one of the origins. */
  check(url: string): void;
}

const PREFIX = "openapi-origins/";
/** A damaged record allows no origin but those of the config. */
const UNKNOWN = { origins: [] };

/**
 * Creates the origins of an API. The document of an API may be on a server that others change: one that suddenly names
 * another server, or another URL for tokens, must not get the credentials. What it names when it is first used is
 * remembered, and the config can name more.
 */
export function createOrigins({
  id,
  document,
  configured,
  store,
}: {
  readonly id: string;
  readonly document: string;
  /** URLs that the config names. */
  readonly configured: readonly string[];
  readonly store: StateStore | undefined;
}): Origins {
  const allowed = new Set(configured.map(toOrigin));
  let isLearnt = false;
  return {
    async learn(named) {
      const found = [...new Set(named.map(toOrigin))].filter((origin) => origin !== "").toSorted();
      const known = await recall(found);
      for (const origin of known) allowed.add(origin);
      isLearnt = true;
    },
    check(url) {
      const origin = toOrigin(url);
      if (isLearnt && allowed.has(origin)) return;
      throw new GatewayError(
        "DENIED",
        `"${id}" is not called: its document now names ${origin}, which it did not when it was first used, so neither the request nor a credential is sent there. If that is right, add it to adapters.${id}.origins.`,
        { data: { adapter: id, origin, sent: false } },
      );
    },
  };

  /** Under the URL of the document too, as another document is another API; hashed, as it may hold a token. */
  async function recall(found: readonly string[]): Promise<readonly string[]> {
    if (!store) return found;
    const key = `${PREFIX}${id}/${sha256Hex(document)}`;
    const known = await readState(store, key, UNKNOWN);
    if (known) return toStrings(known["origins"]);
    // Another gateway may have been first.
    let first: readonly string[] = found;
    await updateState(
      store,
      key,
      (now) => {
        first = now ? toStrings(now["origins"]) : found;
        return now ? undefined : { origins: [...found] };
      },
      UNKNOWN,
    );
    return first;
  }
}

/** Returns the origin of a URL; empty if it has none. */
function toOrigin(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}

function toStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
