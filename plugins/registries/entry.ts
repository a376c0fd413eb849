import { checkJson, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry, RegistryStatus } from "../../core/services/registries.ts";
import { readField } from "../lib/server-entry/connection.ts";

const OFFICIAL = "io.modelcontextprotocol.registry/official";
const NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;
const LIMITS = { depth: 32, size: 300_000 };
const LONGEST = { name: 200, version: 255, text: 1_000 };
/** Control and format characters, surrogates, private use. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu;

/** Reads one entry of a list; undefined if it is unusable. Entries of older registries are understood too. */
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
  const version = readField(server, "version") ?? readObject(server, "versionDetail")["version"];
  if (typeof name !== "string" || name.length > LONGEST.name || !NAME.test(name)) return undefined;
  if (typeof version !== "string" || version.length > LONGEST.version || toLine(version) !== version)
    return undefined;
  if (version === "") return undefined;
  return {
    name,
    version,
    title: readLine(server, "title"),
    description: readLine(server, "description") ?? "",
    status: toStatus(meta["status"] ?? server["status"]),
    statusMessage: readLine(meta, "statusMessage"),
    isLatest: (readField(meta, "isLatest") ?? readObject(server, "versionDetail")["is_latest"]) === true,
    publishedAt: toTime(readField(meta, "publishedAt")),
    updatedAt: toTime(readField(meta, "updatedAt") ?? readField(meta, "publishedAt")),
    repository: toWebUrl(readObject(server, "repository")["url"]),
    websiteUrl: toWebUrl(readField(server, "websiteUrl")),
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

/** Reduces an untrusted string to one line of visible characters. */
export function toLine(text: string, longest: number = LONGEST.text): string {
  return text.slice(0, longest).replace(/\s+/gu, " ").replace(INVISIBLE, "").trim();
}

function officialMeta(value: JsonObject): JsonObject | undefined {
  const meta = readObject(value, "_meta")[OFFICIAL];
  return isJsonObject(meta) ? meta : undefined;
}

function readObject(object: JsonObject, name: string): JsonObject {
  const value = readField(object, name);
  return isJsonObject(value) ? value : {};
}

function readLine(object: JsonObject, name: string): string | undefined {
  const value = readField(object, name);
  return typeof value === "string" ? toLine(value) || undefined : undefined;
}

function toStatus(value: unknown): RegistryStatus {
  return value === "deprecated" || value === "deleted" ? value : "active";
}

/** Normalizes a time, so that times can be compared as strings. */
function toTime(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 64) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function toWebUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 2_000 || !/^https?:\/\//i.test(value)) return undefined;
  return URL.canParse(value) ? toLine(new URL(value).href, 2_000) : undefined;
}
