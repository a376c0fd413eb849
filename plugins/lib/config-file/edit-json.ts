import { isDeepStrictEqual } from "node:util";
import type { Node } from "jsonc-parser";
import { GatewayError, isJsonObject } from "../../../core/mod.ts";

/** Edit of the entries of a map. */
export interface MapEdit {
  /** Key of the map at the top of the file; the map is created if it is missing. */
  readonly key: string;
  /** Names to remove. */
  readonly remove: readonly string[];
  /** Entries to add or replace. */
  readonly put: Readonly<Record<string, unknown>>;
}

interface Cut {
  readonly offset: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Changes some entries of a map in a JSON file and leaves every other byte as it is. jsonc-parser's `modify` formats
 * the lines around a change, removes comments between entries, and leaves a comma alone in the braces. Throws if the
 * result would not be exactly the intended one.
 */
export async function editJson(given: string, edit: MapEdit): Promise<string> {
  const { default: jsonc } = await import("jsonc-parser");
  const mark = given.startsWith("\uFEFF") ? "\uFEFF" : "";
  const text = given.slice(mark.length);
  const root = jsonc.parseTree(text, [], { allowTrailingComma: true });
  if (root?.type !== "object") throw toEditError();
  const style = detectStyle(text);
  const map = listProperties(root).findLast(({ name }) => name === edit.key)?.value;
  const changed =
    map === undefined
      ? applyCuts(text, [
          insertEntries(text, root, { [edit.key]: edit.put }, style, listProperties(root).length > 0),
        ])
      : applyCuts(text, editMap(text, map, edit, style));
  const expected = applyEdit(jsonc.parse(text, [], { allowTrailingComma: true }), edit);
  const errors: unknown[] = [];
  const found: unknown = jsonc.parse(changed, errors as never[], { allowTrailingComma: true });
  if (errors.length > 0 || !isDeepStrictEqual(found, expected)) throw toEditError();
  // A file for a strict parser must stay one.
  if (isStrict(text) && !isStrict(changed)) throw toEditError();
  return mark + changed;

  function editMap(source: string, node: Node, { remove, put }: MapEdit, form: Style): Cut[] {
    if (node.type !== "object") throw toEditError();
    const properties = listProperties(node).map((property) => ({
      ...property,
      comma: findComma(source, property.node.offset + property.node.length),
    }));
    const isKept = ({ name }: { name: string }): boolean =>
      Object.hasOwn(put, name) || !remove.includes(name);
    const cuts: Cut[] = [];
    for (const { name, node: property, value, comma } of properties) {
      if (Object.hasOwn(put, name)) {
        const indent = lineIndent(source, property.offset);
        const { offset, length } = value;
        cuts.push({
          offset,
          end: offset + length,
          text: formatValue(put[name], indent, form, isMultiline(source, node)),
        });
      } else if (remove.includes(name)) {
        cuts.push(...cutProperty(source, property, comma));
      }
    }
    const lastKept = properties.findLast(isKept);
    const hadTrailingComma = properties.at(-1)?.comma !== undefined;
    if (lastKept && lastKept !== properties.at(-1) && !hadTrailingComma && lastKept.comma !== undefined) {
      cuts.push({ offset: lastKept.comma, end: lastKept.comma + 1, text: "" });
    }
    const names = new Set(properties.map(({ name }) => name));
    const fresh = Object.fromEntries(Object.entries(put).filter(([name]) => !names.has(name)));
    if (Object.keys(fresh).length > 0)
      cuts.push(insertEntries(source, node, fresh, form, lastKept !== undefined));
    return cuts;
  }

  /** Returns the offset of the comma behind a property, if there is one. */
  function findComma(source: string, end: number): number | undefined {
    const scanner = jsonc.createScanner(source, true);
    scanner.setPosition(end);
    scanner.scan();
    return source[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : undefined;
  }
}

/** Edits the content of a JSON file, which must be UTF-8. */
export async function editFile(file: string, bytes: Uint8Array, edit: MapEdit): Promise<string> {
  const text = Buffer.from(bytes).toString("utf8");
  if (!Buffer.from(text).equals(bytes))
    throw new GatewayError("CONFIG_INVALID", `${file}: it is not written in UTF-8.`);
  return editJson(text, edit);
}

function toEditError(): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    "The file cannot be edited without changing other parts of it. Edit it by hand.",
  );
}

