import type { Exposure, FailedCall, Gateway, Preset, Tool, ToolResult } from "../../core/mod.ts";
import type { Client } from "../../core/services/clients.ts";
import { sha256Hex } from "../lib/hash.ts";
import { assignNames } from "../lib/tool-names.ts";
import {
  createListChanges,
  createResourceWatches,
  type ListChanges,
  type ResourceWatches,
  SETTLE_MS,
} from "./changes.ts";
import { getResources } from "./providers.ts";

/** A tool as a client sees it. */
export interface ExposedTool {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** The part of a gateway that clients see. It stays the same object when a reload replaces the gateway. */
export interface View {
  /** The gateway that is served now. */
  readonly gateway: Gateway | undefined;
  readonly lists: ListChanges;
  readonly watches: ResourceWatches;
  /** Serves this gateway from now on, in place of the one before, with its tools as its preset describes them. */
  show(gateway: Gateway, preset?: Preset): void;
  /** Notes that a catalog has changed. */
  catalogChanged(gateway: Pick<Gateway, "catalog">): void;
  /** The tools that a client sees, which may depend on its name. */
  listTools(client?: Client["info"]): readonly ExposedTool[];
  /** Whether the list of a client has tools of servers, or will have some. */
  listsServers(client?: Client["info"]): boolean;
  /** The tool that a client means: one that it sees, saw before or spells differently, or one that others see. */
  findTool(name: string, client?: Client["info"]): Tool | undefined;
  /** The answer to a failed call, where the preset has a form of its own. */
  answerFailure(call: FailedCall): ToolResult | undefined;
}

interface ExposedTools {
  readonly gateway: Gateway | undefined;
  readonly revision: number;
  readonly byName: ReadonlyMap<string, Tool>;
  /** A hash of the list, to see whether it has changed: the list itself may be megabytes. */
  readonly digest: string;
}

/** Limit of former names. */
const MAX_NAMES = 10_000;

/** Creates a view that shows nothing yet. */
export function createView(): View {
  let gateway: Gateway | undefined;
  let preset: Preset | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The tools that clients have seen, by their exposure. */
  const exposed = new Map<Exposure | undefined, ExposedTools>();
  /** Ids by the names that tools had before the list changed. */
  const formerIds = new Map<string, string>();
  const lists = createListChanges(() => gateway);
  const watches = createResourceWatches(
    () => getResources(gateway),
    (error) => gateway?.report(error),
  );

  return {
    get gateway() {
      return gateway;
    },
    lists,
    watches,
    show(next, from) {
      const isFirst = gateway === undefined;
      gateway = next;
      preset = from;
      notifyIfChanged();
      watches.renew();
      lists.changing();
      if (!isFirst) lists.renew();
    },
    catalogChanged(changed) {
      // A plugin sees the gateway through an object of its own, with the same catalog.
      if (changed.catalog === gateway?.catalog) notifyIfChanged();
    },
    answerFailure: (call) => gateway && preset?.answerFailure?.(gateway, call),
    listTools: (client) =>
      [...expose(getExposure(client)).byName].map(([name, tool]) => describe(name, tool)),
    listsServers(client) {
      const exposure = getExposure(client);
      const tools = [...expose(exposure).byName.values()];
      return exposure === "both" || tools.length === 0 || tools.some(({ builtin }) => !builtin);
    },
    findTool(name, client) {
      const exposure = getExposure(client);
      const { byName } = expose(exposure);
      return (
        byName.get(name) ??
        findFormer(byName, name) ??
        findRespelled(byName, name) ??
        (exposure === "meta" || exposure === "tools" ? expose("both").byName.get(name) : undefined)
      );
    },
  };

  function getExposure(client: Client["info"]): Exposure | undefined {
    return gateway?.services.exposure?.get(client);
  }

  /** Notifies clients, a moment later, if a list that one of them has seen is a different one then. */
  function notifyIfChanged(): void {
    if (exposed.size === 0 || timer) return;
    const before = [...exposed].map(([exposure, { digest }]) => ({ exposure, digest }));
    timer = setTimeout(() => {
      timer = undefined;
      if (before.some(({ exposure, digest }) => expose(exposure).digest !== digest)) lists.notify("tools");
    }, SETTLE_MS);
    timer.unref?.();
  }

  function expose(exposure: Exposure | undefined): ExposedTools {
    const revision = gateway?.catalog.revision ?? 0;
    const before = exposed.get(exposure);
    if (before && before.gateway === gateway && before.revision === revision) return before;
    const tools = gateway && (preset?.describe?.(gateway, exposure) ?? gateway.tools);
    const servers = gateway?.services.servers?.statuses() ?? [];
    const byName = nameTools(
      tools?.filter((tool) => tool.enabled) ?? [],
      servers.map(({ name }) => name),
    );
    const digest = sha256Hex(JSON.stringify([...byName].map(([name, tool]) => describe(name, tool))));
    if (before && before.digest !== digest) keepNames(before.byName);
    const now = { gateway, revision, byName, digest };
    exposed.set(exposure, now);
    return now;
  }

  /**
   * When a second server brings a tool of the same name, the first tool gets a longer name; a client that has not read
   * the new list yet still means the tool that it saw.
   */
  function keepNames(byName: ReadonlyMap<string, Tool>): void {
    for (const [name, { id }] of byName) {
      formerIds.delete(name);
      formerIds.set(name, id);
    }
    for (const name of formerIds.keys()) {
      if (formerIds.size <= MAX_NAMES) return;
      formerIds.delete(name);
    }
  }

  function findFormer(byName: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
    const id = formerIds.get(name);
    return id === undefined ? undefined : [...byName.values()].find((tool) => tool.id === id);
  }
}

function nameTools(tools: readonly Tool[], servers: readonly string[]): Map<string, Tool> {
  const names = assignNames(tools, servers);
  return new Map(tools.map((tool, index) => [names[index] as string, tool]));
}

/** A client that takes no dots or hyphens may spell the name of a built-in tool with underscores. */
function findRespelled(byName: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  const plain = (text: string): string => text.replace(/[.-]/g, "_");
  const alike = [...byName].filter(([own, { builtin }]) => builtin && plain(own) === plain(name));
  return alike.length === 1 ? alike[0]?.[1] : undefined;
}

function describe(name: string, tool: Tool): ExposedTool {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta } = tool;
  return { name, title, description, inputSchema, outputSchema, annotations, icons, _meta };
}
