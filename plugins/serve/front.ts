import {
  type Call,
  type CallNotes,
  type CallRequest,
  type Exposure,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Plugin,
  type Preset,
  type SettledCall,
  type Tool,
  type ToolResult,
} from "../../core/mod.ts";
import { answerOf } from "./_answer-of.ts";
import { clientsFor, elicitBy } from "./_clients.ts";
import { isQuestions } from "./_input.ts";
import { createListChanges, type ListName } from "./_list-changes.ts";
import { patiently } from "./_patience.ts";
import type { ServedClient } from "./_served-client.ts";
import { createShownTools, type ShownTool } from "./_shown-tools.ts";
import { createWatching } from "./_watching.ts";
import type { Client, Clients } from "./client.ts";
import type {} from "./exposure.ts";
import type { Prompts } from "./prompts.ts";
import type { Resources, WatchOptions } from "./resources.ts";

export type { ShownTool } from "./_shown-tools.ts";

/** What travels with a call from a client. */
export interface FrontCallOptions
  extends Pick<CallRequest, "actor" | "cancellation" | "onProgress" | "input"> {
  readonly meta?: Readonly<JsonObject>;
  /** Called when a tool is started that may do more than read. */
  readonly onEffect?: (() => void) | undefined;
  /** Who calls, where it can be asked and told things meanwhile. */
  readonly client?: ServedClient | undefined;
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
  readonly onEffect: (() => void) | undefined;
  readonly client: Client | undefined;
}

/** Where it is found. */
const callerNote = Symbol("toolpipe caller");

function notesOf(caller: Caller): CallNotes {
  return { [callerNote]: caller };
}

function callerOf(call: Call): Caller | undefined {
  return outermost(call).notes[callerNote] as Caller | undefined;
}

/** Calls that go on though their clients have gone. */
const MAX_ADOPTED = 100;

/** Makes the front of a gateway, for one client or for several at once. */
export function createFront({ isShared = false }: { readonly isShared?: boolean } = {}): Front {
  const lists = createListChanges(() => gateway);
  const tools = createShownTools(() => lists.tell("tools"));
  const watching = createWatching(
    () => gateway?.services.resources,
    (error) => gateway?.report(error),
  );
  let adopted = 0;
  let gateway: Gateway | undefined;

  return {
    plugin: {
      name: "serve",
      setup(own) {
        const clients: Clients = {
          of: clientsFor(own, (call) => callerOf(call)?.client),
          notesFor: (client) => notesOf({ client, onEffect: undefined }),
          isShared,
        };
        own.services.clients = clients;
        own.services.elicit ??= elicitBy(clients);
        return {
          "catalog:change": () => {
            if (own === gateway) tools.tellIfChanged();
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
      tools.show(next, from);
      watching.renew();
      lists.of(next);
      if (!isFirst) lists.renew(next);
    },
    list: (client) => tools.list(exposureOf(client)),
    call(name, args, options) {
      const { actor, cancellation, client, input, onProgress, meta = {} } = options;
      const tool = tools.find(name, exposureOf(client?.info));
      if (!tool || !gateway) {
        return Promise.reject(new GatewayError("TOOL_NOT_FOUND", `There is no tool "${name}".`));
      }
      const { results } = gateway.services;
      const request: CallRequest = {
        tool: tool.id,
        args,
        actor,
        cancellation,
        onProgress,
        input,
        meta,
        notes: notesOf({ client, onEffect: options.onEffect }),
      };
      // A client refuses the answer of a tool with an output schema that is not structured, so that it is never cut, and
      // nothing else is answered in its place.
      const keepStructured = tool.outputSchema !== undefined;
      const shown = (settled: SettledCall): ToolResult => {
        const answer = answerOf(settled, { tool, client, input });
        const fits = !settled.ok || !results || isQuestions(answer);
        return fits ? answer : results.fit(answer, settled.actor, { keepStructured });
      };
      const { run } = gateway;
      if (!results?.waitMs || keepStructured) return run(request).then(shown);
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

  function exposureOf(client: Client["info"]): Exposure | undefined {
    return gateway?.services.exposure?.of(client);
  }
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
