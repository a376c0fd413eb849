import { isPending } from "./call-hooks.ts";
import { GatewayError } from "./errors.ts";
import type { MaybePromise } from "./hooks.ts";
import { isJsonObject } from "./json.ts";
import type { Server, Tool, ToolDefinition } from "./tool.ts";

/** A tool that the catalog rejected, with the reason. */
export interface RejectedTool {
  readonly name: string;
  readonly reason: string;
}

/** Outcome of a change of the catalog. */
export interface CatalogChange {
  readonly revision: number;
  readonly tools: readonly Tool[];
  /** Tools that are invalid; the others of the server are accepted. */
  readonly rejected: readonly RejectedTool[];
}

/** The servers and their tools. The tools of a server change in one step, so that no reader gets half of them. */
export interface Catalog {
  /** Increases by one with every change. */
  readonly revision: number;
  /** Lists the servers without built-in ones. */
  servers(): readonly Server[];
  /** Lists the tools without built-in ones; with a server, all tools of that server. */
  tools(server?: string): readonly Tool[];
  /** Returns a server by id, built-in ones included. */
  server(id: string): Server | undefined;
  /** Returns a tool by id (`server:name`), built-in ones included. */
  tool(id: string): Tool | undefined;
  /** Adds a server with its tools, or replaces both. Of two calls at once, the later one wins. */
  replace(server: Server, tools: readonly ToolDefinition[]): Promise<CatalogChange>;
  /** Removes a server and its tools; false if there is no such server. */
  remove(server: string): Promise<boolean>;
}

/** Events of the catalog. */
export interface CatalogEvents {
  discover(tool: Tool): MaybePromise<void>;
  changed(revision: number): MaybePromise<void>;
}

interface Entry {
  readonly server: Server;
  readonly tools: readonly Tool[];
}

/** Creates an empty catalog. Reserved ids are only for built-in servers. */
export function createCatalog(events: CatalogEvents, reserved: Iterable<string> = []): Catalog {
  const entries = new Map<string, Entry>();
  const toolsById = new Map<string, Tool>();
  const lastTurn = new Map<string, number>();
  const builtinIds = new Set<string>(reserved);
  /** Ids by skeleton: an agent must never mistake one server for another. */
  const skeletons = new Map<string, string>([...builtinIds].map((id) => [toSkeleton(id), id]));
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
      checkServer(server, builtinIds, entries.has(server.id), skeletons.get(toSkeleton(server.id)));
      skeletons.set(toSkeleton(server.id), server.id);
      if (server.builtin) builtinIds.add(server.id);
      const turn = ++turns;
      const { tools, rejected } = createTools(server, definitions);
      for (const tool of tools) {
        const enriching = events.discover(tool);
        if (isPending(enriching)) await enriching;
        Object.freeze(tool.tags);
        Object.freeze(tool);
      }
      // While hooks enriched these tools, a later list may have arrived, or the server may have been removed.
      if (turn > (lastTurn.get(server.id) ?? 0)) {
        lastTurn.set(server.id, turn);
        await swap(server.id, { server: Object.freeze({ ...server }), tools: Object.freeze(tools) });
      }
      return { revision, tools, rejected };
    },

    async remove(id) {
      lastTurn.set(id, ++turns);
      builtinIds.delete(id);
      if (skeletons.get(toSkeleton(id)) === id) skeletons.delete(toSkeleton(id));
      if (!entries.has(id)) return false;
      await swap(id, undefined);
      return true;
    },
  };
}

