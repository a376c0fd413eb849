/**
 * Lets clients use what servers have besides their tools: resources, templates, prompts and completions.
 *
 * @module
 */
import * as v from "valibot";
import {
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  type PluginFactory,
} from "../../core/mod.ts";
import { offerLogging } from "../../core/services/clients.ts";
import { createAsk } from "./ask.ts";
import { type Offer, offerOf } from "./offer.ts";
import { type ProviderParts, promptsOf, resourcesOf } from "./providers.ts";
import { createWatches } from "./watches.ts";

export { REQUEST_REFUSED } from "./ask.ts";

/** Two servers have a resource of the same URI; the first one's is used. */
export const RESOURCE_SHADOWED: ErrorKind = defineError("RESOURCE_SHADOWED", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});

/** The options of {@link relay}. */
export interface RelayOptions {
  /** Whether clients see the resources of servers; true by default. */
  readonly resources?: boolean;
  /** Whether clients see the prompts of servers, and completions for both; true by default. */
  readonly prompts?: boolean;
}

const options = v.strictObject({
  resources: v.optional(v.boolean(), true),
  prompts: v.optional(v.boolean(), true),
});

/**
 * Offers the resources and prompts of all servers under one roof. URIs stay as they are, and of two servers with the
 * same one the first counts; prompts are named as tools are. Clients are told that there is something of a kind only
 * where a server has it, or has not said yet what it has.
 */
export const relay: PluginFactory<"relay", RelayOptions, Required<RelayOptions>> = definePlugin({
  name: "relay",
  order: "post",
  uses: ["servers", "rules?", "clients?"],
  options: options as v.GenericSchema<RelayOptions, Required<RelayOptions>>,
  setup(gateway, given) {
    const { servers } = gateway.services;
    const listeners: (() => void)[] = [];
    const told = new Set<string>();
    const isOffered = { resources: false, prompts: false };
    let offer: Offer | undefined;

    const allows = (server: string, request: string): boolean =>
      gateway.services.rules?.allows(server, request) !== false;

    const look = (): Offer => {
      offer ??= offerOf(servers?.statuses() ?? [], allows);
      return offer;
    };
    const isPending = (): boolean =>
      (servers?.statuses() ?? []).some(
        ({ listedAt, status, config }) =>
          listedAt === undefined && !config.disabled && status !== "needs-approval",
      );
    const watches = createWatches(() => servers);
    /** Who may not read something need not hear of its changes either. */
    const checkWatch = (server: string): void => {
      const { rules } = gateway.services;
      if (!rules || rules.allows(server, "resources/read")) return;
      throw new GatewayError("TOOL_DISABLED", rules.explain(server, "resources/read"), { data: { server } });
    };
    const parts: ProviderParts = {
      ask: createAsk(gateway),
      offer: look,
      watches,
      checkWatch,
      mayBe: (capability) => look().can(capability) || isPending(),
      onChange: (changed) => void listeners.push(changed),
      isOffered: (kind) => isOffered[kind],
    };
    if (given.resources) gateway.register("resources", "relay", resourcesOf(parts));
    if (given.prompts) gateway.register("prompts", "relay", promptsOf(parts));

    /** What is offered once stays: a client that was told so need not ask again. */
    const announce = (): void => {
      const { resources, templates, prompts, can } = look();
      const mayCome = isPending();
      if (mayCome) offerLogging(gateway);
      isOffered.resources ||= mayCome || resources.length + templates.length > 0 || hasResources();
      isOffered.prompts ||= mayCome || prompts.length > 0 || can("completions");
    };
    const hasResources = (): boolean =>
      (servers?.statuses() ?? []).some(({ info }) => info?.capabilities?.["resources"] !== undefined);

    const warn = (): void => {
      for (const { uri, server, by } of look().shadowed) {
        const message = `The resource "${uri.slice(0, 200)}" of the server "${server}" is not shown: "${by}" has one of the same URI.`;
        if (told.has(message)) continue;
        told.add(message);
        gateway.report(new GatewayError(RESOURCE_SHADOWED, message, { data: { server, by } }));
      }
    };

    servers?.on({
      offer() {
        offer = undefined;
        announce();
        warn();
        for (const changed of listeners) changed();
      },
      resourceUpdated: (server, uri) => watches.tell(server, uri),
    });
    return { ready: announce };
  },
});
