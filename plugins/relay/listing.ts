import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Prompt, Resource, ResourceTemplate } from "../../core/services/resources.ts";
import type { ServerStatus, UpstreamMethod } from "../../core/services/servers.ts";
import { compileGlob } from "../lib/glob.ts";
import { assignNames } from "../lib/tool-names.ts";

/** A prompt with its server, its name there, and the definition that clients see. */
interface ListedPrompt {
  readonly server: string;
  readonly name: string;
  readonly exposed: Prompt;
}

/** A resource that two servers have; the one of the server `by` is used. */
interface ShadowedResource {
  readonly uri: string;
  readonly server: string;
  readonly by: string;
}

/**
 * Resources, templates and prompts of all servers. Those that a rule disables are not listed, but lead to their server,
 * so that a request for them is refused with the rule.
 */
export interface CombinedListing {
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
  readonly shadowed: readonly ShadowedResource[];
  /** Finds the server of a URI: one that lists it, one whose template matches, or the only one that has resources. */
  findServer(uri: string): string | undefined;
  findTemplateServer(template: string): string | undefined;
  /** Finds a prompt by the name that clients see. */
  findPrompt(name: string): ListedPrompt | undefined;
  /** Whether a server declares a capability; without a server, whether any does. */
  can(capability: "completions" | "subscribe", server?: string): boolean;
}

/** Combines the listings of servers. Of two resources with the same URI, the first that is enabled counts. */
export function combineListings(
  statuses: readonly ServerStatus[],
  allows: (server: string, request: UpstreamMethod) => boolean = () => true,
): CombinedListing {
  const names = statuses.map(({ name }) => name);
  const hiddenResources = new Set(names.filter((name) => !allows(name, "resources/read")));
  const hiddenPrompts = new Set(names.filter((name) => !allows(name, "prompts/get")));
  const shadowed: ShadowedResource[] = [];
  const resources = new Map<string, { readonly server: string; readonly item: Resource }>();
  const templates = new Map<string, { readonly server: string; readonly item: ResourceTemplate }>();
  const add = <T>(
    target: Map<string, { readonly server: string; readonly item: T }>,
    server: string,
    key: string,
    item: T,
  ): void => {
    const first = target.get(key);
    if (!first) target.set(key, { server, item });
    else if (first.server !== server && !hiddenResources.has(server))
      shadowed.push({ uri: key, server, by: first.server });
  };
  const isHidden = ({ name }: ServerStatus): number => Number(hiddenResources.has(name));
  for (const { name, listing } of statuses.toSorted((a, b) => isHidden(a) - isHidden(b))) {
    for (const item of cleanAll(listing?.resources, cleanResource)) add(resources, name, item.uri, item);
    for (const item of cleanAll(listing?.resourceTemplates, cleanTemplate)) {
      add(templates, name, item.uriTemplate, item);
    }
  }
  const found = statuses.flatMap(({ name: server, listing }) =>
    cleanAll(listing?.prompts, cleanPrompt).map((prompt) => ({ server, name: prompt.name, prompt })),
  );
  const exposedNames = assignNames(found, names);
  const prompts = new Map<string, ListedPrompt>(
    found.map(({ server, name, prompt }, index) => {
      const exposed = exposedNames[index] as string;
      return [exposed, { server, name, exposed: { ...prompt, name: exposed } }];
    }),
  );
  const matchers = [...templates].map(([template, { server }]) => ({
    server,
    matches: templateMatcher(template),
  }));
  const readable = statuses.filter(({ info }) => isJsonObject(info?.capabilities?.["resources"]));

  return {
    resources: [...resources.values()].flatMap(({ server, item }) =>
      hiddenResources.has(server) ? [] : item,
    ),
    templates: [...templates.values()].flatMap(({ server, item }) =>
      hiddenResources.has(server) ? [] : item,
    ),
    prompts: [...prompts.values()].flatMap(({ server, exposed }) =>
      hiddenPrompts.has(server) ? [] : exposed,
    ),
    shadowed,
    findServer: (uri) =>
      resources.get(uri)?.server ??
      matchers.find(({ matches }) => matches(uri))?.server ??
      // A tool may name a resource that no server lists. Only its own server may be asked for it.
      (readable.length === 1 ? readable[0]?.name : undefined),
    findTemplateServer: (template) => templates.get(template)?.server,
    findPrompt: (name) => prompts.get(name),
    can: (capability, server) =>
      statuses.some(
        ({ name, info }) => (server ?? name) === name && declares(info?.capabilities, capability),
      ),
  };
}

function declares(given: Readonly<JsonObject> | undefined, capability: "completions" | "subscribe"): boolean {
  if (capability === "completions") return isJsonObject(given?.["completions"]);
  const resources = given?.["resources"];
  return isJsonObject(resources) && resources["subscribe"] === true;
}

function cleanAll<T>(
  items: readonly JsonObject[] | undefined,
  clean: (item: JsonObject) => T | undefined,
): T[] {
  return (items ?? []).flatMap((item) => clean(item) ?? []);
}

const MAX_TEMPLATE = 2_000;

/** Matches URIs that a template can produce. The values of variables are not checked: the server does that. */
export function templateMatcher(template: string): (uri: string) => boolean {
  if (template.length > MAX_TEMPLATE) return () => false;
  const parts = template.split(/\{[^{}]*\}/).map((literal) => literal.replace(/[*?[]/g, "[$&]"));
  return compileGlob(parts.join("*"));
}

const MAX_URI = 8_000;

/** Keeps the valid fields of a resource: a client refuses a whole list in which one field is wrong. */
export function cleanResource(item: JsonObject): Resource | undefined {
  const { uri, size } = item;
  if (!isUri(uri)) return undefined;
  return { ...cleanCommon(item), uri, name: getName(item, uri), ...(typeof size === "number" && { size }) };
}

/** Keeps the valid fields of a resource template. */
export function cleanTemplate(item: JsonObject): ResourceTemplate | undefined {
  const { uriTemplate } = item;
  return isUri(uriTemplate)
    ? { ...cleanCommon(item), uriTemplate, name: getName(item, uriTemplate) }
    : undefined;
}

/** Keeps the valid fields of a prompt. */
export function cleanPrompt(item: JsonObject): Prompt | undefined {
  const { name, arguments: args } = item;
  if (typeof name !== "string" || name === "") return undefined;
  const { mimeType: _, annotations: __, ...rest } = cleanCommon(item);
  return { ...rest, name, ...(Array.isArray(args) && { arguments: args.flatMap(cleanArgument) }) };
}

function cleanArgument(item: unknown): JsonObject[] {
  const { name, title, description, required } = isJsonObject(item) ? item : {};
  if (typeof name !== "string") return [];
  return [
    {
      name,
      ...(typeof title === "string" && { title }),
      ...(typeof description === "string" && { description }),
      ...(typeof required === "boolean" && { required }),
    },
  ];
}

function cleanCommon({ title, description, mimeType, annotations, icons, _meta }: JsonObject): JsonObject {
  return {
    ...(typeof title === "string" && { title }),
    ...(typeof description === "string" && { description }),
    ...(typeof mimeType === "string" && { mimeType }),
    ...(isJsonObject(annotations) && { annotations }),
    ...(Array.isArray(icons) && { icons }),
    ...(isJsonObject(_meta) && { _meta }),
  };
}

function getName({ name }: JsonObject, fallback: string): string {
  return typeof name === "string" ? name : fallback;
}

function isUri(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_URI && !/\p{Cc}/u.test(value);
}
