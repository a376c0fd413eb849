import { resolve } from "node:path";
import { GatewayError, isJsonObject, type JsonObject, nearest } from "../../../core/mod.ts";
import type { Location, Machine, Scope, ServerConfig, Source } from "../../../core/services/sources.ts";
import { readFileState, resolveLink } from "../../lib/files.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { findFiles, readObject, resolvePath } from "../../lib/server-entry/machine.ts";
import { normalizeEntry } from "../../lib/server-entry/normalize.ts";
import { usageError } from "../../lib/terminal/output.ts";
import { type ClientForm, findForm } from "./client-forms.ts";

/** Server entry in the file of a client. */
export interface FoundServer {
  /** Name in the file. */
  readonly name: string;
  readonly config?: ServerConfig;
  /** Reason why it cannot be used. */
  readonly reason?: string;
}

/** File of a client with its servers. */
export interface ClientFile {
  readonly client: string;
  readonly file: string;
  /** The file behind a symbolic link. */
  readonly target: string;
  readonly scope: Scope;
  readonly form: ClientForm;
  readonly data: JsonObject;
  /** Hash of the content that was read. */
  readonly hash: string;
  readonly servers: readonly FoundServer[];
  /** Reason why it cannot be read. */
  readonly broken?: string;
}

/** Finds the files of the clients on a machine: those of the user and, of projects, only named ones. */
export async function findClientFiles(
  machine: Machine,
  named: readonly string[],
  clients: readonly Source[],
): Promise<readonly ClientFile[]> {
  const clientNames = clients.map(({ name }) => name);
  const names = new Set(named.filter((name) => clientNames.includes(name)));
  const paths = new Set(named.filter((name) => !names.has(name)).map((path) => resolvePath(path, machine)));
  const found: ClientFile[] = [];
  const seen = new Set<string>();
  const known = new Set<string>();
  for (const source of clients) {
    const form = findForm(source.name);
    if (!form) continue;
    for (const location of source.locations(machine)) {
      for (const file of await findFiles(location.places)) {
        known.add(resolve(file));
        const isNamed = paths.has(resolve(file));
        const isOwn = location.scope === "user" && (named.length === 0 || names.has(source.name));
        const target = await resolveLink(file);
        if ((!isOwn && !isNamed) || seen.has(target)) continue;
        seen.add(target);
        found.push({ target, ...(await readClient(source, location, file, form, machine)) });
      }
    }
  }
  for (const path of paths) if (!known.has(path)) throw createClientError(path, named, machine, clientNames);
  return found;
}

async function readClient(
  source: Source,
  location: Location,
  file: string,
  form: ClientForm,
  machine: Machine,
): Promise<Omit<ClientFile, "target">> {
  const row = { client: source.name, file, scope: location.scope, form };
  const hash = sha256Hex((await readFileState(file).catch(() => undefined))?.bytes ?? new Uint8Array());
  try {
    const { projects: _, ...data } = await readObject(file);
    const read = location.read ?? source.read;
    // Servers that Claude Code has for single projects stay there.
    const entries = read(data, { file, scope: location.scope, machine, beside: {} });
    const origin = { source: source.name, file, scope: location.scope };
    const servers = entries.servers.map((raw): FoundServer => {
      const { config, reason } = normalizeEntry(raw, origin, {
        dialect: source.dialect,
        inputs: entries.inputs,
      });
      const name = typeof raw.name === "string" ? raw.name : "";
      return config ? { name, config } : { name, reason: `Its entry cannot be used: ${reason}.` };
    });
    return { ...row, data, hash, servers };
  } catch (thrown) {
    const { message } = GatewayError.from(thrown, "The file cannot be read.");
    return {
      ...row,
      data: {},
      hash,
      servers: [],
      broken: message.startsWith(file) ? message : `${file}: ${message}`,
    };
  }
}

/** Explains why a JSON file of a client must not be changed. */
export function explainUntouchable({ client, data, form }: ClientFile): string | undefined {
  const map = data[form.key];
  if (map !== undefined && !isJsonObject(map)) return `Its "${form.key}" is not a map of servers by name.`;
  const mcp = data["mcp"];
  const allowed = client === "gemini-cli" && isJsonObject(mcp) ? mcp["allowed"] : undefined;
  return Array.isArray(allowed) && !allowed.includes("toolpipe")
    ? 'The client starts only the servers in its list "mcp.allowed": add "toolpipe" there first.'
    : undefined;
}

function createClientError(
  path: string,
  named: readonly string[],
  machine: Machine,
  clientNames: readonly string[],
): GatewayError {
  const given = named.find((name) => resolvePath(name, machine) === path) ?? path;
  if (/[\\/.]/.test(given))
    return usageError(`The file ${given} does not exist, or no client has its servers there.`);
  const hint = nearest(given, clientNames);
  return usageError(
    `There is no client "${given}"${hint ? `; did you mean "${hint}"?` : `: ${clientNames.join(", ")}.`}`,
  );
}