function applyEdit(data: unknown, { key, remove, put }: MapEdit): unknown {
  if (!isJsonObject(data)) throw toEditError();
  const map = data[key];
  if (map !== undefined && !isJsonObject(map)) throw toEditError();
  const kept = Object.entries(map ?? {}).filter(([name]) => !remove.includes(name));
  return { ...data, [key]: { ...Object.fromEntries(kept), ...put } };
}

function listProperties(node: Node): readonly { name: string; node: Node; value: Node }[] {
  return (node.children ?? []).map((property) => {
    const [key, value] = property.children ?? [];
    if (!key || !value) throw toEditError();
    return { name: String(key.value), node: property, value };
  });
}

/** Cuts a property and its comma, with its lines if they hold nothing else. */
function cutProperty(text: string, { offset, length }: Node, comma: number | undefined): Cut[] {
  const end = offset + length;
  const gap = comma === undefined ? "" : text.slice(end, comma);
  // A comment before the comma belongs to the user and stays.
  if (gap.trim() !== "") {
    return [
      { offset, end, text: "" },
      { offset: comma as number, end: (comma as number) + 1, text: "" },
    ];
  }
  const behind = comma === undefined ? end : comma + 1;
  const before = /(?:\r\n|\n|^)[ \t]*$/.exec(text.slice(0, offset))?.[0];
  const isAlone = before !== undefined && /^[ \t]*(?:\r?\n|$)/.test(text.slice(behind));
  if (isAlone) return [{ offset: offset - before.length, end: behind, text: "" }];
  const space = /^[ \t]*/.exec(text.slice(behind))?.[0].length ?? 0;
  return [{ offset, end: behind + space, text: "" }];
}

interface Style {
  readonly indent: string;
  readonly eol: string;
}

function detectStyle(text: string): Style {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  return { indent, eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

/** Inserts entries at the front, where the comma does not depend on what comes last. */
function insertEntries(
  text: string,
  node: Node,
  entries: Readonly<Record<string, unknown>>,
  style: Style,
  hasMore: boolean,
): Cut {
  const at = node.offset + 1;
  const comma = hasMore ? "," : "";
  if (!isMultiline(text, node)) {
    const inner = Object.entries(entries).map(
      ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
    );
    const isEmpty = text.slice(at, node.offset + node.length - 1).trim() === "";
    return {
      offset: at,
      end: isEmpty ? node.offset + node.length - 1 : at,
      text: ` ${inner.join(", ")}${comma}${isEmpty ? " " : ""}`,
    };
  }
  const indent = lineIndent(text, node.offset) + style.indent;
  const lines = Object.entries(entries).map(
    ([name, value]) =>
      `${style.eol}${indent}${JSON.stringify(name)}: ${formatValue(value, indent, style, true)}`,
  );
  return { offset: at, end: at, text: lines.join(",") + comma };
}

function isMultiline(text: string, { offset, length }: Node): boolean {
  return text.slice(offset, offset + length).includes("\n");
}

function formatValue(
  value: unknown,
  indent: string,
  { indent: step, eol }: Style,
  multiline: boolean,
): string {
  if (!multiline) return JSON.stringify(value);
  return JSON.stringify(value, null, step).replaceAll("\n", `${eol}${indent}`);
}

function lineIndent(text: string, offset: number): string {
  return /(?:^|\n)([ \t]*)[^\n]*$/.exec(text.slice(0, offset))?.[1] ?? "";
}

function applyCuts(text: string, cuts: readonly Cut[]): string {
  const ordered = cuts.toSorted((a, b) => b.offset - a.offset || b.end - a.end);
  return ordered.reduce((all, cut) => all.slice(0, cut.offset) + cut.text + all.slice(cut.end), text);
}

function isStrict(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