/** Throws if the id of a server is invalid or taken. */
function checkServer(
  server: Server,
  builtinIds: ReadonlySet<string>,
  isListed: boolean,
  alike: string | undefined,
): void {
  if (server.id === "" || server.id.includes(":")) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `"${server.id}" cannot be the id of a server: it must have at least one character and no colon.`,
    );
  }
  const reason = findIdentifierFault(server.id);
  if (reason) {
    throw new GatewayError("CONFIG_INVALID", `"${server.id}" cannot be the id of a server: ${reason}.`);
  }
  if (alike !== undefined && alike !== server.id) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The server id "${server.id}" looks like "${alike}", which is taken. Give the server another name.`,
    );
  }
  if (builtinIds.has(server.id) ? !server.builtin : server.builtin && isListed) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The server id "${server.id}" is taken by the gateway itself. Give the server another name.`,
    );
  }
}

function createTools(
  server: Server,
  definitions: readonly ToolDefinition[],
): { tools: Tool[]; rejected: RejectedTool[] } {
  const tools = new Map<string, Tool>();
  const skeletons = new Map<string, string>();
  const rejected: RejectedTool[] = [];
  for (const definition of definitions) {
    const given: unknown = (definition as Partial<ToolDefinition> | null)?.name;
    const name = typeof given === "string" || typeof given === "number" ? String(given) : "";
    const reason =
      findToolFault(definition) ??
      (tools.has(name) ? "its server lists this name twice; the first one counts" : undefined) ??
      (skeletons.has(toSkeleton(name))
        ? `it looks like "${skeletons.get(toSkeleton(name))}", which comes first`
        : undefined);
    if (reason) {
      rejected.push({ name, reason });
      continue;
    }
    skeletons.set(toSkeleton(name), name);
    tools.set(name, createTool(server, definition));
  }
  return { tools: [...tools.values()], rejected };
}

/** Copies the fields that a server may set. The others are set by plugins, and trusted. */
function createTool(server: Server, definition: ToolDefinition): Tool {
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

function findToolFault(definition: ToolDefinition): string | undefined {
  if (!isJsonObject(definition)) return "it is not an object";
  if (typeof definition.name !== "string" || definition.name === "") return "it has no name";
  const reason = findIdentifierFault(definition.name);
  if (reason) return reason.replace(/^it/, "its name");
  if (!isJsonObject(definition.inputSchema)) return "its inputSchema is not an object";
  if (definition.description !== undefined && typeof definition.description !== "string") {
    return "its description is not a string";
  }
}

// Most names are ASCII and need no further check.
const PLAIN = /^[ -~]*$/;
/** Invisible characters: controls, marks of direction, joiners, fillers, private and broken characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/u;
/** Names that would lead to another folder where names become paths. */
const OTHER_FOLDER = /(?:^|[\\/])\.{1,2}(?:[\\/]|$)/;

// Letters of other alphabets that look like Latin ones, each before its Latin twin.
const LOOKALIKES = new Map(
  [
    "аa еe оo рp сc уy хx ѕs іi јj ԁd ԛq ԝw һh ӏl ѵv АA ВB ЕE КK МM НH ОO РP СC ТT ХX ЅS ІI ЈJ ԚQ ԜW",
    "αa οo ρp νv ιi κk τt ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX",
    "ıi ȷj ɑa ɡg օo սu հh ոn ցg աw ᴏo ᴠv ᴡw ᴢz",
    "‐- ‑- ‒- –- —- −- ˗- ․. ⁄/ ∕/ ∶: ꞉:",
  ].flatMap((row) => row.split(" ").map((pair) => [...pair] as [string, string])),
);

/** Returns the reason why a name cannot be part of an id, if there is one. */
export function findIdentifierFault(name: string): string | undefined {
  if (!PLAIN.test(name) && INVISIBLE.test(name)) return "it holds a character that cannot be seen";
  if (OTHER_FOLDER.test(name)) return 'it holds a path to another folder ("..")';
}

/** Converts a name to its skeleton (Unicode TR 39): names that look alike have the same one. */
export function toSkeleton(name: string): string {
  if (PLAIN.test(name)) return name;
  let skeleton = "";
  for (const character of name.normalize("NFKC")) {
    if (character !== "\ufe0f") skeleton += LOOKALIKES.get(character) ?? character;
  }
  return skeleton;
}
