import {
  type Actor,
  type Call,
  type CallInput,
  type CallRequest,
  type Exposure,
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
import { cannot } from "./_capability.ts";
import { clientsFor, elicitBy } from "./_clients.ts";
import { formerNames } from "./_former-names.ts";
import { invalid } from "./_handler.ts";
import { isQuestions, isRefusedState } from "./_input.ts";
import { createListChanges, type ListName, SETTLE_MS } from "./_list-changes.ts";
import { patiently } from "./_patience.ts";
import { resultOf } from "./_result-of.ts";
import type { ServedClient } from "./_served-client.ts";
import { createWatching } from "./_watching.ts";
import { CLIENT_CANNOT, type Client } from "./client.ts";
import type {} from "./exposure.ts";
import type { Prompts } from "./prompts.ts";
import type { Resources, WatchOptions } from "./resources.ts";
import { shownNames } from "./shown-names.ts";

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
  /** Who calls, where it can be asked and told things meanwhile. */
  readonly client?: ServedClient;
  /** What a client brings that was asked something when it made this call before. */
  readonly input?: CallInput;
}

/** What every way of serving shows of a gateway: it knows tools and results, and nothing of a protocol's versions. */
export interface Front {
  /** Must be one of a gateway's plugins, so that changes of its catalog are noticed. */
  readonly plugin: Plugin<"serve">;
  /** Shows this gateway from now on, in place of the one before, with its tools as its preset describes them. */
  show(gateway: Gateway, preset?: Preset): void;
  /** The tools that a client sees; where it decides, by what it calls itself. */
  list(client?: Client["info"]): readonly ShownTool[];
  /** Rejects with a `GatewayError` where the request itself is wrong; any other failure is a result that says so. */
  call(name: string, args: unknown, options: FrontCallOptions): Promise<ToolResult>;
  /** Looks after a call whose client has gone, until it is over; false where too many are so already. */
  adopt(done: Promise<unknown>): boolean;
  /** What can be read; nothing where the gateway has nothing of the kind. */
  resources(): Resources | undefined;
  /** The prompts; nothing where the gateway has none. */
  prompts(): Prompts | undefined;
  /** Whether clients may be told messages. */
  logs(): boolean;
  /** The lists whose changes are noticed. */
  changes(): ReadonlySet<ListName>;
  /** Watches something that can be read, in whatever gateway is shown; returns what ends that. */
  watch(uri: string, options: WatchOptions): Promise<() => void>;
  /** Calls back when a list is another one; returns what ends that. */
  onListChanged(listener: (list: ListName) => void): () => void;
}

/** Who is behind a call. */
interface Caller {
  onEffect: (() => void) | undefined;
  client: ServedClient | undefined;
}

interface Shown {
  readonly gateway: Gateway | undefined;
  readonly revision: number;
  readonly byName: ReadonlyMap<string, Tool>;
  /** The list as text, to tell whether another one differs. */
  readonly text: string;
}

/** Calls that go on though their clients have gone. */
const MAX_ADOPTED = 100;

