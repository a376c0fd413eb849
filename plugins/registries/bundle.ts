// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are variables of a definition, which are filled in when it is used
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkJson, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { getObject } from "../../core/services/sources.ts";
import { ifExists, makeFolder } from "../lib/files.ts";
import { stateFolder } from "../lib/folders.ts";
import { sha256Hex } from "../lib/hash.ts";
import { createHttp } from "../lib/http/client.ts";
import { readField } from "../lib/server-entry/connection.ts";
import { type InputAnswers, listPackages, type ServerNeed } from "../lib/server-entry/server-json.ts";
import { createPlan, type InstallOptions, type InstallPlan, refuseDeleted, refuseEntry } from "./install.ts";
import { listZip, ZipError } from "./unzip.ts";

/** A bundle that is unpacked on this machine. */
export interface Bundle {
  readonly folder: string;
  /** Its `manifest.json`, which is not trusted. */
  readonly manifest: JsonObject;
}

const LIMITS = { files: 50_000, bytes: 1_000_000_000 };
const MANIFEST_LIMITS = { depth: 32, size: 1_000_000 };
const MAX_BYTES = 300_000_000;
const DEADLINE_MS = 600_000;
const MANIFEST = "manifest.json";

/**
 * Downloads the bundle (`.mcpb`) of a server, and unpacks it if it is the file that the registry vouches for. Nothing
 * in it is run.
 */
export async function fetchBundle(
  entry: RegistryEntry,
  root: string = join(stateFolder(), "bundles"),
): Promise<Bundle> {
  const [one] = listPackages(entry.server, "mcpb");
  if (!one) throw refuseEntry(entry, "it has no bundle");
  const hash = String(readField(one, "fileSha256") ?? "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw refuseEntry(entry, "its registry does not say which file its bundle is");
  const url = bundleUrl(entry, one["identifier"]);
  const folder = join(root, hash);
  if (!(await ifExists(stat(join(folder, MANIFEST))))) {
    const bytes = await download(entry, url);
    if (sha256Hex(bytes) !== hash)
      throw refuseEntry(entry, `what ${url.host} gave is not the file that its registry vouches for`);
    await unpackBundle(entry, bytes, folder);
  }
  return { folder, manifest: await readManifest(entry, folder) };
}

function bundleUrl(entry: RegistryEntry, identifier: unknown): URL {
  if (typeof identifier !== "string" || !URL.canParse(identifier))
    throw refuseEntry(entry, "its bundle has no address");
  const url = new URL(identifier);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal(entry)))
    throw refuseEntry(entry, "its bundle would be fetched without encryption");
  return url;
}

/** Whether the registry runs on this machine; only then may its bundles, too. */
function isLocal({ registry }: RegistryEntry): boolean {
  return registry.startsWith("http://");
}

async function download(entry: RegistryEntry, url: URL): Promise<Uint8Array> {
  const http = createHttp({
    maxBytes: MAX_BYTES,
    deadlineMs: DEADLINE_MS,
    addresses: isLocal(entry) ? "private" : "public",
    redirects: "web",
  });
  try {
    const headers = { accept: "application/octet-stream, */*" };
    const { status, body } = await http.send({ method: "GET", url, headers });
    if (status !== 200)
      throw refuseEntry(entry, `${url.host} answered HTTP ${status} when its bundle was asked for`);
    return body;
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown;
    if (thrown.message.includes(entry.name)) throw thrown;
    throw new GatewayError(
      thrown.kind,
      `The bundle of "${entry.name}" cannot be fetched. ${thrown.message}`,
      {
        cause: thrown,
        data: thrown.data,
      },
    );
  } finally {
    await http.close();
  }
}

/** Unpacks to a folder beside the final one and renames it, so that half a bundle is never taken for a whole one. */
async function unpackBundle(entry: RegistryEntry, bytes: Uint8Array, folder: string): Promise<void> {
  const draft = `${folder}.${randomBytes(6).toString("hex")}.draft`;
  await makeFolder(dirname(folder));
  try {
    for (const { path, isExecutable, read } of listZip(bytes, LIMITS)) {
      const file = join(draft, ...path.split("/"));
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(file, read(), { mode: 0o600 });
      if (isExecutable) await chmod(file, 0o700);
    }
    await rename(draft, folder);
  } catch (thrown) {
    await rm(draft, { recursive: true, force: true });
    if (thrown instanceof ZipError)
      throw refuseEntry(entry, `its bundle cannot be unpacked: ${thrown.message}`);
    // Another process was faster, with the same content.
    if (await ifExists(stat(join(folder, MANIFEST)))) return;
    throw thrown;
  }
}

