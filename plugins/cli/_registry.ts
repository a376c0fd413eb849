import { GatewayError } from "../../core/mod.ts";
import { createCache, fileStorage } from "../cache/mod.ts";
import { createRegistryClient, type RegistryClient } from "../registry/client.ts";
import type { RegistryEntry } from "../registry/entry.ts";
import { REGISTRY_NOT_FOUND, REGISTRY_UNAVAILABLE } from "../registry/errors.ts";
import { createMirror, type Mirror, type MirrorParts } from "../registry/mirror.ts";
import { shownRegistry } from "../registry/options.ts";
import { cacheFolder } from "../state/mod.ts";
import { waitingLine } from "./_servers.ts";
import { usageError } from "./_usage.ts";

/** The option of every command that asks registries. */
export const registryArgs = {
  registry: {
    type: "string",
    description: "The registries to ask, separated by commas, the most trusted first",
    valueHint: "URLS",
  },
} as const;

/** The registries that a command works with. */
export interface Registries {
  readonly client: RegistryClient;
  readonly mirror: Mirror;
}

/** Opens the registries that were named, by the option or by `TOOLPIPE_REGISTRIES`; else the official one. */
export async function openRegistries(
  { registry }: { registry?: string | undefined },
  shared?: MirrorParts["shared"],
): Promise<Registries> {
  if (registry === "") throw usageError("The option --registry needs a value.");
  const named = (registry ?? process.env["TOOLPIPE_REGISTRIES"] ?? "").split(/[\s,]+/).filter(Boolean);
  // What cannot be kept is asked for again.
  const cache = createCache({ storage: fileStorage(cacheFolder()), onTrouble: () => {} });
  const client = createRegistryClient(named.length > 0 ? { registries: named } : {}, { cache });
  return { client, mirror: createMirror({ client, shared }) };
}

/** An entry, and what a person should know of where it comes from. */
export interface FoundEntry {
  readonly entry: RegistryEntry;
  readonly note?: string;
}

/** Finds one version of a server: in the registries or, where those cannot be asked, in what is known of them. */
export async function findEntry(
  { client, mirror }: Registries,
  name: string,
  version: string | undefined,
): Promise<FoundEntry> {
  if (!/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(name))
    throw usageError('The name of a server in a registry is like "io.github.owner/name".');
  if (version === "") throw usageError("The option --version needs a value.");
  const done = waitingLine(`Asking for ${name} …`);
  try {
    const entry = await client.server(name, version === undefined ? {} : { version });
    if (entry) return { entry };
  } catch (thrown) {
    if (!GatewayError.is(thrown) || thrown.code !== REGISTRY_UNAVAILABLE.code) throw thrown;
    const known = (await mirror.read())?.entries.find((one) => one.name === name);
    if (!known || (version ?? known.version) !== known.version) throw thrown;
    return { entry: known, note: `${thrown.message} This is what was known at the last sync.` };
  } finally {
    done();
  }
  const which = version === undefined ? "" : ` in version ${version}`;
  throw new GatewayError(
    REGISTRY_NOT_FOUND,
    `There is no server "${name}"${which} in ${client.registries.map(shownRegistry).join(", ")}.`,
    { data: { server: name } },
  );
}

/** How a registry stands to a version, for a person; nothing where all is well. */
export function shownStatus({ status, statusMessage }: RegistryEntry): string {
  if (status === "active") return "";
  return `${status}${statusMessage ? `: ${statusMessage}` : ""}`;
}

/** A number of something, 1 or more, as an option gives it. */
export function limitOf(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw usageError("The option --limit needs a whole number, 1 or more.");
  return limit;
}
