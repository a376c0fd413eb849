import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { GatewayError, type JsonObject } from "../../core/mod.ts";
import type { StateStore } from "../../core/services/state.ts";
import { getErrorCode, makeFolder } from "../lib/files.ts";
import { type Anchor, type Seal, type Signer, signAnchor, toAnchor } from "./seal.ts";

/** Keys of the anchors in the state store; the name of the chain follows. */
export const ANCHORS = "audit/";

/** Milliseconds after the first anchor until old ones are removed. */
const PRUNE_MS = 600_000;
const DAY_MS = 86_400_000;

interface AnchorOptions {
  /** The state store of the gateway. One that is lost with the process keeps no anchors. */
  readonly store: StateStore | undefined;
  /** File that gets a line for each anchor. */
  readonly file: string | undefined;
  /** Age above which anchors are removed. */
  readonly keepDays: number;
  readonly signer: () => Signer | undefined;
  /** Called with the first failure, until anchors are kept again. */
  readonly report: (error: GatewayError) => void;
}

/** A seal that keeps anchors in the state store, and in a file of the user's choice. */
export interface Anchors extends Seal {
  close(): void;
}

/** Creates the seal of a gateway. Nothing is written before the first record. */
export function createAnchors({ store, file, keepDays, signer, report }: AnchorOptions): Anchors {
  const kept = store?.volatile === true ? undefined : store;
  let isFailing = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Lines are written one after the other. */
  let exporting: Promise<void> = Promise.resolve();

  return {
    signer,
    async keep(given) {
      const anchor = signAnchor(given, signer());
      const outcomes = await Promise.allSettled([keepInStore(anchor), exportLine(anchor)]);
      const failed = outcomes.find((outcome) => outcome.status === "rejected");
      if (failed && !isFailing) report(createAnchorError(failed.reason));
      isFailing = failed !== undefined;
      return !isFailing;
    },
    close() {
      clearTimeout(timer);
    },
  };

  async function keepInStore(anchor: Anchor): Promise<void> {
    if (!kept) return;
    const key = `${ANCHORS}${anchor.chain}`;
    if (anchor.removed) {
      await kept.delete(key);
      return;
    }
    await kept.replace(key, { ...anchor } as unknown as JsonObject);
    timer ??= setTimeout(() => void prune().catch(() => {}), PRUNE_MS);
    timer.unref?.();
  }

  async function prune(): Promise<void> {
    for (const { key, value, version } of (await kept?.list(ANCHORS)) ?? []) {
      const anchor = toAnchor(value);
      if (anchor && Date.now() - Date.parse(anchor.timestamp) > keepDays * DAY_MS)
        await kept?.delete(key, version);
    }
  }

  function exportLine(anchor: Anchor): Promise<void> {
    if (file === undefined) return Promise.resolve();
    exporting = exporting.catch(() => {}).then(() => appendLine(resolve(file), JSON.stringify(anchor)));
    return exporting;
  }
}

async function appendLine(file: string, line: string): Promise<void> {
  await makeFolder(dirname(file));
  const handle = await open(file, "a", 0o600);
  try {
    // A line that was cut by a full disk ends here, and costs no other one.
    const { bytesWritten } = await handle.write(`${line}\n`);
    if (bytesWritten !== Buffer.byteLength(line) + 1) {
      await handle.write("\n");
      throw Object.assign(new Error(`${file}: a line was written in part.`), { code: "ENOSPC" });
    }
    await handle.datasync().catch(() => {});
  } finally {
    await handle.close();
  }
}

function createAnchorError(cause: unknown): GatewayError {
  const code = GatewayError.is(cause) ? cause.code : getErrorCode(cause);
  const why = code === undefined ? "" : ` (${code})`;
  return new GatewayError(
    "INTERNAL",
    `The end of the audit is not kept elsewhere${why}: until it is, "audit verify" does not see if records at the end are cut off.`,
    { cause, data: { plugin: "audit", hook: "audit" } },
  );
}
