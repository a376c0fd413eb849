import {
  type Actor,
  type Call,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Plugin,
  type Preset,
  type Progress,
  type SettledCall,
  type Tool,
  type ToolResult,
} from "../../core/mod.ts";
import { patiently } from "./_patience.ts";
import { resultOf } from "./_result-of.ts";
import type { Resources } from "./resources.ts";

/** A tool as a client sees it. */
export interface ShownTool {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** What travels with a call from a client. */
export interface FrontCallOptions {
  readonly actor?: Actor;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly meta?: Readonly<JsonObject>;
  /** Called when a tool is started that may do more than read. */
  readonly onEffect?: () => void;
}

/** What every way of serving shows of a gateway: it knows tools and results, and nothing of a protocol's versions. */
export interface Front {
  /** Must be one of a gateway's plugins, so that changes of its catalog are noticed. */
  readonly plugin: Plugin<"serve">;
  /** Shows this gateway from now on, in place of the one before, with its tools as its preset describes them. */
  show(gateway: Gateway, preset?: Preset): void;
  list(): readonly ShownTool[];
  /** Rejects with a `GatewayError` where the request itself is wrong; any other failure is a result that says so. */
  call(name: string, args: unknown, options: FrontCallOptions): Promise<ToolResult>;
  /** Looks after a call whose client has gone, until it is over; false where too many are so already. */
  adopt(done: Promise<unknown>): boolean;
  /** What can be read; nothing where the gateway has nothing of the kind. */
  resources(): Resources | undefined;
  /** Calls back when the list is another one; returns what ends that. */
  onListChanged(listener: () => void): () => void;
}

interface Shown {
  readonly gateway: Gateway | undefined;
  readonly revision: number;
  readonly byName: ReadonlyMap<string, Tool>;
  /** The list as text, to tell whether another one differs. */
  readonly text: string;
}

const SETTLE_MS = 100;
/** Calls that go on though their clients have gone. */
const MAX_ADOPTED = 100;

/** Makes the front of a gateway. */
export function createFront(): Front {
  const listeners = new Set<() => void>();
  /** By the metadata of a request, which is its own: its call is made by the gateway, and not known here. */
  const onEffects = new WeakMap<object, () => void>();
  let adopted = 0;
  let gateway: Gateway | undefined;
  let preset: Preset | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let shown: Shown | undefined;

  return {
    plugin: {
      name: "serve",
      setup: (own) => ({
        "catalog:change": () => {
          if (own === gateway) tellIfChanged();
        },
        // What its server says of a tool is a hint, and a wrong one does harm only to its own calls.
        execute(call, next) {
          if (call.tool && !call.tool.builtin && call.tool.annotations?.readOnlyHint !== true) {
            onEffects.get(outermost(call).meta)?.();
          }
          return next();
        },
      }),
    },
    show(next, from) {
      if (gateway?.services.results) next.services.results?.follow(gateway.services.results);
      gateway = next;
      preset = from;
      tellIfChanged();
    },
    list: () => [...look().byName].map(([name, tool]) => show(name, tool)),
    async call(name, args, { onEffect, ...options }) {
      const tool = look().byName.get(name) ?? respelled(look().byName, name);
      if (!tool || !gateway) throw new GatewayError("TOOL_NOT_FOUND", `There is no tool "${name}".`);
      const { results } = gateway.services;
      if (onEffect && options.meta) onEffects.set(options.meta, onEffect);
      const shown = (settled: SettledCall): ToolResult => {
        // A call of the gateway's own tool that never came to its execution was wrong in itself.
        if (!settled.ok && tool.builtin && settled.stage !== "execute") throw settled.error;
        if (!settled.ok || !results) return resultOf(settled);
        // A client refuses the answer of a tool with an output schema that is not structured.
        return results.fit(settled.result, settled.actor, {
          keepStructured: tool.outputSchema !== undefined,
        });
      };
      const request = { tool: tool.id, args, ...options };
      // For the same reason nothing but its result can be the answer of such a tool.
      if (!results?.waitMs || tool.outputSchema) return shown(await gateway.run(request));
      return patiently(gateway, request, { results, shown, name: nameOf(tool, args) });
    },
    adopt(done) {
      if (adopted >= MAX_ADOPTED) return false;
      adopted++;
      const over = (): void => void adopted--;
      done.then(over, over);
      return true;
    },
    resources: () => gateway?.services.resources,
    onListChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  /** Only where a client has seen the list, and it is another one now. */
  function tellIfChanged(): void {
    if (shown === undefined || timer) return;
    const before = shown.text;
    // While servers are asked for their tools, the catalog changes many times in a row.
    timer = setTimeout(() => {
      timer = undefined;
      if (look().text === before) return;
      for (const listener of listeners) listener();
    }, SETTLE_MS);
    timer.unref?.();
  }

  function look(): Shown {
    const revision = gateway?.catalog.revision ?? 0;
    if (shown?.gateway === gateway && shown?.revision === revision) return shown;
    const tools = gateway && (preset?.describe?.(gateway) ?? gateway.tools);
    const byName = named(tools?.filter((tool) => tool.enabled) ?? []);
    const text = JSON.stringify([...byName].map(([name, tool]) => show(name, tool)));
    shown = { gateway, revision, byName, text };
    return shown;
  }
}

/** Names are as their servers have them, unless two have the same. */
function named(tools: readonly Tool[]): Map<string, Tool> {
  const count = new Map<string, number>();
  for (const { name } of tools) count.set(name, (count.get(name) ?? 0) + 1);
  return new Map(
    tools.map((tool) => [count.get(tool.name) === 1 ? tool.name : `${tool.server}__${tool.name}`, tool]),
  );
}

/** A client that takes no dots or no hyphens may write the name of one of our own tools as it can. */
function respelled(byName: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  const plain = (text: string): string => text.replace(/[.-]/g, "_");
  const alike = [...byName].filter(([own, { builtin }]) => builtin && plain(own) === plain(name));
  return alike.length === 1 ? alike[0]?.[1] : undefined;
}

function show(name: string, tool: Tool): ShownTool {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta } = tool;
  return { name, title, description, inputSchema, outputSchema, annotations, icons, _meta };
}

/** What a call is about: the tool that it is made for, where it names one. */
function nameOf({ id, builtin }: Tool, args: unknown): string {
  const { server, tool } = isJsonObject(args) ? args : {};
  const isTarget = builtin && typeof server === "string" && typeof tool === "string";
  return `"${(isTarget ? `${server}:${tool}` : id).slice(0, 160)}"`;
}

function outermost(call: Call): Call {
  return call.parent ? outermost(call.parent) : call;
}
