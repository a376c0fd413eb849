// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables stay strings until a server is connected
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RegistryEntry } from "../../../core/services/registries.ts";
import { fetchBundle, planBundle } from "../../../plugins/registries/bundle.ts";
import { readEntry } from "../../../plugins/registries/entry.ts";
import { listZip, ZipError } from "../../../plugins/registries/unzip.ts";
import { catchFailure } from "../../support/failure.ts";
import { place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { startRegistry, status, type TestRegistry, wire } from "./_registry.ts";
import { type ZipPart, zip } from "./_zip.ts";

const manifest = {
  manifest_version: "0.3",
  name: "weather",
  server: {
    type: "node",
    entry_point: "server/index.js",
    mcp_config: {
      command: "node",
      args: ["${__dirname}/server/index.js", "--units=${user_config.units}", "${user_config.folders}"],
      env: { KEY: "${user_config.api_key}", OPTIONAL: "${user_config.optional}", LOGS: "${HOME}/logs" },
      platform_overrides: { win32: { command: "node.exe" } },
    },
  },
  user_config: {
    units: { type: "string", title: "Units", default: "metric" },
    folders: { type: "directory", multiple: true, default: ["${HOME}/a", "${HOME}/b"] },
    api_key: { type: "string", required: true, sensitive: true, description: "The key" },
    optional: { type: "string" },
  },
};
const bundle = (more: readonly ZipPart[] = [], own: object = manifest): Buffer =>
  zip([
    { path: "manifest.json", text: JSON.stringify(own) },
    { path: "server/index.js", text: "process.exit(0)", mode: 0o100755 },
    ...more,
  ]);
const toHash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function createEntry(
  identifier: string,
  fileSha256: unknown,
  registry = "http://127.0.0.1:1",
): RegistryEntry {
  const packages = [{ registryType: "mcpb", identifier, fileSha256, transport: { type: "stdio" } }];
  const entry = readEntry(wire("io.github.ann/weather", { packages }), registry);
  if (!entry) throw new Error("The entry cannot be read.");
  return entry;
}

const file =
  (bytes: Uint8Array): TestRegistry["faults"][number] =>
  (_, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
  };

describe("a bundle", () => {
  test("is fetched, checked and unpacked, and only once", async () => {
    const root = join(await temporaryFolder(), "bundles");
    const [host, bytes] = [await startRegistry(), bundle()];
    host.faults.push(status(302, { location: "/elsewhere.mcpb" }), file(bytes));
    const entry = createEntry(`${host.url}/weather.mcpb`, toHash(bytes).toUpperCase());
    const { folder, manifest: read } = await fetchBundle(entry, root);
    expect(folder).toBe(join(root, toHash(bytes)));
    expect(read).toEqual(manifest);
    expect(await readFile(join(folder, "server", "index.js"), "utf8")).toBe("process.exit(0)");
    await fetchBundle(entry, root);
    expect(host.requests).toEqual(["/weather.mcpb", "/elsewhere.mcpb"]);
    expect(await readdir(root)).toEqual([toHash(bytes)]);
  });

  test("that is another file than its registry vouches for leaves nothing behind", async () => {
    const root = await temporaryFolder();
    const host = await startRegistry();
    host.faults.push(file(bundle([{ path: "evil.js", text: "1" }])));
    const error = await catchFailure(fetchBundle(createEntry(`${host.url}/w.mcpb`, toHash(bundle())), root));
    expect(error.code).toBe("REGISTRY_REFUSED");
    expect(error.message).toContain("is not the file that its registry vouches for");
    expect(await readdir(root)).toEqual([]);
  });

  test.each([
    ["without a hash", "https://a.example/w.mcpb", undefined, "does not say which file"],
    ["with half of one", "https://a.example/w.mcpb", "abc", "does not say which file"],
    ["without an address", "weather", "0".repeat(64), "no address"],
    ["of a file", "file:///etc/passwd", "0".repeat(64), "without encryption"],
  ])("%s is refused", async (_, identifier, hash, reason) => {
    expect((await catchFailure(fetchBundle(createEntry(identifier, hash), "/nowhere"))).message).toContain(
      reason,
    );
  });

  test("of a registry on the internet is not fetched from this machine, nor without encryption", async () => {
    const host = await startRegistry();
    const public_ = "https://registry.example.com";
    const plain = createEntry(`${host.url}/w.mcpb`, "0".repeat(64), public_);
    expect((await catchFailure(fetchBundle(plain, "/nowhere"))).message).toContain("without encryption");
    const secure = createEntry(`${host.url.replace("http:", "https:")}/w.mcpb`, "0".repeat(64), public_);
    expect((await catchFailure(fetchBundle(secure, "/nowhere"))).code).toBe("SSRF_BLOCKED");
    expect(host.requests).toEqual([]);
  });

  test("that is not there is told of", async () => {
    const host = await startRegistry();
    host.faults.push(status(404));
    const error = await catchFailure(
      fetchBundle(createEntry(`${host.url}/w.mcpb`, "0".repeat(64)), "/nowhere"),
    );
    expect(error.message).toContain("answered HTTP 404");
  });

  test.each<[string, Buffer, string]>([
    ["is no archive", Buffer.from("x".repeat(100)), "it is no archive"],
    ["has no manifest", zip([{ path: "a", text: "" }]), "no manifest"],
    ["has a broken manifest", zip([{ path: "manifest.json", text: "{" }]), "no manifest"],
    ["leads outside", bundle([{ path: "../evil", text: "" }]), "outside of its folder"],
  ])("that %s is refused", async (_, bytes, reason) => {
    const root = await temporaryFolder();
    const host = await startRegistry();
    host.faults.push(file(bytes));
    const error = await catchFailure(fetchBundle(createEntry(`${host.url}/w.mcpb`, toHash(bytes)), root));
    expect(error.message).toContain(reason);
    expect((await readdir(root)).filter((name) => name.endsWith(".draft"))).toEqual([]);
  });
});

describe("an archive is refused", () => {
  const limits = { files: 10, bytes: 1_000 };
  test.each<[string, readonly ZipPart[]]>([
    ["with a way up", [{ path: "a/../../b", text: "" }]],
    ["with a full path", [{ path: "/etc/passwd", text: "" }]],
    ["with a drive", [{ path: "C:/x", text: "" }]],
    ["with a backslash", [{ path: "..\\x", text: "" }]],
    ["with a link", [{ path: "a", text: "/etc/passwd", mode: 0o120777 }]],
    [
      "with two files of one name",
      [
        { path: "a", text: "" },
        { path: "A", text: "" },
      ],
    ],
    ["with a password", [{ path: "a", text: "", flags: 1 }]],
    ["that is larger than allowed", [{ path: "a", text: "x".repeat(2_000) }]],
    ["with too many files", Array.from({ length: 11 }, (_, index) => ({ path: `f${index}`, text: "" }))],
  ])("%s", (_, parts) => {
    expect(() => listZip(zip(parts), limits)).toThrow(ZipError);
  });

  test("whose file is larger than it says", () => {
    const [bomb] = listZip(zip([{ path: "a", text: "x".repeat(100_000), size: 10 }]), limits);
    expect(() => bomb?.read()).toThrow(ZipError);
  });

  test("or read, whatever its bytes are", () => {
    const whole = bundle();
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const spoilt = Buffer.from(whole);
        spoilt[at] = byte;
        try {
          for (const one of listZip(spoilt, limits)) one.read();
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ZipError);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the definition of a bundle", () => {
  const entry = createEntry("https://a.example/w.mcpb", "0".repeat(64));

  test("follows its manifest, and keeps secrets out", () => {
    const { definition, toSet, withheld } = planBundle(
      entry,
      { folder: "/b", manifest },
      { given: { env: {}, headers: {}, arguments: { api_key: "hunter2", units: "imperial" } } },
      "linux",
    );
    expect(definition).toEqual({
      command: "node",
      args: ["/b/server/index.js", "--units=imperial", "${userHome}/a", "${userHome}/b"],
      env: { KEY: "${WEATHER_API_KEY}", LOGS: "${userHome}/logs" },
      description: "What io.github.ann/weather does.",
    });
    expect(toSet.map(({ variable }) => variable)).toEqual(["WEATHER_API_KEY"]);
    expect(withheld).toEqual(["api_key"]);
  });

  test("differs by platform, if its manifest does", () => {
    const plan = planBundle(entry, { folder: "C:\\b", manifest }, {}, "win32");
    expect(plan.definition).toMatchObject({ command: "node.exe" });
  });

  test.each([
    [{ server: {} }, "does not say how it is started"],
    [{ server: { mcp_config: { command: "node", args: "x" } } }, "does not say how it is started"],
    [{ server: { mcp_config: { command: "x", args: ["${AWS_SECRET_ACCESS_KEY}"] } } }, "does not declare"],
    [{ server: { mcp_config: { command: "x", env: { A: "${user_config.none}" } } } }, "does not declare"],
  ])("%j is refused", (own, reason) => {
    expect(() => planBundle(entry, { folder: "/b", manifest: own })).toThrow(reason);
  });
});

test("registry add fetches a bundle, and writes how it is started", async () => {
  const { state } = await place();
  const [host, bytes] = [await startRegistry(), bundle()];
  const entry = createEntry(`${host.url}/weather.mcpb`, toHash(bytes));
  const registry = await startRegistry([wire(entry.name, entry.server)]);
  host.faults.push(file(bytes));
  const args = ["registry", "add", entry.name, "--yes", "--json", "--registry", registry.url];
  const { code, stdout, stderr } = await runMain(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    way: "mcpb",
    id: "weather",
    toSet: [{ variable: "WEATHER_API_KEY" }],
  });
  const config = JSON.parse(await readFile(join(state, "toolpipe.config.json"), "utf8"));
  expect(config.mcpServers.weather.args[0]).toContain(toHash(bytes));
});

test("a server that was added from a bundle starts, and offers its tools", async () => {
  const { state } = await place();
  const server = new URL("../../fixtures/faulty-mcp.mjs", import.meta.url).href;
  const args = ["${__dirname}/index.mjs", "--mode", "ok"];
  const own = { server: { mcp_config: { command: "node", args } } };
  const bytes = zip([
    { path: "manifest.json", text: JSON.stringify(own) },
    { path: "index.mjs", text: `await import(${JSON.stringify(server)});` },
  ]);
  const host = await startRegistry();
  host.faults.push(file(bytes));
  const entry = createEntry(`${host.url}/weather.mcpb`, toHash(bytes));
  const registry = await startRegistry([wire(entry.name, entry.server)]);
  await runMain(["registry", "add", entry.name, "--yes", "--registry", registry.url]);
  const config = join(state, "toolpipe.config.json");
  const { code, stdout, stderr } = await runMain(["tools", "weather", "--json", "--config", config]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout).tools.length).toBeGreaterThan(0);
}, 60_000);
