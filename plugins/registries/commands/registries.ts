import { type Gateway, GatewayError } from "../../../core/mod.ts";
import type { CommandContext } from "../../../core/services/command.ts";
import type { RegistryEntry } from "../../../core/services/registries.ts";
import { showWaiting } from "../../lib/servers.ts";
import { usageError } from "../../lib/terminal/output.ts";
import { createRegistryClient, type RegistryClient } from "../client.ts";
import { REGISTRY_NOT_FOUND, REGISTRY_UNAVAILABLE } from "../errors.ts";
import { createMirror, type Mirror, type MirrorParts } from "../mirror.ts";
import { formatRegistry, splitUrls } from "../options.ts";

/** Argument of every command that asks registries. */
export const registryArgs = {
  registry: {
    type: "string",
    description: "The registries to ask, separated by commas, the most trusted first",
    valueHint: "URLS",
  },
} as const;

/** Registries of a command. */
interface OpenRegistries {
  readonly gateway: Gateway;
  readonly client: RegistryClient;
  readonly mirror: Mirror;
}

/**
 * Opens the registries of `--registry` or `TOOLPIPE_REGISTRIES`, the official one by default. No config is read: a
 * gateway of two plugins has the cache and the ranker.
 */
export async function openRegistries<T>(
  context: CommandContext,
  { registry }: { registry?: string | undefined },
  use: (registries: OpenRegistries) => Promise<T>,
  shared?: MirrorParts["shared"],
): Promise<T> {
  if (registry === "") throw usageError("The option --registry needs a value.");
  const open = (gateway: Gateway): Promise<T> => {
    const { cache } = gateway.services;
    const client = createRegistryClient({ registries: splitUrls(registry) }, { cache });
    return use({ gateway, client, mirror: createMirror({ client, shared }) });
  };
  return context.open({}, open, { with: ["cache", "search"], only: true });
}

/** Finds one version of a server: in the registries or, if those cannot be asked, in their copy. */
export async function findEntry(
  { client, mirror }: OpenRegistries,
  name: string,
  version: string | undefined,
) {
  if (!/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(name))
    throw usageError('The name of a server in a registry is like "io.github.owner/name".');
  if (version === "") throw usageError("The option --version needs a value.");
  const done = showWaiting(`Asking for ${name} …`);
  try {
    const entry = await client.server(name, version === undefined ? {} : { version });
    if (entry) return { entry };
  } catch (thrown) {
    if (!GatewayError.is(thrown) || thrown.code !== REGISTRY_UNAVAILABLE.code) throw thrown;
    const known = (await mirror.read())?.entries.find((one) => one.name === name);
    if (!known || (version ?? known.version) !== known.version) throw thrown;
    return { entry: known, note: `${thrown.message} This is the copy of the last sync.` };
  } finally {
    done();
  }
  const which = version === undefined ? "" : ` in version ${version}`;
  throw new GatewayError(
    REGISTRY_NOT_FOUND,
    `There is no server "${name}"${which} in ${client.registries.map(formatRegistry).join(", ")}.`,
    { data: { server: name } },
  );
}

/** Formats the status of a version; empty if it is active. */
export function formatStatus({ status, statusMessage }: RegistryEntry): string {
  if (status === "active") return "";
  return `${status}${statusMessage ? `: ${statusMessage}` : ""}`;
}

/** Parses the option `--limit`. */
export function parseLimit(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw usageError("The option --limit needs a whole number, 1 or more.");
  return limit;
}
