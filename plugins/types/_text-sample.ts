import type { JsonObject } from "../../core/mod.ts";

/** Says whether a text matches the `pattern` of a schema; nothing where that cannot be found out. */
export type PatternCheck = (pattern: string, text: string) => boolean | undefined;

/** By `format`, and by the word a parameter's name holds. */
const KNOWN: readonly (readonly [format: string, name: RegExp, sample: string])[] = [
  ["email", /e-?mail/i, "user@example.com"],
  ["uri", /url|uri|link|website/i, "https://example.com"],
  ["date-time", /timestamp|date_?time/i, "2025-01-31T09:30:00Z"],
  ["date", /date|day/i, "2025-01-31"],
  ["time", /^time$/i, "09:30:00Z"],
  ["uuid", /uuid|guid/i, "3f2504e0-4f89-41d3-9a0c-0305e82c3301"],
  ["ipv4", /^ip(_address|Address)?$/i, "192.0.2.1"],
  ["ipv6", /ipv6/i, "2001:db8::1"],
  ["hostname", /host(name)?$|domain/i, "example.com"],
  ["duration", /duration/i, "PT1H"],
  ["json-pointer", /json_?pointer/i, "/name"],
];

/** What a pattern may ask for, where nothing else is known of the text. */
const GUESSES = [
  "example",
  "1",
  "abc123",
  "ABC",
  "AB12",
  "1a2b3c4d",
  "#1a2b3c",
  "1.0.0",
  "09:30",
  "+15555550100",
  "owner/repo",
  "https://example.com",
];

/** `(e.g. "this")`: what a description gives as an example. */
const IN_WORDS = /(?:e\.g\.|for example|such as|example|like)[,:]?\s*(?:(["'`])([^"'`\n]{1,60})\1)/i;

/** A text that a schema allows, as near to a real one as its words tell; nothing if none was found. */
export function textSample(schema: JsonObject, name: string, matches: PatternCheck): string | undefined {
  const { pattern, format, description } = schema;
  const told = typeof description === "string" ? IN_WORDS.exec(description.slice(0, 1000))?.[2] : undefined;
  const byFormat = KNOWN.filter(([known]) => known === (format === "url" ? "uri" : format));
  const byName = KNOWN.filter(([, word]) => word.test(name));
  const samples = [...byFormat, ...byName].map(([, , sample]) => sample);
  const likely = byFormat.length > 0 ? samples : [...(told ? [told] : []), ...samples, name || "text"];
  const all =
    typeof pattern === "string" ? [...likely, ...KNOWN.map(([, , sample]) => sample), ...GUESSES] : likely;
  return all
    .map((text) => fitted(text, schema))
    .find((text) => typeof pattern !== "string" || (matches(pattern, text) ?? byFormat.length > 0));
}

function fitted(text: string, { minLength, maxLength }: JsonObject): string {
  const least = typeof minLength === "number" ? Math.min(minLength, 1000) : 0;
  const most = typeof maxLength === "number" ? maxLength : text.length + least;
  return text.padEnd(least, text || "x").slice(0, Math.max(0, most));
}