/** Makes the front of a gateway, for one client or for several at once. */
export function createFront({ isShared = false }: { readonly isShared?: boolean } = {}): Front {
  const lists = createListChanges(() => gateway);
  /** By the metadata of a request, which is its own: its call is made by the gateway, and not known here. */
  const callers = new Map<object, Caller>();
  const callerOf = (call: Call) => callers.get(outermost(call).meta);
  const watching = createWatching(
    () => gateway?.services.resources,
    (error) => gateway?.report(error),
  );
  let adopted = 0;
  let gateway: Gateway | undefined;
  let preset: Preset | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** What clients have seen, by what they get to see. */
  const shown = new Map<Exposure | undefined, Shown>();
  const names = formerNames();

  return {
    plugin: {
      name: "serve",
      setup(own) {
        const clients = clientsFor(own, (call) => callerOf(call)?.client);
        own.services.clients = { ...clients, isShared };
        own.services.elicit ??= elicitBy(clients);
        return {
          "catalog:change": () => {
            if (own === gateway) tellIfChanged();
          },
          // What its server says of a tool is a hint, and a wrong one does harm only to its own calls.
          execute(call, next) {
            if (call.tool && !call.tool.builtin && call.tool.annotations?.readOnlyHint !== true) {
              callerOf(call)?.onEffect?.();
            }
            return next();
          },
        };
      },
    },
    show(next, from) {
      if (gateway?.services.results) next.services.results?.follow(gateway.services.results);
      const isFirst = gateway === undefined;
      gateway = next;
      preset = from;
      tellIfChanged();
      watching.renew();
      lists.of(next);
      if (!isFirst) lists.renew(next);
    },
    list: (client) => [...look(exposureOf(client)).byName].map(([name, tool]) => show(name, tool)),
    async call(name, args, { onEffect, client, ...options }) {
      const tool = find(name, exposureOf(client?.info));
      if (!tool || !gateway) throw new GatewayError("TOOL_NOT_FOUND", `There is no tool "${name}".`);
      const { results } = gateway.services;
      const { meta = {} } = options;
      const shown = (settled: SettledCall): ToolResult => {
        // A call of the gateway's own tool that never came to its execution was wrong in itself.
        if (!settled.ok && tool.builtin && settled.stage !== "execute") throw settled.error;
        const isModern = client?.era === "modern";
        // The newer era has an error of its own for what a client cannot do, by which it knows what it lacks.
        if (!settled.ok && isModern && settled.error.code === CLIENT_CANNOT.code) throw settled.error;
        if (!settled.ok && isModern && isRefusedState(settled.error, options.input)) {
          throw invalid(settled.error.message);
        }
        if (settled.ok && isQuestions(settled.result)) return questionsIn(settled, isModern);
        if (!settled.ok || !results) return resultOf(settled);
        // A client refuses the answer of a tool with an output schema that is not structured.
        return results.fit(settled.result, settled.actor, {
          keepStructured: tool.outputSchema !== undefined,
        });
      };
      const own = gateway;
      const run = async (request: CallRequest): Promise<SettledCall> => {
        // A map that forgets by itself was most of the cost of a call.
        const caller: Caller = { onEffect, client };
        callers.set(meta, caller);
        const settled = await own.run(request);
        callers.delete(meta);
        // A map may hold what was in it for long; what is behind this is all of a request.
        caller.onEffect = caller.client = undefined;
        return settled;
      };
      const request = { ...options, tool: tool.id, args, meta };
      // For the same reason nothing but its result can be the answer of such a tool.
      if (!results?.waitMs || tool.outputSchema) return shown(await run(request));
      return patiently(run, request, { results, shown, name: nameOf(tool, args), client });
    },
    adopt(done) {
      if (adopted >= MAX_ADOPTED) return false;
      adopted++;
      const over = (): void => void adopted--;
      done.then(over, over);
      return true;
    },
    resources: () => gateway?.services.resources,
    prompts: () => gateway?.services.prompts,
    logs: () => gateway?.services.logging !== undefined,
    changes: () => lists.of(gateway),
    watch: watching.watch,
    onListChanged: lists.listen,
  };

  /** Only where a client has seen the list, and it is another one now. */
  function tellIfChanged(): void {
    if (shown.size === 0 || timer) return;
    const before = [...shown].map(([exposure, { text }]) => ({ exposure, text }));
    // While servers are asked for their tools, the catalog changes many times in a row.
    timer = setTimeout(() => {
      timer = undefined;
      if (before.every(({ exposure, text }) => look(exposure).text === text)) return;
      lists.tell("tools");
    }, SETTLE_MS);
    timer.unref?.();
  }

  function exposureOf(client: Client["info"]): Exposure | undefined {
    return gateway?.services.exposure?.of(client);
  }

  function look(exposure: Exposure | undefined): Shown {
    const revision = gateway?.catalog.revision ?? 0;
    const before = shown.get(exposure);
    if (before && before.gateway === gateway && before.revision === revision) return before;
    const tools = gateway && (preset?.describe?.(gateway, exposure) ?? gateway.tools);
    const byName = named(tools?.filter((tool) => tool.enabled) ?? []);
    const text = JSON.stringify([...byName].map(([name, tool]) => show(name, tool)));
    if (before && before.text !== text) names.keep(before.byName);
    const now = { gateway, revision, byName, text };
    shown.set(exposure, now);
    return now;
  }

  /** The tool that a client means: one that it sees, saw before, or spells as it can, or one that others see. */
  function find(name: string, exposure: Exposure | undefined): Tool | undefined {
    const { byName } = look(exposure);
    const id = byName.has(name) ? undefined : names.idOf(name);
    const former = id === undefined ? undefined : [...byName.values()].find((tool) => tool.id === id);
    const found = byName.get(name) ?? former ?? respelled(byName, name);
    const isPart = exposure === "meta" || exposure === "tools";
    return found ?? (isPart ? look("both").byName.get(name) : undefined);
  }
}

function named(tools: readonly Tool[]): Map<string, Tool> {
  const names = shownNames(tools);
  return new Map(tools.map((tool, index) => [names[index] as string, tool]));
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

/** A client of the older era cannot be handed questions; whoever asks them has to ask it themselves. */
function questionsIn(settled: SettledCall & { ok: true }, isModern: boolean): ToolResult {
  if (isModern) return settled.result;
  const error = cannot("input_required", {});
  return resultOf({ ...settled, ok: false, result: undefined, error });
}

function outermost(call: Call): Call {
  return call.parent ? outermost(call.parent) : call;
}
