import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkJson, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { ifThere, makeFolder } from "../lib/files.ts";
import { stateFolder } from "../lib/folders.ts";
import { createHttp } from "../lib/http/client.ts";
import { packagesOf } from "../lib/server-entry/server-json.ts";
import { field } from "./entry.ts";
import { refused } from "./install.ts";
import { ZipFault, zippedFiles } from "./unzip.ts";

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
  const [one] = packagesOf(entry.server, "mcpb");
  if (!one) throw refused(entry, "it has no bundle");
  const hash = String(field(one, "fileSha256") ?? "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw refused(entry, "its registry does not say which file its bundle is");
  const url = bundleUrl(entry, one["identifier"]);
  const folder = join(root, hash);
  if (!(await ifThere(stat(join(folder, MANIFEST))))) {
    const bytes = await download(entry, url);
    if (createHash("sha256").update(bytes).digest("hex") !== hash)
      throw refused(entry, `what ${url.host} gave is not the file that its registry vouches for`);
    await unpackTo(entry, bytes, folder);
  }
  return { folder, manifest: await readManifest(entry, folder) };
}

function bundleUrl(entry: RegistryEntry, identifier: unknown): URL {
  if (typeof identifier !== "string" || !URL.canParse(identifier))
    throw refused(entry, "its bundle has no address");
  const url = new URL(identifier);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isOwn(entry)))
    throw refused(entry, "its bundle would be fetched without encryption");
  return url;
}

/** Whether the registry runs on this machine; only then may its bundles, too. */
function isOwn({ registry }: RegistryEntry): boolean {
  return registry.startsWith("http://");
}

async function download(entry: RegistryEntry, url: URL): Promise<Uint8Array> {
  const http = createHttp({
    maxBytes: MAX_BYTES,
    deadlineMs: DEADLINE_MS,
    addresses: isOwn(entry) ? "private" : "public",
    redirects: "web",
  });
  try {
    const headers = { accept: "application/octet-stream, */*" };
    const { status, body } = await http.send({ method: "GET", url, headers });
    if (status !== 200)
      throw refused(entry, `${url.host} answered HTTP ${status} when its bundle was asked for`);
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
async function unpackTo(entry: RegistryEntry, bytes: Uint8Array, folder: string): Promise<void> {
  const draft = `${folder}.${randomBytes(6).toString("hex")}.draft`;
  await makeFolder(dirname(folder));
  try {
    for (const { path, isExecutable, read } of zippedFiles(bytes, LIMITS)) {
      const file = join(draft, ...path.split("/"));
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(file, read(), { mode: 0o600 });
      if (isExecutable) await chmod(file, 0o700);
    }
    await rename(draft, folder);
  } catch (thrown) {
    await rm(draft, { recursive: true, force: true });
    if (thrown instanceof ZipFault) throw refused(entry, `its bundle cannot be unpacked: ${thrown.message}`);
    // Another process was faster, with the same content.
    if (await ifThere(stat(join(folder, MANIFEST)))) return;
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
  throw refused(entry, "its bundle has no manifest that can be read");
}
