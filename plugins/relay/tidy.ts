import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Prompt, Resource, ResourceTemplate } from "../../core/services/resources.ts";

const MAX_URI = 8_000;

/** A resource with what is of its type: a client takes none of a list in which one thing is wrong. */
export function tidyResource(item: JsonObject): Resource | undefined {
  const { uri, size } = item;
  if (!isUri(uri)) return undefined;
  return { ...common(item), uri, name: nameOf(item, uri), ...(typeof size === "number" && { size }) };
}

/** The same of a template. */
export function tidyTemplate(item: JsonObject): ResourceTemplate | undefined {
  const { uriTemplate } = item;
  return isUri(uriTemplate) ? { ...common(item), uriTemplate, name: nameOf(item, uriTemplate) } : undefined;
}

/** The same of a prompt. */
export function tidyPrompt(item: JsonObject): Prompt | undefined {
  const { name, arguments: args } = item;
  if (typeof name !== "string" || name === "") return undefined;
  const { mimeType: _, annotations: __, ...rest } = common(item);
  return { ...rest, name, ...(Array.isArray(args) && { arguments: args.flatMap(tidyArgument) }) };
}

function tidyArgument(item: unknown): JsonObject[] {
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

function common({ title, description, mimeType, annotations, icons, _meta }: JsonObject): JsonObject {
  return {
    ...(typeof title === "string" && { title }),
    ...(typeof description === "string" && { description }),
    ...(typeof mimeType === "string" && { mimeType }),
    ...(isJsonObject(annotations) && { annotations }),
    ...(Array.isArray(icons) && { icons }),
    ...(isJsonObject(_meta) && { _meta }),
  };
}

function nameOf({ name }: JsonObject, otherwise: string): string {
  return typeof name === "string" ? name : otherwise;
}

function isUri(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_URI && !/\p{Cc}/u.test(value);
}
