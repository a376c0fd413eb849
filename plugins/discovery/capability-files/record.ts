import * as v from "valibot";
import { GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { type StateStore, updateState } from "../../../core/services/state.ts";
import { canonicalJson, sha256 } from "../../lib/hash.ts";

/** Kind of these approvals. */
export const CAPABILITIES = "capabilities";

/** A tool that was approved. */
export interface ApprovedTool {
  readonly name: string;
  /** The hash of its definition. */
  readonly hash: string;
  /** Its file in the folder of its server, and the SHA-256 of what was written there. */
  readonly file: string;
  readonly sha256: string;
}

/** A tool that waits for approval. */
export interface PendingTool extends ApprovedTool {
  /** First sentence of its description. */
  readonly summary: string;
  readonly categories: readonly string[];
}

/** Part of a server that needs approval. */
export interface PendingServer {
  /** Entry of the server, as in a config. */
  readonly entry: JsonObject;
  /** The folder that holds the folder of its files. */
  readonly folder: string;
  /** When it was asked for, as an ISO date. */
  readonly at: string;
  readonly format: string;
  readonly tools: readonly PendingTool[];
}

/** Approved part of a server. */
export interface ApprovedServer {
  readonly entry: JsonObject;
  /** The config that it was added to. */
  readonly config: string;
  /** The folder that holds the folder of its files. */
  readonly folder: string;
  readonly tools: readonly ApprovedTool[];
}

/** Record of an introspected server. */
export interface CapabilityRecord {
  readonly server: string;
  readonly pending?: PendingServer | undefined;
  readonly approved?: ApprovedServer | undefined;
}

const entry = v.custom<JsonObject>(isJsonObject);
const approvedTool = { name: v.string(), hash: v.string(), file: v.string(), sha256: v.string() };
const pendingTool = v.object({
  ...approvedTool,
  summary: v.string(),
  categories: v.array(v.string()),
});
const record: v.GenericSchema<unknown, CapabilityRecord> = v.object({
  server: v.string(),
  pending: v.optional(
    v.object({ entry, folder: v.string(), at: v.string(), format: v.string(), tools: v.array(pendingTool) }),
  ),
  approved: v.optional(
    v.object({ entry, config: v.string(), folder: v.string(), tools: v.array(v.object(approvedTool)) }),
  ),
});

const keyOf = (server: string): string => `${CAPABILITIES}/${JSON.stringify(server)}`;

/** Reads the record of a server; undefined if it was not introspected. */
export async function readCapabilityRecord(
  store: StateStore,
  server: string,
): Promise<CapabilityRecord | undefined> {
  return parse((await store.get(keyOf(server)))?.value, server);
}

/** Lists the records of all introspected servers. */
export async function listRecords(store: StateStore): Promise<readonly CapabilityRecord[]> {
  const entries = await store.list(`${CAPABILITIES}/`);
  return entries.flatMap(({ key, value }) => {
    const found = parse(value);
    // A record under the key of another server was not written by toolpipe.
    return found && keyOf(found.server) === key ? [found] : [];
  });
}

/** Changes what is known of a server; it is forgotten where nothing of it is left. */
export async function changeRecord(
  store: StateStore,
  server: string,
  change: (now: CapabilityRecord) => CapabilityRecord,
): Promise<void> {
  const left = await updateState(store, keyOf(server), (value) => ({
    ...change(parse(value, server) ?? { server }),
  }));
  if (left?.["pending"] === undefined && left?.["approved"] === undefined) await store.delete(keyOf(server));
}

/** The hash of what is approved: how a server is reached, and what each of the tools is. */
export function capabilitiesHash(
  server: JsonObject,
  tools: readonly { readonly name: string; readonly hash: string }[],
): string {
  const sorted = tools
    .map(({ name, hash }) => [name, hash])
    .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  return sha256(canonicalJson({ server, tools: sorted }));
}

/** The store of a gateway, which nothing can be approved without. */
export function requireStore(services: { readonly state?: StateStore }): StateStore {
  if (services.state) return services.state;
  throw new GatewayError("CONFIG_INVALID", 'Nothing can be approved: the plugin "state" is not there.');
}

function parse(value: JsonObject | undefined, server?: string): CapabilityRecord | undefined {
  const parsed = v.safeParse(record, value);
  if (!parsed.success || (server !== undefined && parsed.output.server !== server)) return undefined;
  return parsed.output;
}

/** Forgets a server. */
export async function forgetRecord(store: StateStore, server: string): Promise<void> {
  await store.delete(keyOf(server));
}