async function readManifest(entry: RegistryEntry, folder: string): Promise<JsonObject> {
  try {
    const manifest: unknown = JSON.parse(
      (await readFile(join(folder, MANIFEST), "utf8")).replace(/^\uFEFF/, ""),
    );
    checkJson(manifest, MANIFEST_LIMITS);
    if (isJsonObject(manifest)) return manifest;
  } catch {}
  throw refuseEntry(entry, "its bundle has no manifest that can be read");
}

const VARIABLE = /\$\{([^{}]*)\}/g;
/** Folders of the user: the names that bundles use, and ours. */
const PLACES: Readonly<Record<string, string>> = {
  HOME: "${userHome}",
  DESKTOP: "${userHome}/Desktop",
  DOCUMENTS: "${userHome}/Documents",
  DOWNLOADS: "${userHome}/Downloads",
  "/": "${/}",
  pathSeparator: "${pathSeparator}",
};

/** Plans how a bundle is added: its manifest says how it is started, and which settings it has. */
export function planBundle(
  entry: RegistryEntry,
  { folder, manifest }: Bundle,
  options: InstallOptions = {},
  platform: string = process.platform,
): InstallPlan {
  refuseDeleted(entry);
  return createPlan(entry, "mcpb", options, (answers) => {
    const config = getObject(manifest, "server", "mcp_config");
    const own = getObject(config, "platform_overrides", platform);
    const command = own["command"] ?? config["command"];
    const args = own["args"] ?? config["args"] ?? [];
    const env = { ...getObject(config, "env"), ...getObject(own, "env") };
    if (typeof command !== "string" || command === "" || !Array.isArray(args))
      throw refuseEntry(entry, "its bundle does not say how it is started");
    const values = readSettings(entry, manifest, folder, answers);
    const fill = (text: unknown): readonly string[] => fillVariables(entry, String(text), folder, values);
    const [program] = fill(command);
    // A path to a program of the bundle is relative to its folder.
    const isOwnFile = program !== undefined && /[\\/]/.test(command) && !command.includes("${");
    return {
      command: isOwnFile ? join(folder, command) : program,
      args: args.flatMap(fill),
      env: Object.fromEntries(
        Object.entries(env).flatMap(([name, text]) => {
          const filled = fill(text);
          return filled.length === 0 ? [] : [[name, filled.join(",")]];
        }),
      ),
    };
  });
}

type Values = ReadonlyMap<string, readonly string[]>;

function readSettings(
  entry: RegistryEntry,
  manifest: JsonObject,
  folder: string,
  answers: InputAnswers,
): Values {
  const values = new Map<string, readonly string[]>();
  for (const [name, input] of Object.entries(getObject(manifest, "user_config"))) {
    if (!isJsonObject(input) || !/^[\w.-]+$/.test(name)) continue;
    const { description, title, required, sensitive, default: otherwise } = input;
    const defaults = [otherwise].flat().filter((one) => one !== undefined && one !== null);
    const texts = defaults.flatMap((one) => fillVariables(entry, String(one), folder, new Map()));
    const about = [description, title].find((one) => typeof one === "string");
    const need: ServerNeed = {
      kind: "argument",
      name,
      variable: answers.variable("argument", name),
      description: about as string | undefined,
      isRequired: required === true,
      isSecret: sensitive === true,
      default: texts.length > 0 ? texts.join(",") : undefined,
    };
    const given = answers.given(need);
    if (given !== undefined) values.set(name, [given]);
    else if (texts.length > 0) values.set(name, texts);
    else if (need.isRequired) values.set(name, [`\${${need.variable}}`]);
    else values.set(name, []);
  }
  return values;
}

/** Fills in variables. A string that is one variable alone may become several values, or none. */
function fillVariables(
  entry: RegistryEntry,
  text: string,
  folder: string,
  values: Values,
): readonly string[] {
  const getSetting = (name: string): readonly string[] => {
    if (name === "__dirname") return [folder];
    if (Object.hasOwn(PLACES, name)) return [PLACES[name] as string];
    const known = name.startsWith("user_config.") ? values.get(name.slice("user_config.".length)) : undefined;
    // The string of a publisher must not read variables of the user.
    if (!known) throw refuseEntry(entry, "its bundle reads a variable that it does not declare");
    return known;
  };
  const whole = /^\$\{([^{}]*)\}$/.exec(text)?.[1];
  if (whole !== undefined) return getSetting(whole);
  return [text.replace(VARIABLE, (_, name: string) => getSetting(name).join(","))];
}
