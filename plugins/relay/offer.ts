import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Prompt, Resource, ResourceTemplate } from "../../core/services/resources.ts";
import type { ServerStatus, UpstreamMethod } from "../../core/services/servers.ts";
import { globMatcher } from "../lib/glob.ts";
import { shownNames } from "../lib/tool-names.ts";
import { tidyPrompt, tidyResource, tidyTemplate } from "./tidy.ts";

/** A prompt, where it is, and what its server calls it. */
export interface OfferedPrompt {
  readonly server: string;
  readonly name: string;
  readonly shown: Prompt;
}

/** Something that two servers have, and that is taken from the first of them. */
export interface Shadowed {
  readonly uri: string;
  readonly server: string;
  readonly by: string;
}

/** What all servers have besides their tools. What may not be used is in no list, but leads to its server. */
export interface Offer {
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
  readonly shadowed: readonly Shadowed[];
  /** The server of a URI: of one that is listed, of one that a template fits, or of the only server that it could be. */
  serverOf(uri: string): string | undefined;
  /** The server of a template, by the template itself. */
  serverOfTemplate(template: string): string | undefined;
  prompt(shownName: string): OfferedPrompt | undefined;
  /** Whether a server, or any where none is named, says that it can do something. */
  can(capability: "completions" | "subscribe", server?: string): boolean;
}

/** Puts together what servers have. Of two with the same URI, the first counts that may be used. */
export function offerOf(
  statuses: readonly ServerStatus[],
  allows: (server: string, request: UpstreamMethod) => boolean = () => true,
): Offer {
  const names = statuses.map(({ name }) => name);
  const unread = new Set(names.filter((name) => !allows(name, "resources/read")));
  const ungot = new Set(names.filter((name) => !allows(name, "prompts/get")));
  const shadowed: Shadowed[] = [];
  const resources = new Map<string, { readonly server: string; readonly item: Resource }>();
  const templates = new Map<string, { readonly server: string; readonly item: ResourceTemplate }>();
  const take = <T>(
    into: Map<string, { readonly server: string; readonly item: T }>,
    server: string,
    key: string,
    item: T,
  ): void => {
    const first = into.get(key);
    if (!first) into.set(key, { server, item });
    else if (first.server !== server && !unread.has(server))
      shadowed.push({ uri: key, server, by: first.server });
  };
  const readFirst = statuses.toSorted((a, b) => Number(unread.has(a.name)) - Number(unread.has(b.name)));
  for (const { name, listing } of readFirst) {
    for (const item of tidied(listing?.resources, tidyResource)) take(resources, name, item.uri, item);
    for (const item of tidied(listing?.resourceTemplates, tidyTemplate)) {
      take(templates, name, item.uriTemplate, item);
    }
  }
  const found = statuses.flatMap(({ name: server, listing }) =>
    tidied(listing?.prompts, tidyPrompt).map((prompt) => ({ server, name: prompt.name, prompt })),
  );
  const shownAs = shownNames(found);
  const prompts = new Map(
    found.map(({ server, name, prompt }, index) => {
      const shown = shownAs[index] as string;
      return [shown, { server, name, shown: { ...prompt, name: shown } }];
    }),
  );
  const matchers = [...templates].map(([template, { server }]) => ({
    server,
    fits: templateMatcher(template),
  }));
  const readable = statuses.filter(({ info }) => isJsonObject(info?.capabilities?.["resources"]));

  return {
    resources: [...resources.values()].flatMap(({ server, item }) => (unread.has(server) ? [] : item)),
    templates: [...templates.values()].flatMap(({ server, item }) => (unread.has(server) ? [] : item)),
    prompts: [...prompts.values()].flatMap(({ server, shown }) => (ungot.has(server) ? [] : shown)),
    shadowed,
    serverOf: (uri) =>
      resources.get(uri)?.server ??
      matchers.find(({ fits }) => fits(uri))?.server ??
      // A tool may name what is in no list. Others than its server must not be asked for it.
      (readable.length === 1 ? readable[0]?.name : undefined),
    serverOfTemplate: (template) => templates.get(template)?.server,
    prompt: (shownName) => prompts.get(shownName),
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

function tidied<T>(items: readonly JsonObject[] | undefined, tidy: (item: JsonObject) => T | undefined): T[] {
  return (items ?? []).flatMap((item) => tidy(item) ?? []);
}

const MAX_TEMPLATE = 2_000;

/** Whether a URI may be one that a template makes. What stands for a variable is not looked at: its server does that. */
export function templateMatcher(template: string): (uri: string) => boolean {
  if (template.length > MAX_TEMPLATE) return () => false;
  const parts = template.split(/\{[^{}]*\}/).map((literal) => literal.replace(/[*?[]/g, "[$&]"));
  return globMatcher(parts.join("*"));
}
