import { objectAt } from "../../core/services/sources.ts";

const TEMPLATE = /\{\{([^{}]*)\}\}/g;

/** Fills the templates in a list, as Docker's gateway does; one template may become several items, or none. */
export function dockerTemplates(list: unknown, settings: unknown): readonly string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => dockerTemplate(String(item), settings)).filter((item) => item !== "");
}

/** Fills `{{a.b|filter}}` from a person's settings. A text that is nothing but a template may have several values. */
export function dockerTemplate(text: string, settings: unknown): readonly string[] {
  const whole = /^\{\{([^{}]*)\}\}$/.exec(text.trim())?.[1];
  if (whole !== undefined) return evaluate(whole, settings);
  return [text.replace(TEMPLATE, (_, expression: string) => evaluate(expression, settings).join(","))];
}

function evaluate(expression: string, settings: unknown): readonly string[] {
  const [path = "", ...filters] = expression.split("|").map((part) => part.trim());
  const keys = path.split(".").map((key) => key.trim());
  const value = objectAt(settings, ...keys.slice(0, -1))[keys.at(-1) ?? ""];
  let values = (Array.isArray(value) ? value : [value]).filter(isPlain).map(String);
  for (const filter of filters) {
    const [name, ...rest] = filter.split(":");
    values = apply(name ?? "", rest.join(":").trim(), values);
  }
  return values;
}

function apply(filter: string, argument: string, values: string[]): string[] {
  switch (filter) {
    case "volume":
      return values.map((path) => `${path}:${target(path)}`);
    case "volume-target":
      return values.map(target);
    case "mount_as":
      return values.slice(0, 1).map((path) => `${path}:${argument}`);
    case "first":
      return values.slice(0, 1);
    case "last":
      return values.slice(-1);
    case "or":
      if (values.some((value) => value !== "")) return values;
      return argument
        .replace(/^\[|\]$/g, "")
        .split(",")
        .filter((item) => item !== "");
    default:
      return values;
  }
}

/** Inside a container, `C:\Users` is `/C/Users`. */
function target(path: string): string {
  return /^[A-Za-z]:/.test(path) ? `/${path.replace(":", "").replaceAll("\\", "/")}` : path;
}

function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
