import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type {
  CompletionRequest,
  PromptProvider,
  PromptResult,
  ResourceProvider,
  ResourceResult,
} from "../../core/services/resources.ts";
import { UPSTREAM_PROTOCOL } from "../../core/services/servers.ts";
import type { Ask } from "./ask.ts";
import type { Offer } from "./offer.ts";
import type { Watches } from "./watches.ts";

/** What the providers look things up in. */
export interface ProviderParts {
  readonly ask: Ask;
  readonly offer: () => Offer;
  readonly watches: Watches;
  /** Throws where the resources of a server must not be watched. */
  readonly checkWatch: (server: string) => void;
  /** Whether servers may be able to do something: also while it is not known yet. */
  readonly mayBe: (capability: "completions" | "subscribe") => boolean;
  readonly onChange: (changed: () => void) => void;
  /** Whether clients are told that there are resources, or prompts. */
  readonly isOffered: (kind: "resources" | "prompts") => boolean;
}

/** The resources of all servers, read from whichever has them. */
export function resourcesOf(parts: ProviderParts): ResourceProvider {
  const { ask, offer, watches, checkWatch } = parts;
  const watch: ResourceProvider["watch"] = async (uri, { onUpdate }) => {
    const server = offer().serverOf(uri);
    if (server === undefined || !offer().can("subscribe", server)) return undefined;
    checkWatch(server);
    return watches.add(server, uri, onUpdate);
  };
  return {
    list: () => offer().resources,
    templates: () => offer().templates,
    async read(uri, options) {
      const server = offer().serverOf(uri);
      if (server === undefined) return undefined;
      const result = await ask(server, "resources/read", { uri }, options);
      return checked<ResourceResult>(server, result, "contents");
    },
    // Whoever serves looks whether it is there to know what to say to clients.
    get watch() {
      return parts.mayBe("subscribe") ? watch : undefined;
    },
    onChange: parts.onChange,
    isOffered: () => parts.isOffered("resources"),
  } as ResourceProvider;
}

/** The prompts of all servers, and what completes their arguments and those of resource templates. */
export function promptsOf(parts: ProviderParts): PromptProvider {
  const { ask, offer } = parts;
  const complete: PromptProvider["complete"] = async ({ ref, argument, context }, options) => {
    const target = targetOf(offer(), ref);
    if (!target || !offer().can("completions", target.server)) return undefined;
    const params = { ref: target.ref, argument, ...(context && { context }) };
    return completionIn(await ask(target.server, "completion/complete", params, options));
  };
  return {
    list: () => offer().prompts,
    async get(name, args, options) {
      const prompt = offer().prompt(name);
      if (!prompt) return undefined;
      const { server } = prompt;
      const result = await ask(server, "prompts/get", { name: prompt.name, arguments: args }, options);
      return checked<PromptResult>(server, result, "messages");
    },
    get complete() {
      return parts.mayBe("completions") ? complete : undefined;
    },
    onChange: parts.onChange,
    isOffered: () => parts.isOffered("prompts"),
  } as PromptProvider;
}

/** A client takes nothing at all of a result that is not what it should be, so this is said instead. */
function checked<T>(server: string, result: JsonObject, key: string): T {
  if (result["resultType"] === "input_required") return { ...result, [key]: [] } as T;
  if (Array.isArray(result[key])) return result as T;
  throw new GatewayError(
    UPSTREAM_PROTOCOL,
    `The server "${server}" answered in a way that cannot be understood.`,
  );
}

function targetOf(
  offer: Offer,
  ref: CompletionRequest["ref"],
): { readonly server: string; readonly ref: JsonObject } | undefined {
  if (ref.type === "ref/prompt") {
    const prompt = offer.prompt(ref.name);
    return prompt && { server: prompt.server, ref: { ...ref, name: prompt.name } };
  }
  const server = offer.serverOfTemplate(ref.uri) ?? offer.serverOf(ref.uri);
  return server === undefined ? undefined : { server, ref: { ...ref } };
}

function completionIn({ completion }: JsonObject): { values: string[]; total?: number; hasMore?: boolean } {
  const { values, total, hasMore } = isJsonObject(completion) ? completion : {};
  return {
    values: Array.isArray(values) ? values.filter((value) => typeof value === "string") : [],
    ...(typeof total === "number" && { total }),
    ...(typeof hasMore === "boolean" && { hasMore }),
  };
}
