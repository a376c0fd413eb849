import type { ChainEnd } from "./chain.ts";
import type { Seal } from "./seal.ts";

/** Milliseconds between two anchors of a file: each one costs several syncs of the disk. */
const ANCHOR_MS = 1_000;

/** Keeps the end of a chain with every seal of its file: soon after the first record, then at most once a second. */
export function createAnchoring(file: string, seals: ReadonlySet<Seal>) {
  let end: (ChainEnd & { readonly chain: string }) | undefined;
  /** Number of the record that was anchored last. */
  let anchored = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> = Promise.resolve();

  return {
    /** Notes the last record that is on the disk. */
    move(to: ChainEnd & { readonly chain: string }): void {
      end = to;
      if (seals.size === 0 || timer !== undefined) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          keep();
        },
        anchored === 0 ? 0 : ANCHOR_MS,
      );
      timer.unref?.();
    },
    /** Resolves once the last record is anchored. */
    async finish(): Promise<void> {
      clearTimeout(timer);
      timer = undefined;
      keep();
      await running;
    },
  };

  function keep(): void {
    if (!end || end.seq === anchored) return;
    const { seq, hash, chain } = end;
    anchored = seq;
    const timestamp = new Date().toISOString();
    running = running.then(async () => {
      const kept = await Promise.all(
        [...seals].map((seal) =>
          seal.keep({ chain, seq, hash, file, timestamp, key_id: seal.signer()?.keyId }),
        ),
      );
      // The next record anchors again, and so does the close.
      if (kept.includes(false) && anchored === seq) anchored = -1;
    });
  }
}
