/**
 * Lets clients use the resources, templates, prompts and completions of servers.
 *
 * @module
 */
import * as v from "valibot";
import { defineError, definePlugin, type ErrorKind, GatewayError } from "../../core/mod.ts";
import { offerLogging } from "../../core/services/clients.ts";
import { option } from "../lib/options.ts";
import { type CombinedListing, combineListings } from "./listing.ts";
import {
  createPromptProvider,
  createResourceProvider,
  createSendRequest,
  type ProviderParts,
  REQUEST_REFUSED,
} from "./providers.ts";
import { createWatches } from "./watches.ts";

export { REQUEST_REFUSED } from "./providers.ts";

export const RESOURCE_SHADOWED: ErrorKind = defineError("RESOURCE_SHADOWED", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "Two servers have a resource of the same URI; the first one's is used.",
});

const options = v.strictObject({
  resources: option(v.boolean(), "Whether clients see the resources of servers.", true),
  prompts: option(v.boolean(), "Whether clients see the prompts of servers, and completions for both.", true),
});

/** Options of {@link relay}. */
export type RelayOptions = v.InferInput<typeof options>;

/**
 * Exposes the resources and prompts of all servers. URIs stay as they are, and of two servers with the same one the
 * first counts; prompts are named like tools. Resources or prompts are announced to clients only if a server has some,
 * or is not listed yet.
 */
export const relay = definePlugin({
  name: "relay",
  order: "post",
  uses: ["servers", "rules?", "clients?"],
  options,
  errors: { RESOURCE_SHADOWED, REQUEST_REFUSED },
  setup(gateway, settings) {
    const { servers } = gateway.services;
    const listeners: (() => void)[] = [];
    const reported = new Set<string>();
    const isOffered = { resources: false, prompts: false };
    let listing: CombinedListing | undefined;

    const allows = (server: string, request: string): boolean =>
      gateway.services.rules?.allows(server, request) !== false;

    const getListing = (): CombinedListing => {
      listing ??= combineListings(servers?.statuses() ?? [], allows);
      return listing;
    };
    const isPending = (): boolean =>
      (servers?.statuses() ?? []).some(
        ({ listedAt, status, config }) =>
          listedAt === undefined && !config.disabled && status !== "needs-approval",
      );
    const watches = createWatches(() => servers);
    /** A client that may not read a resource is not notified of its changes either. */
    const checkWatch = (server: string): void => {
      const { rules } = gateway.services;
      if (!rules || rules.allows(server, "resources/read")) return;
      throw new GatewayError("TOOL_DISABLED", rules.explain(server, "resources/read"), { data: { server } });
    };
    const parts: ProviderParts = {
      send: createSendRequest(gateway),
      listing: getListing,
      watches,
      checkWatch,
      canHave: (capability) => getListing().can(capability) || isPending(),
      onChange: (changed) => void listeners.push(changed),
      isOffered: (kind) => isOffered[kind],
    };
    if (settings.resources) gateway.register("resources", "relay", createResourceProvider(parts));
    if (settings.prompts) gateway.register("prompts", "relay", createPromptProvider(parts));

    /** Resources and prompts stay announced: clients do not ask again. */
    const announce = (): void => {
      const { resources, templates, prompts, can } = getListing();
      const mayCome = isPending();
      if (mayCome) offerLogging(gateway);
      isOffered.resources ||= mayCome || resources.length + templates.length > 0 || hasResources();
      isOffered.prompts ||= mayCome || prompts.length > 0 || can("completions");
    };
    const hasResources = (): boolean =>
      (servers?.statuses() ?? []).some(({ info }) => info?.capabilities?.["resources"] !== undefined);

    const warn = (): void => {
      for (const { uri, server, by } of getListing().shadowed) {
        const message = `The resource "${uri.slice(0, 200)}" of the server "${server}" is not listed: "${by}" has one of the same URI.`;
        if (reported.has(message)) continue;
        reported.add(message);
        gateway.report(new GatewayError(RESOURCE_SHADOWED, message, { data: { server, by } }));
      }
    };

    servers?.on({
      offer() {
        listing = undefined;
        announce();
        warn();
        for (const changed of listeners) changed();
      },
      resourceUpdated: (server, uri) => watches.notify(server, uri),
    });
    return { ready: announce };
  },
});
