import { checkJson, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry, RegistryStatus } from "../../core/services/registries.ts";

const OFFICIAL = "io.modelcontextprotocol.registry/official";
const NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;
const LIMITS = { depth: 32, size: 300_000 };
const LONGEST = { name: 200, version: 255, text: 1_000 };
/** Control and format characters, surrogates, private use. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu;

/** Reads one entry of a list; nothing where it is unusable. Entries of older registries are understood too. */
export function readEntry(value: unknown, registry: string): RegistryEntry | undefined {
  if (!isJsonObject(value)) return undefined;
  try {
    checkJson(value, LIMITS);
  } catch {
    return undefined;
  }
  // Before autumn 2025 an entry was the server itself.
  const server = isJsonObject(value["server"]) ? value["server"] : value;
  const meta = officialMeta(value) ?? officialMeta(server) ?? {};
  const { name } = server;
  const version = field(server, "version") ?? objectIn(server, "versionDetail")["version"];
  if (typeof name !== "string" || name.length > LONGEST.name || !NAME.test(name)) return undefined;
  if (typeof version !== "string" || version.length > LONGEST.version || plain(version) !== version)
    return undefined;
  if (version === "") return undefined;
  return {
    name,
    version,
    title: textIn(server, "title"),
    description: textIn(server, "description") ?? "",
    status: statusOf(meta["status"] ?? server["status"]),
    statusMessage: textIn(meta, "statusMessage"),
    isLatest: (field(meta, "isLatest") ?? objectIn(server, "versionDetail")["is_latest"]) === true,
    publishedAt: timeOf(field(meta, "publishedAt")),
    updatedAt: timeOf(field(meta, "updatedAt") ?? field(meta, "publishedAt")),
    repository: webUrl(objectIn(server, "repository")["url"]),
    websiteUrl: webUrl(field(server, "websiteUrl")),
    registry,
    server,
  };
}

/** Converts an entry to the form in which a registry sends it, which {@link readEntry} reads. */
export function writeEntry(entry: RegistryEntry): JsonObject {
  const { server, status, statusMessage, isLatest, publishedAt, updatedAt } = entry;
  return {
    server,
    _meta: { [OFFICIAL]: { status, statusMessage, isLatest, publishedAt, updatedAt } },
  };
}

/** Reads a field by its name, or by the snake-case name that registries used before autumn 2025. */
export function field(object: JsonObject, name: string): unknown {
  return object[name] ?? object[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

/** Reads the objects of a list; none where it is no list. */
export function objectsIn(object: JsonObject, name: string): readonly JsonObject[] {
  const value = field(object, name);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Reduces untrusted text to one line of visible characters. */
export function plain(text: string, longest: number = LONGEST.text): string {
  return text.slice(0, longest).replace(/\s+/gu, " ").replace(UNSEEN, "").trim();
}

function officialMeta(value: JsonObject): JsonObject | undefined {
  const meta = objectIn(value, "_meta")[OFFICIAL];
  return isJsonObject(meta) ? meta : undefined;
}

function objectIn(object: JsonObject, name: string): JsonObject {
  const value = field(object, name);
  return isJsonObject(value) ? value : {};
}

function textIn(object: JsonObject, name: string): string | undefined {
  const value = field(object, name);
  return typeof value === "string" ? plain(value) || undefined : undefined;
}

function statusOf(value: unknown): RegistryStatus {
  return value === "deprecated" || value === "deleted" ? value : "active";
}

/** Normalizes a time, so that times can be compared as strings. */
function timeOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 64) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function webUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 2_000 || !/^https?:\/\//i.test(value)) return undefined;
  return URL.canParse(value) ? plain(new URL(value).href, 2_000) : undefined;
}
