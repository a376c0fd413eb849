import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { ParseError } from "jsonc-parser";
import { GatewayError } from "./errors.ts";

/** Reads a JSON (comments and trailing commas allowed), YAML or TOML file. Errors name file, line and reason. */
export async function readDataFile(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `${file}: cannot be read (${(cause as NodeJS.ErrnoException).code}).`,
      { cause },
    );
  }
  return parseData(text, file);
}

/** Parses the content of a data file, in the format of its extension. */
export async function parseData(text: string, file: string): Promise<unknown> {
  const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const ending = extname(file).toLowerCase();
  const parse =
    ending === ".toml" ? parseToml : ending === ".yaml" || ending === ".yml" ? parseYaml : parseJson;
  return parse(content, file);
}

async function parseJson(text: string, file: string): Promise<unknown> {
  const plain = parsePlainJson(text);
  if (plain !== undefined) return plain;
  const { default: jsonc } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  const fail = (offset: number, reason: string): never => {
    const before = text.slice(0, offset).split("\n");
    throw syntaxError(file, before.length, (before.at(-1) ?? "").length + 1, reason);
  };
  try {
    jsonc.visit(text, {
      // The parser would set the prototype of its object with this key.
      onObjectProperty: (name, offset) =>
        name === "__proto__" && fail(offset, 'the key "__proto__" is not allowed'),
    });
    const value: unknown = jsonc.parse(text, errors, { allowTrailingComma: true, allowEmptyContent: false });
    const first = errors[0];
    return first ? fail(first.offset, toWords(jsonc.printParseErrorCode(first.error))) : value;
  } catch (thrown) {
    if (thrown instanceof RangeError) throw syntaxError(file, 1, 1, "it is nested too deeply", thrown);
    throw thrown;
  }
}

/** Parses JSON without comments, as most files are: the parser for comments takes long to load. */
function parsePlainJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isHarmless(value) ? value : undefined;
  } catch {
    // Not plain JSON, or nested too deeply: the other parser reports the position.
    return undefined;
  }
}

function isHarmless(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !Object.hasOwn(value, "__proto__") && Object.values(value).every(isHarmless);
}

async function parseYaml(text: string, file: string): Promise<unknown> {
  const { parseYAML } = await import("confbox/yaml");
  try {
    return checkKeys(parseYAML(text), file);
  } catch (thrown) {
    if (GatewayError.is(thrown)) throw thrown;
    const { reason, mark } = thrown as { reason?: string; mark?: { line: number; column: number } };
    // The reason quotes the content, which may be a secret.
    const told = reason?.replace(/ ?("[^"]*"|!?<[^>]*>)/g, "") ?? "invalid YAML";
    throw syntaxError(file, (mark?.line ?? 0) + 1, (mark?.column ?? 0) + 1, told, thrown);
  }
}

async function parseToml(text: string, file: string): Promise<unknown> {
  const { parseTOML } = await import("confbox/toml");
  try {
    return checkKeys(parseTOML(text), file);
  } catch (thrown) {
    if (GatewayError.is(thrown)) throw thrown;
    const { line, column, message } = thrown as { line?: number; column?: number; message: string };
    const reason = (message.split("\n")[0] ?? "").replace("Invalid TOML document: ", "");
    throw syntaxError(file, line ?? 1, column ?? 1, reason, thrown);
  }
}

/** Throws on a key that would set the prototype of a copied object. Aliases can form cycles. */
function checkKeys(value: unknown, file: string): unknown {
  const seen = new Set<unknown>();
  visit(value, "");
  return value;

  function visit(node: unknown, path: string): void {
    if (typeof node !== "object" || node === null || seen.has(node)) return;
    seen.add(node);
    for (const [key, inner] of Object.entries(node)) {
      if (key === "__proto__") {
        throw new GatewayError("CONFIG_INVALID", `${file}: ${path}__proto__: this key is not allowed.`);
      }
      visit(inner, `${path}${key}.`);
    }
  }
}

function syntaxError(
  file: string,
  line: number,
  column: number,
  reason: string,
  cause?: unknown,
): GatewayError {
  return new GatewayError("CONFIG_INVALID", `${file}:${line}:${column}: ${reason}.`, {
    cause,
    data: { file, line, column },
  });
}

/** `CloseBraceExpected` → `close brace expected`. */
function toWords(name: string): string {
  return name.replace(/\B[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
}
