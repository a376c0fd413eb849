import { resolve } from "node:path";
import { GatewayError, isJsonObject, type JsonObject, nearest } from "../../../core/mod.ts";
import type { Location, Machine, Scope, ServerConfig, Source } from "../../../core/services/sources.ts";
import { hashOf } from "../../lib/config-file/journal.ts";
import { fileBehind, readState } from "../../lib/files.ts";
import { findFiles, readObject } from "../../lib/server-entry/find-files.ts";
import { pathFrom } from "../../lib/server-entry/machine.ts";
import { normalise } from "../../lib/server-entry/normalise.ts";
import { usageError } from "../../lib/terminal/output.ts";
import { type ClientForm, formOf } from "./client-forms.ts";

/** One server in a client's file. */
export interface FoundServer {
  /** As the file has it. */
  readonly name: string;
  readonly config?: ServerConfig;
  /** Why it cannot be used. */
  readonly reason?: string;
}

/** A file of a client, with the servers that toolpipe could take over. */
export interface ClientFile {
  readonly client: string;
  readonly file: string;
  /** The file itself, where the name is a link. */
  readonly target: string;
  readonly scope: Scope;
  readonly form: ClientForm;
  readonly data: JsonObject;
  /** Of what was read. */
  readonly hash: string;
  readonly servers: readonly FoundServer[];
  /** Why it is left as it is. */
  readonly broken?: string;
}

/** The files of the clients on a machine: a person's own and, of a project, only those that are named. */
export async function clientFiles(
  machine: Machine,
  named: readonly string[],
  clients: readonly Source[],
): Promise<readonly ClientFile[]> {
  const clientNames = clients.map(({ name }) => name);
  const names = new Set(named.filter((name) => clientNames.includes(name)));
  const paths = new Set(named.filter((name) => !names.has(name)).map((path) => pathFrom(path, machine)));
  const found: ClientFile[] = [];
  const seen = new Set<string>();
  const known = new Set<string>();
  for (const source of clients) {
    const form = formOf(source.name);
    if (!form) continue;
    for (const location of source.locations(machine)) {
      for (const file of await findFiles(location.places)) {
        known.add(resolve(file));
        const isNamed = paths.has(resolve(file));
        const isOwn = location.scope === "user" && (named.length === 0 || names.has(source.name));
        const target = await fileBehind(file);
        if ((!isOwn && !isNamed) || seen.has(target)) continue;
        seen.add(target);
        found.push({ target, ...(await readClient(source, location, file, form, machine)) });
      }
    }
  }
  for (const path of paths) if (!known.has(path)) throw notAClient(path, named, machine, clientNames);
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
  const hash = hashOf((await readState(file).catch(() => undefined))?.bytes ?? new Uint8Array());
  try {
    const { projects: _, ...data } = await readObject(file);
    const read = location.read ?? source.read;
    // What Claude Code has for single projects stays with those projects.
    const entries = read(data, { file, scope: location.scope, machine, beside: {} });
    const origin = { source: source.name, file, scope: location.scope };
    const servers = entries.servers.map((raw): FoundServer => {
      const { config, reason } = normalise(raw, origin, { dialect: source.dialect, inputs: entries.inputs });
      const name = typeof raw.name === "string" ? raw.name : "";
      return config ? { name, config } : { name, reason: `It cannot be used: ${reason}.` };
    });
    return { ...row, data, hash, servers };
  } catch (thrown) {
    const { message } = GatewayError.from(thrown, "It cannot be understood.");
    return {
      ...row,
      data: {},
      hash,
      servers: [],
      broken: message.startsWith(file) ? message : `${file}: ${message}`,
    };
  }
}

/** Why the file of a client must not be changed although it could be. */
export function whyUntouchable({ client, data, form }: ClientFile): string | undefined {
  const map = data[form.key];
  if (map !== undefined && !isJsonObject(map)) return `Its "${form.key}" is not a map of servers by name.`;
  const mcp = data["mcp"];
  const allowed = client === "gemini-cli" && isJsonObject(mcp) ? mcp["allowed"] : undefined;
  return Array.isArray(allowed) && !allowed.includes("toolpipe")
    ? 'It starts only the servers that its list "mcp.allowed" names: add "toolpipe" there first.'
    : undefined;
}

function notAClient(
  path: string,
  named: readonly string[],
  machine: Machine,
  clientNames: readonly string[],
): GatewayError {
  const given = named.find((name) => pathFrom(name, machine) === path) ?? path;
  if (/[\\/.]/.test(given)) return usageError(`No client has its servers in ${given}, or it is not there.`);
  const hint = nearest(given, clientNames);
  return usageError(
    `There is no client "${given}"${hint ? `; did you mean "${hint}"?` : `: ${clientNames.join(", ")}.`}`,
  );
}
