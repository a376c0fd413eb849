import type { CapabilityManifest, CapabilityProvider } from "../../core/services/emitter.ts";
import { type Form, invalid, readForm } from "./rtfs-forms.ts";
import { type RtfsEntry, type RtfsType, type RtfsWord, rtfsWords } from "./rtfs-type.ts";

/** Capability read from RTFS. */
export interface RtfsCapability extends Omit<CapabilityManifest, "inputSchema" | "outputSchema"> {
  readonly input: RtfsType;
  readonly output?: RtfsType;
}

/** Parses a type of RTFS; throws `RTFS_INVALID`. */
export function parseRtfsType(source: string): RtfsType {
  return createReader(source).type(readForm(source));
}

/** Parses a capability of RTFS; throws `RTFS_INVALID`. */
export function parseCapability(source: string): RtfsCapability {
  const { fail, type, text, texts, name, pairs } = createReader(source);
  const form = readForm(source);
  const [head, id, ...rest] = form.kind === "list" ? form.items : [];
  if (head?.kind !== "symbol" || head.text !== "capability" || !id)
    throw fail(form, "a capability was expected");
  const parts = pairs(form, rest);
  const part = (key: string): Form => parts.get(key) ?? missing(key);
  const output = parts.get("output-schema");
  return {
    id: name(id),
    version: text(part("version")),
    description: text(part("description")),
    input: type(part("input-schema")),
    ...(output ? { output: type(output) } : {}),
    provider: provider(part("provider")),
    domains: texts(part("domains")),
    categories: texts(part("categories")),
  };

  function provider(given: Form): CapabilityProvider {
    const keys = pairs(given, given.kind === "map" ? given.items : undefined);
    const [serverUrl, command] = [keys.get("server-url"), keys.get("command")];
    return {
      type: name(keys.get("type") ?? missing("type", given)),
      ...(serverUrl ? { serverUrl: text(serverUrl) } : {}),
      ...(command ? { command: texts(command) } : {}),
      toolName: text(keys.get("tool-name") ?? missing("tool-name", given)),
    };
  }

  function missing(key: string, where: Form = form): never {
    throw fail(where, `":${key}" is missing`);
  }
}

interface Reader {
  fail(form: Form, why: string): Error;
  type(form: Form): RtfsType;
  text(form: Form): string;
  texts(form: Form): string[];
  /** Reads a keyword, or a string in place of one. */
  name(form: Form): string;
  pairs(form: Form, items: readonly Form[] | undefined): Map<string, Form>;
}

function createReader(source: string): Reader {
  return { fail, type, text, texts, name, pairs };

  function fail(form: Form, why: string): Error {
    return invalid(source, form.at, why);
  }

  function type(form: Form): RtfsType {
    if (form.kind === "keyword" && isWord(form.text)) return { kind: "word", word: form.text };
    const [head, ...rest] = form.kind === "vector" ? form.items : [];
    const word = head?.kind === "keyword" ? head.text : undefined;
    const [first, second] = rest;
    if (word === "vector" && first && rest.length === 1) return { kind: "vector", items: type(first) };
    if (word === "map") return mapType(rest);
    if (word === "map-of" && first && second && rest.length === 2) {
      if (first.kind !== "keyword" || first.text !== "string") throw fail(first, "keys can only be :string");
      return { kind: "map-of", values: type(second) };
    }
    if ((word === "tuple" || word === "union" || word === "and") && first)
      return { kind: word, members: rest.map(type) };
    throw fail(form, "a type was expected");
  }

  function mapType(forms: readonly Form[]): RtfsType {
    const entries: RtfsEntry[] = [];
    let others: RtfsType | undefined;
    for (const form of forms) {
      const [key, ...rest] = form.kind === "vector" ? form.items : [];
      const value = rest.at(-1);
      if (!key || !value || rest.length > 2) throw fail(form, "an entry of a map was expected");
      if (key.kind === "keyword" && key.text === "*" && rest.length === 1) others = type(value);
      else
        entries.push({
          key: name(key),
          optional: rest.length === 2 && isOptional(rest[0]),
          type: type(value),
        });
    }
    return { kind: "map", entries, ...(others ? { others } : {}) };
  }

  function isOptional(form: Form | undefined): boolean {
    const value = form && pairs(form, form.kind === "map" ? form.items : undefined).get("optional");
    return value?.kind === "symbol" && value.text === "true";
  }

  function text(form: Form): string {
    if (form.kind !== "text") throw fail(form, "a string was expected");
    return form.text;
  }

  function texts(form: Form): string[] {
    if (form.kind !== "vector") throw fail(form, "a list of strings was expected");
    return form.items.map(text);
  }

  function name(form: Form): string {
    if (form.kind !== "keyword" && form.kind !== "text") throw fail(form, "a name was expected");
    return form.text;
  }

  function pairs(form: Form, items: readonly Form[] | undefined): Map<string, Form> {
    if (!items || items.length % 2 !== 0) throw fail(form, "keys and values were expected");
    const result = new Map<string, Form>();
    for (let index = 0; index < items.length; index += 2) {
      const key = name(items[index] as Form);
      if (result.has(key)) throw fail(items[index] as Form, `":${key}" occurs twice`);
      result.set(key, items[index + 1] as Form);
    }
    return result;
  }
}

function isWord(text: string): text is RtfsWord {
  return (rtfsWords as readonly string[]).includes(text);
}
