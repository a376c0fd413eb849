import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { ParseError } from "jsonc-parser";
import { GatewayError } from "./errors.ts";

/** Reads a JSON (comments and trailing commas allowed), YAML or TOML file. A fault is named by file, line and reason. */
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

/** Parses the text of a data file; the ending of its name tells the format. */
export async function parseData(text: string, file: string): Promise<unknown> {
  const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const ending = extname(file).toLowerCase();
  const parse =
    ending === ".toml" ? parseToml : ending === ".yaml" || ending === ".yml" ? parseYaml : parseJson;
  return parse(content, file);
}

async function parseJson(text: string, file: string): Promise<unknown> {
  const plain = plainJson(text);
  if (plain !== undefined) return plain;
  const { default: jsonc } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  const fail = (offset: number, reason: string): never => {
    const before = text.slice(0, offset).split("\n");
    throw syntaxError(file, before.length, (before.at(-1) ?? "").length + 1, reason);
  };
  try {
    jsonc.visit(text, {
      // The parser would take this key for the prototype of its object.
      onObjectProperty: (name, offset) =>
        name === "__proto__" && fail(offset, 'the key "__proto__" is not allowed'),
    });
    const value: unknown = jsonc.parse(text, errors, { allowTrailingComma: true, allowEmptyContent: false });
    const first = errors[0];
    return first ? fail(first.offset, words(jsonc.printParseErrorCode(first.error))) : value;
  } catch (thrown) {
    if (thrown instanceof RangeError) throw syntaxError(file, 1, 1, "it is nested too deeply", thrown);
    throw thrown;
  }
}

/** What a text says that is JSON and nothing more, as most are: the parser that knows comments takes long to load. */
function plainJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isHarmless(value) ? value : undefined;
  } catch {
    // Not JSON, or nested too deeply: where, the other parser tells.
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
    // A reason quotes the text it stumbled on, which may be a secret.
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

/** Refuses a key that whoever copies the value would take for the prototype of an object. Aliases make cycles. */
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
function words(name: string): string {
  return name.replace(/\B[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
}
