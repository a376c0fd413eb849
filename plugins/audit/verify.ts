import type { JsonObject } from "../../core/mod.ts";
import { type AuditLine, readAudit } from "./audit-files.ts";
import { hashRecord, NOTHING_BEFORE } from "./chain.ts";

/** First record of a file that was changed, removed, added or moved. */
export interface AuditFault {
  readonly file: string;
  readonly line: number;
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
  readonly fault?: AuditFault;
}

interface Link {
  readonly chain: string;
  readonly seq: number;
  readonly prev_hash: string;
  readonly hash: string;
}

/**
 * Checks that every record of these files is unchanged and follows its predecessor. A file may continue another one,
 * or one of `beside`, as it does after a rotation.
 */
export async function verifyAudit(
  files: readonly string[],
  beside: readonly string[] = [],
): Promise<readonly Verified[]> {
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
  for (const file of files) verified.push(await verifyFile(file, (hash) => find(hash, file)));
  return verified;
}

async function verifyFile(
  file: string,
  find: (hash: string) => Promise<Link | undefined>,
): Promise<Verified> {
  const lastLinks = new Map<string, Link>();
  const seen = new Map<string, Link>();
  let records = 0;
  let isTorn = false;
  for await (const line of readAudit(file)) {
    if (!line.isWhole && !line.record) {
      isTorn = true;
      break;
    }
    const link = toLink(line.record);
    const reason = await findFault(line, link);
    if (reason) return { ...done(), fault: createFault(file, line, reason) };
    if (!link) continue;
    records++;
    lastLinks.set(link.chain, link);
    seen.set(link.hash, link);
  }
  return done();

  function done(): Verified {
    return { file, records, chains: lastLinks.size, isTorn };
  }

  async function findFault({ record }: AuditLine, link: Link | undefined): Promise<string | undefined> {
    if (!record) return "is not a record";
    if (!link) return "has no place in a chain";
    if (hashRecord(record) !== link.hash) return "was changed: its hash is another one";
    // After a rotation by copying, lines are written again and may be there twice.
    if (seen.has(link.hash)) return undefined;
    const last = lastLinks.get(link.chain);
    if (last) {
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

async function readLinks(file: string): Promise<Map<string, Link>> {
  const links = new Map<string, Link>();
  for await (const { record } of readAudit(file)) {
    const link = toLink(record);
    if (link) links.set(link.hash, link);
  }
  return links;
}

function toLink(record: JsonObject | undefined): Link | undefined {
  const { chain, seq, prev_hash, hash } = record ?? {};
  if (typeof chain !== "string" || !Number.isSafeInteger(seq)) return undefined;
  if (typeof prev_hash !== "string" || typeof hash !== "string") return undefined;
  return { chain, seq: seq as number, prev_hash, hash };
}

function createFault(file: string, { line, record }: AuditLine, reason: string): AuditFault {
  const { seq, request_id } = record ?? {};
  return {
    file,
    line,
    ...(typeof seq === "number" && { seq }),
    ...(typeof request_id === "string" && { request_id }),
    reason,
  };
}
