import { join } from "node:path";
import type { JsonObject } from "../../core/mod.ts";
import { stateFolder } from "../lib/folders.ts";
import { toTerminalLine } from "../lib/terminal/output.ts";
import { type AuditLine, readAudit } from "./audit-files.ts";
import { hashRecord, NOTHING_BEFORE } from "./chain.ts";
import { type ChainSurvey, checkAnchors, createChainSurvey } from "./check-anchors.ts";
import { readKeyFile } from "./key.ts";
import { type Anchor, createSigner, type Signer } from "./seal.ts";

/**
 * What is wrong: a record was changed by itself, removed from the middle, added or moved (`changed`); the end of a file is
 * gone (`cut`); a file, or all its records of one chain, is gone (`missing`); records have hashes that fit, but not under
 * the key, or not those of their anchor (`rewritten`); the anchor itself was changed (`anchor`); the key is not here (`key`).
 */
export type AuditFaultKind = "changed" | "cut" | "missing" | "rewritten" | "anchor" | "key";

/** First record of a file that was changed, removed, added or moved, or what else is wrong with the file. */
export interface AuditFault {
  readonly kind: AuditFaultKind;
  readonly file: string;
  /** Missing if no single line is at fault. */
  readonly line?: number;
  /** Number of the record in its chain. */
  readonly seq?: number;
  readonly request_id?: string;
  /** End of a sentence that begins with "record 5". */
  readonly reason: string;
}

/** Result of the check of a file. */
export interface Verified {
  readonly file: string;
  readonly records: number;
  readonly chains: number;
  /** Whether the last line is unfinished: its process was killed before the write was confirmed. */
  readonly isTorn: boolean;
  /** Records whose hash was made under the key; the others are of an old version, or of a sink that has no key. */
  readonly keyed?: number;
  /** Set if nothing shows whether the end was cut: there is neither a closing record nor an anchor. */
  readonly isOpen?: true;
  readonly fault?: AuditFault;
}

/** Key and anchors that records are verified with. */
export interface VerifyOptions {
  /** Key of the installation; without it, that in the state folder. */
  readonly key?: Uint8Array | undefined;
  /** Where files end, as it was kept elsewhere. */
  readonly anchors?: readonly Anchor[];
  /** Folders all of whose files are given: a file there that only an anchor names is missing. */
  readonly folders?: readonly string[];
  /** Days after which a file may have been removed. */
  readonly keepDays?: number;
}

/** The place of a record. */
export interface Link {
  readonly chain: string;
  readonly seq: number;
  readonly prev_hash: string;
  readonly hash: string;
  readonly key_id?: string | undefined;
}

/**
 * Checks that every record of these files is unchanged and follows its predecessor. A file may continue another one,
 * or one of `beside`, as it does after a rotation.
 */
export async function verifyRecords(
  files: readonly string[],
  beside: readonly string[] = [],
  options: VerifyOptions = {},
): Promise<readonly Verified[]> {
  const key = options.key ?? readKeyFile(join(stateFolder(), "audit.key"));
  const signer = key && createSigner(Buffer.from(key));
  const survey = createChainSurvey(options.anchors ?? []);
  const all = [...new Set([...files, ...beside])];
  const elsewhere = new Map<string, Promise<Map<string, Link>>>();
  const getLinks = (file: string): Promise<Map<string, Link>> => {
    const known = elsewhere.get(file) ?? readLinks(file);
    elsewhere.set(file, known);
    return known;
  };
  const find = async (hash: string, except: string): Promise<Link | undefined> => {
    for (const file of all) {
      const found = file === except ? undefined : (await getLinks(file)).get(hash);
      if (found) return found;
    }
  };
  const verified: Verified[] = [];
  for (const file of files) verified.push(await verifyFile(file, (hash) => find(hash, file), signer, survey));
  const others = beside.filter((file) => !files.includes(file));
  const surveyOthers = async (): Promise<void> => {
    for (const file of others) for (const link of (await getLinks(file)).values()) survey.add(file, link);
  };
  return checkAnchors(verified, { ...options, signer, survey, surveyOthers });
}

