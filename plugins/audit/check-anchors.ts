import { dirname } from "node:path";
import { toTerminalLine } from "../lib/terminal/output.ts";
import { type Anchor, isSigned, type Signer } from "./seal.ts";
import type { AuditFault, Link, Verified, VerifyOptions } from "./verify.ts";

const DAY_MS = 86_400_000;

interface Place {
  readonly file: string;
  readonly line: number | undefined;
  readonly seq: number;
  readonly hash: string;
}

/** Records in the files of the chains that have an anchor. */
export interface ChainSurvey {
  add(file: string, link: Link, line?: number): void;
  isAnchored(chain: string): boolean;
  /** The last record of a chain. */
  end(chain: string): Place | undefined;
  /** The record that an anchor names, as it is now. */
  find(anchor: Anchor): Place | undefined;
}

/** Creates a survey. Of a chain, it keeps the last record and those that anchors name. */
export function createChainSurvey(anchors: readonly Anchor[]): ChainSurvey {
  const chains = new Set(anchors.map(({ chain }) => chain));
  const named = new Set(anchors.map(toId));
  const ends = new Map<string, Place>();
  const found = new Map<string, Place>();
  return {
    add(file, { chain, seq, hash }, line) {
      if (!chains.has(chain)) return;
      const place = { file, line, seq, hash };
      if (seq > (ends.get(chain)?.seq ?? 0)) ends.set(chain, place);
      const id = toId({ chain, seq });
      // The first one: a line that was added behind it must not hide that it was changed.
      if (named.has(id) && !found.has(id)) found.set(id, place);
    },
    isAnchored: (chain) => chains.has(chain),
    end: (chain) => ends.get(chain),
    find: (anchor) => found.get(toId(anchor)),
  };
}

function toId({ chain, seq }: Pick<Anchor, "chain" | "seq">): string {
  return `${seq} ${chain}`;
}

interface Context extends VerifyOptions {
  readonly signer: Signer | undefined;
  readonly survey: ChainSurvey;
  /** Adds the files beside those that are verified. */
  surveyOthers(): Promise<void>;
}

/** Compares the files with the anchors, and adds what these show: files that were cut, removed or written anew. */
export async function checkAnchors(
  verified: readonly Verified[],
  context: Context,
): Promise<readonly Verified[]> {
  const { anchors = [], survey, surveyOthers } = context;
  const open = anchors.filter((anchor) => !anchor.removed && !survey.find(anchor));
  if (open.length > 0) await surveyOthers();
  const result = new Map(verified.map((each) => [each.file, each]));
  const removed = new Set(
    anchors.filter((anchor) => anchor.removed && isOwn(anchor, context)).map(({ chain }) => chain),
  );
  // The latest anchor of a chain says most.
  for (const anchor of anchors.toSorted((a, b) => b.seq - a.seq)) {
    if (anchor.removed || (removed.has(anchor.chain) && !survey.end(anchor.chain))) continue;
    const fault = findFault(anchor, context, result);
    if (!fault) continue;
    const before = result.get(fault.file) ?? { file: fault.file, records: 0, chains: 0, isTorn: false };
    // The first fault of a file explains those after it.
    if (!before.fault) result.set(fault.file, { ...before, fault });
  }
  return [...result.values()];
}

function findFault(
  anchor: Anchor,
  context: Context,
  verified: ReadonlyMap<string, Verified>,
): AuditFault | undefined {
  const { survey, folders = [], keepDays = Number.POSITIVE_INFINITY } = context;
  const found = survey.find(anchor);
  const end = survey.end(anchor.chain);
  const isNamed = verified.has(anchor.file);
  const file = found?.file ?? end?.file ?? anchor.file;
  // What comes after the first fault of a file was not read.
  if (verified.get(file)?.fault) return undefined;
  const isHere = verified.has(file) || isNamed || folders.includes(dirname(anchor.file));
  if (!isHere) return undefined;
  if (!isOwn(anchor, context)) {
    // Another installation shares the store: its anchor says nothing about files that are not here.
    if (end === undefined && !isNamed && anchor.key_id !== context.signer?.keyId) return undefined;
    return { kind: "anchor", file, reason: "has an anchor that was changed, or is under another key" };
  }
  const when = toTerminalLine(anchor.timestamp);
  if (found) {
    if (found.hash === anchor.hash) return undefined;
    const reason = `was rewritten: it is not the one that was there on ${when}`;
    return {
      kind: "rewritten",
      file,
      ...(found.line !== undefined && { line: found.line }),
      seq: anchor.seq,
      reason,
    };
  }
  if (end) {
    const count = anchor.seq - end.seq;
    if (count <= 0)
      return { kind: "missing", file, seq: anchor.seq, reason: "is gone, and records after it are not" };
    const reason = `is the last: ${formatRecords(count)} after it ${count === 1 ? "was" : "were"} cut off; on ${when} there ${anchor.seq === 1 ? "was" : "were"} ${anchor.seq}`;
    return { kind: "cut", file, ...(end.line !== undefined && { line: end.line }), seq: end.seq, reason };
  }
  if (Date.now() - Date.parse(anchor.timestamp) > keepDays * DAY_MS) return undefined;
  return {
    kind: "missing",
    file,
    reason: `${isNamed ? "has lost what was in it" : "is missing"}: on ${when} it had ${formatRecords(anchor.seq)} of a chain that is in no file here`,
  };
}

/** Returns whether an anchor was signed under the key; one of records without a key has no signature. */
function isOwn(anchor: Anchor, { signer }: Pick<Context, "signer">): boolean {
  if (anchor.key_id === undefined) return anchor.mac === undefined;
  return signer !== undefined && anchor.key_id === signer.keyId && isSigned(anchor, signer);
}

function formatRecords(count: number): string {
  return count === 1 ? "1 record" : `${count} records`;
}
