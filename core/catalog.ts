import { GatewayError } from "./errors.ts";
import type { MaybePromise } from "./hooks.ts";
import { isPending } from "./hooks.ts";
import { identifierFault, lookOf } from "./identifiers.ts";
import { isJsonObject } from "./json.ts";
import type { Server, Tool, ToolDefinition } from "./tool.ts";

/** A tool that could not be taken in, and why. */
export interface RejectedTool {
  readonly name: string;
  readonly reason: string;
}

/** What a change did to the catalog. */
export interface CatalogChange {
  readonly revision: number;
  readonly tools: readonly Tool[];
  /** One bad tool does not cost a server its others: it is named here instead. */
  readonly rejected: readonly RejectedTool[];
}

/** Every server and its tools. A server's tools change in one step: no reader sees half of them. */
export interface Catalog {
  /** Grows by one with every change. */
  readonly revision: number;
  /** The servers, built-in ones left out. */
  servers(): readonly Server[];
  /** The tools, built-in ones left out; those of one server where it is given. */
  tools(server?: string): readonly Tool[];
  /** One server by id, built-in ones included. */
  server(id: string): Server | undefined;
  /** One tool by id (`server:name`), built-in ones included. */
  tool(id: string): Tool | undefined;
  /** Adds a server with its tools, or replaces what the catalog has of it. Of two at once, the later call wins. */
  replace(server: Server, tools: readonly ToolDefinition[]): Promise<CatalogChange>;
  /** Removes a server and its tools; false if it was not there. */
  remove(server: string): Promise<boolean>;
}

/** What the catalog tells the gateway. */
export interface CatalogEvents {
  discover(tool: Tool): MaybePromise<void>;
  changed(revision: number): MaybePromise<void>;
}

interface Entry {
  readonly server: Server;
  readonly tools: readonly Tool[];
}

/** Makes an empty catalog. Ids that built-in servers will have are kept free for them. */
export function createCatalog(events: CatalogEvents, reserved: Iterable<string> = []): Catalog {
  const entries = new Map<string, Entry>();
  const toolsById = new Map<string, Tool>();
  const lastTurn = new Map<string, number>();
  const builtinIds = new Set<string>(reserved);
  /** The ids by what they look like: an agent must never take one server for another. */
  const looks = new Map<string, string>([...builtinIds].map((id) => [lookOf(id), id]));
  let revision = 0;
  let turns = 0;
  let listed: readonly Tool[] | undefined;

  const swap = (id: string, entry: Entry | undefined): MaybePromise<void> => {
    for (const tool of entries.get(id)?.tools ?? []) toolsById.delete(tool.id);
    if (entry) {
      entries.set(id, entry);
      for (const tool of entry.tools) toolsById.set(tool.id, tool);
    } else {
      entries.delete(id);
    }
    listed = undefined;
    revision++;
    return events.changed(revision);
  };

  return {
    get revision() {
      return revision;
    },
    servers: () => [...entries.values()].map((entry) => entry.server).filter((server) => !server.builtin),
    tools(server) {
      if (server !== undefined) return entries.get(server)?.tools ?? [];
      listed ??= Object.freeze(
        [...entries.values()].flatMap((entry) => (entry.server.builtin ? [] : entry.tools)),
      );
      return listed;
    },
    server: (id) => entries.get(id)?.server,
    tool: (id) => toolsById.get(id),

    async replace(server, definitions) {
      checkServer(server, builtinIds, entries.has(server.id), looks.get(lookOf(server.id)));
      looks.set(lookOf(server.id), server.id);
      if (server.builtin) builtinIds.add(server.id);
      const turn = ++turns;
      const { tools, rejected } = takeIn(server, definitions);
      for (const tool of tools) {
        const enriching = events.discover(tool);
        if (isPending(enriching)) await enriching;
        Object.freeze(tool.tags);
        Object.freeze(tool);
      }
      // While hooks enriched these tools, a later list may have come in, or the server may be gone.
      if (turn > (lastTurn.get(server.id) ?? 0)) {
        lastTurn.set(server.id, turn);
        await swap(server.id, { server: Object.freeze({ ...server }), tools: Object.freeze(tools) });
      }
      return { revision, tools, rejected };
    },

    async remove(id) {
      lastTurn.set(id, ++turns);
      builtinIds.delete(id);
      if (looks.get(lookOf(id)) === id) looks.delete(lookOf(id));
      if (!entries.has(id)) return false;
      await swap(id, undefined);
      return true;
    },
  };
}

/** An id belongs to the gateway or to the servers, from the first moment it is used. */
function checkServer(
  server: Server,
  builtinIds: ReadonlySet<string>,
  isThere: boolean,
  alike: string | undefined,
): void {
  if (server.id === "" || server.id.includes(":")) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `"${server.id}" cannot be the id of a server: it must hold a character and no colon.`,
    );
  }
  const reason = identifierFault(server.id);
  if (reason) {
    throw new GatewayError("CONFIG_INVALID", `"${server.id}" cannot be the id of a server: ${reason}.`);
  }
  if (alike !== undefined && alike !== server.id) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The server id "${server.id}" looks like "${alike}", which is taken. Give the server another name.`,
    );
  }
  if (builtinIds.has(server.id) ? !server.builtin : server.builtin && isThere) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The server id "${server.id}" is taken by the gateway itself. Give the server another name.`,
    );
  }
}

function takeIn(
  server: Server,
  definitions: readonly ToolDefinition[],
): { tools: Tool[]; rejected: RejectedTool[] } {
  const tools = new Map<string, Tool>();
  const looks = new Map<string, string>();
  const rejected: RejectedTool[] = [];
  for (const definition of definitions) {
    const given: unknown = (definition as Partial<ToolDefinition> | null)?.name;
    const name = typeof given === "string" || typeof given === "number" ? String(given) : "";
    const reason =
      fault(definition) ??
      (tools.has(name) ? "its server lists this name twice; the first one counts" : undefined) ??
      (looks.has(lookOf(name)) ? `it looks like "${looks.get(lookOf(name))}", which comes first` : undefined);
    if (reason) {
      rejected.push({ name, reason });
      continue;
    }
    looks.set(lookOf(name), name);
    tools.set(name, newTool(server, definition));
  }
  return { tools: [...tools.values()], rejected };
}

/** Only what a server may say of its tool: the rest of a tool is what plugins say of it, and trust. */
function newTool(server: Server, definition: ToolDefinition): Tool {
  const { name, title, description, inputSchema, outputSchema, annotations, icons, execution, _meta } =
    definition;
  return {
    id: `${server.id}:${name}`,
    server: server.id,
    builtin: server.builtin === true,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
    ...(icons !== undefined && { icons }),
    ...(execution !== undefined && { execution }),
    ...(_meta !== undefined && { _meta }),
    tags: [],
    enabled: true,
  };
}

function fault(definition: ToolDefinition): string | undefined {
  if (!isJsonObject(definition)) return "it is not an object";
  if (typeof definition.name !== "string" || definition.name === "") return "it has no name";
  const reason = identifierFault(definition.name);
  if (reason) return reason.replace(/^it/, "its name");
  if (!isJsonObject(definition.inputSchema)) return "its inputSchema is not an object";
  if (definition.description !== undefined && typeof definition.description !== "string") {
    return "its description is not a string";
  }
}