async function verifyFile(
  file: string,
  find: (hash: string) => Promise<Link | undefined>,
  signer: Signer | undefined,
  survey: ChainSurvey,
): Promise<Verified> {
  const lastLinks = new Map<string, Link>();
  const seen = new Map<string, Link>();
  const open = new Set<string>();
  let records = 0;
  let keyed = 0;
  let isTorn = false;
  for await (const line of readAudit(file)) {
    if (!line.isWhole && !line.record) {
      isTorn = true;
      break;
    }
    const link = toLink(line.record);
    if (link) survey.add(file, link, line.line);
    const found = await findFault(line, link);
    if (found)
      return {
        ...done(),
        fault: createFault(
          file,
          line,
          typeof found === "string" ? { kind: "changed", reason: found } : found,
        ),
      };
    if (!link) continue;
    records++;
    if (link.key_id !== undefined) {
      keyed++;
      if (line.record?.["event"] === "note" && line.record["outcome"] === "closed") open.delete(link.chain);
      else open.add(link.chain);
    }
    lastLinks.set(link.chain, link);
    seen.set(link.hash, link);
  }
  return done();

  function done(): Verified {
    const isOpen = [...open].some((chain) => !survey.isAnchored(chain));
    const known = { file, records, chains: lastLinks.size, isTorn };
    return { ...known, ...(keyed > 0 && { keyed }), ...(isOpen && { isOpen }) };
  }

  async function findFault(
    { record }: AuditLine,
    link: Link | undefined,
  ): Promise<string | Wrong | undefined> {
    if (!record) return "is not a record";
    if (!link) return "has no place in a chain";
    const wrongHash = checkHash(record, link, signer);
    if (wrongHash) return wrongHash;
    // After a rotation by copying, lines are written again and may be there twice.
    if (seen.has(link.hash)) return undefined;
    const last = lastLinks.get(link.chain);
    if (last) {
      if (last.key_id !== link.key_id)
        return { kind: "rewritten", reason: "was rewritten: records before it are under another key" };
      if (link.seq !== last.seq + 1) return `comes after record ${last.seq}: one was removed, added or moved`;
      return link.prev_hash === last.hash ? undefined : `does not follow record ${last.seq} as it is now`;
    }
    if (link.prev_hash === NOTHING_BEFORE) return link.seq === 1 ? undefined : "has lost what was before it";
    const before = seen.get(link.prev_hash) ?? (await find(link.prev_hash));
    const follows =
      before && (link.seq === 1 || (before.chain === link.chain && before.seq === link.seq - 1));
    return follows ? undefined : "follows a record that is in no file here: it was removed, or its file was";
  }
}

interface Wrong {
  readonly kind: AuditFaultKind;
  readonly reason: string;
}

function checkHash(record: JsonObject, link: Link, signer: Signer | undefined): Wrong | undefined {
  const isChanged: Wrong = { kind: "changed", reason: "was changed: its hash is another one" };
  const plain = hashRecord(record);
  if (link.key_id === undefined) return plain === link.hash ? undefined : isChanged;
  if (plain === link.hash)
    return { kind: "rewritten", reason: "was rewritten: its hash was made without the key" };
  if (signer?.keyId !== link.key_id)
    return {
      kind: "key",
      reason: `cannot be verified: its key (${toTerminalLine(link.key_id)}) is not the one in the state folder`,
    };
  return hashRecord(record, signer) === link.hash ? undefined : isChanged;
}

async function readLinks(file: string): Promise<Map<string, Link>> {
  const links = new Map<string, Link>();
  for await (const { record } of readAudit(file)) {
    const link = toLink(record);
    if (link) links.set(link.hash, link);
  }
  return links;
}

function toLink(record: JsonObject | undefined): Link | undefined {
  const { chain, seq, prev_hash, hash, key_id } = record ?? {};
  if (typeof chain !== "string" || !Number.isSafeInteger(seq)) return undefined;
  if (typeof prev_hash !== "string" || typeof hash !== "string") return undefined;
  // Of another type it counts as a key that is not here.
  return {
    chain,
    seq: seq as number,
    prev_hash,
    hash,
    ...(key_id !== undefined && { key_id: String(key_id) }),
  };
}

function createFault(file: string, { line, record }: AuditLine, { kind, reason }: Wrong): AuditFault {
  const { seq, request_id } = record ?? {};
  return {
    kind,
    file,
    line,
    ...(typeof seq === "number" && { seq }),
    ...(typeof request_id === "string" && { request_id }),
    reason,
  };
}
