import * as v from "valibot";
import { GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { type StateStore, updateState } from "../../../core/services/state.ts";
import { canonicalJson, sha256Hex } from "../../lib/hash.ts";

/** Kind of these approvals. */
export const CAPABILITIES = "capabilities";

const entry = v.custom<JsonObject>(isJsonObject);
const approvedTool = v.object({
  name: v.string(),
  /** Hash of its definition. */
  hash: v.string(),
  /** Its file in the folder of its server, and the SHA-256 of the content that was written. */
  file: v.string(),
  sha256: v.string(),
});
const pendingTool = v.object({
  ...approvedTool.entries,
  /** First sentence of its description. */
  summary: v.string(),
  categories: v.array(v.string()),
});
const pendingServer = v.object({
  /** Entry of the server, as in a config. */
  entry,
  /** Folder that holds the folder of its files. */
  folder: v.string(),
  /** Time of the request, as an ISO date. */
  at: v.string(),
  format: v.string(),
  tools: v.array(pendingTool),
});
const approvedServer = v.object({
  entry,
  /** Config that it was added to. */
  config: v.string(),
  folder: v.string(),
  tools: v.array(approvedTool),
});
const record = v.object({
  server: v.string(),
  pending: v.optional(pendingServer),
  approved: v.optional(approvedServer),
});

/** Approved tool. */
export type ApprovedTool = v.InferOutput<typeof approvedTool>;
/** Tool that needs approval. */
export type PendingTool = v.InferOutput<typeof pendingTool>;
/** Part of a server that needs approval. */
export type PendingServer = v.InferOutput<typeof pendingServer>;
/** Approved part of a server. */
export type ApprovedServer = v.InferOutput<typeof approvedServer>;
/**
 * Definition and written files of an introspected server. The decision on it is in `services.approvals`: without that,
 * nothing listed here as approved can be called.
 */
export type CapabilityRecord = v.InferOutput<typeof record>;

const toKey = (server: string): string => `${CAPABILITIES}/${JSON.stringify(server)}`;

/** Reads the record of a server; undefined if it was not introspected. */
export async function readCapabilityRecord(
  store: StateStore,
  server: string,
): Promise<CapabilityRecord | undefined> {
  return parse((await store.get(toKey(server)))?.value, server);
}

/** Lists the records of all introspected servers. */
export async function listRecords(store: StateStore): Promise<readonly CapabilityRecord[]> {
  const entries = await store.list(`${CAPABILITIES}/`);
  return entries.flatMap(({ key, value }) => {
    const found = parse(value);
    // A record under the key of another server was not written by toolpipe.
    return found && toKey(found.server) === key ? [found] : [];
  });
}

/** Changes the record of a server; an empty record is deleted. */
export async function changeRecord(
  store: StateStore,
  server: string,
  change: (now: CapabilityRecord) => CapabilityRecord,
): Promise<void> {
  const left = await updateState(store, toKey(server), (value) => ({
    ...change(parse(value, server) ?? { server }),
  }));
  if (left?.["pending"] === undefined && left?.["approved"] === undefined) await store.delete(toKey(server));
}

/** Hashes an approval: the entry of a server, and the definitions of its tools. */
export function capabilitiesHash(
  server: JsonObject,
  tools: readonly { readonly name: string; readonly hash: string }[],
): string {
  const sorted = tools
    .map(({ name, hash }) => [name, hash])
    .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  return sha256Hex(canonicalJson({ server, tools: sorted }));
}

/** Returns the state store of a gateway, or throws. */
export function requireStore(services: { readonly state?: StateStore }): StateStore {
  if (services.state) return services.state;
  throw new GatewayError(
    "CONFIG_INVALID",
    'Nothing can be approved: the plugin "state" is missing. Add it to the plugins of the config.',
  );
}

function parse(value: JsonObject | undefined, server?: string): CapabilityRecord | undefined {
  const parsed = v.safeParse(record, value);
  if (!parsed.success || (server !== undefined && parsed.output.server !== server)) return undefined;
  return parsed.output;
}

/** Deletes the record of a server. */
export async function deleteRecord(store: StateStore, server: string): Promise<void> {
  await store.delete(toKey(server));
}
