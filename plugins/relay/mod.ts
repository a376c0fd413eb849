/**
 * Lets clients use what servers have besides their tools: resources, templates, prompts and completions.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, GatewayError, type PluginFactory } from "../../core/mod.ts";
import { TOOL_DISABLED } from "../rules/mod.ts";
import { offerLogging } from "../serve/client.ts";
import { offerPrompts } from "../serve/prompts.ts";
import { offerResources } from "../serve/resources.ts";
import type {} from "../upstreams/mod.ts";
import { createAsk } from "./ask.ts";
import { RESOURCE_SHADOWED } from "./errors.ts";
import { type Offer, offerOf, requestsTo } from "./offer.ts";
import { type ProviderParts, promptsOf, resourcesOf } from "./providers.ts";
import { createWatches } from "./watches.ts";

export { REQUEST_REFUSED, RESOURCE_SHADOWED } from "./errors.ts";
export type { Relay } from "./offer.ts";

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
  needs: ["upstreams"],
  options: options as v.GenericSchema<RelayOptions, Required<RelayOptions>>,
  setup(gateway, given) {
    const { upstreams } = gateway.services;
    const listeners: (() => void)[] = [];
    const told = new Set<string>();
    const isOffered = { resources: !given.resources, prompts: !given.prompts };
    let offer: Offer | undefined;

    const allows = (server: string, request: string): boolean =>
      gateway.services.rules?.allows(server, request) !== false;
    gateway.services.relay = { requests: () => requestsTo(upstreams?.statuses() ?? []) };

    const look = (): Offer => {
      offer ??= offerOf(upstreams?.statuses() ?? [], allows);
      return offer;
    };
    const isPending = (): boolean =>
      (upstreams?.statuses() ?? []).some(
        ({ listedAt, status, config }) =>
          listedAt === undefined && !config.disabled && status !== "needs-approval",
      );
    const watches = createWatches(() => upstreams);
    /** Who may not read something need not hear of its changes either. */
    const checkWatch = (server: string): void => {
      const { rules } = gateway.services;
      if (!rules || rules.allows(server, "resources/read")) return;
      throw new GatewayError(TOOL_DISABLED, rules.explain(server, "resources/read"), { data: { server } });
    };
    const parts: ProviderParts = {
      ask: createAsk(gateway),
      offer: look,
      watches,
      checkWatch,
      mayBe: (capability) => look().can(capability) || isPending(),
      onChanged: (changed) => void listeners.push(changed),
    };

    /** What is offered once stays: a client that was told so need not ask again. */
    const announce = (): void => {
      const { resources, templates, prompts, can } = look();
      const mayCome = isPending();
      if (mayCome) offerLogging(gateway);
      if (!isOffered.resources && (mayCome || resources.length + templates.length > 0 || hasResources())) {
        isOffered.resources = true;
        offerResources(gateway, resourcesOf(parts));
      }
      if (!isOffered.prompts && (mayCome || prompts.length > 0 || can("completions"))) {
        isOffered.prompts = true;
        offerPrompts(gateway, promptsOf(parts));
      }
    };
    const hasResources = (): boolean =>
      (upstreams?.statuses() ?? []).some(({ info }) => info?.capabilities?.["resources"] !== undefined);

    const warn = (): void => {
      for (const { uri, server, by } of look().shadowed) {
        const message = `The resource "${uri.slice(0, 200)}" of the server "${server}" is not shown: "${by}" has one of the same URI.`;
        if (told.has(message)) continue;
        told.add(message);
        gateway.report(new GatewayError(RESOURCE_SHADOWED, message, { data: { server, by } }));
      }
    };

    upstreams?.listen({
      onOffer() {
        offer = undefined;
        announce();
        warn();
        for (const changed of listeners) changed();
      },
      onResourceUpdated: (server, uri) => watches.tell(server, uri),
    });
    return { ready: announce };
  },
});
