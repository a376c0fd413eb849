import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseYAML } from "confbox";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type JsonObject, type LoadedConfig, loadConfig, version } from "../core/mod.ts";
import { memoryStore } from "../plugins/lib/memory-store.ts";
import { serveHttp } from "../plugins/serve/mod.ts";
import { presets } from "../presets/mod.ts";
import { freePort } from "./support/redis.ts";
import { runMain } from "./support/run-cli.ts";

const path = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));
const read = (file: string): string => readFileSync(path(file), "utf8");

const PORT = "7007";
const configFile = "playground/deploy/toolpipe.config.yaml";
const dockerfile = read("Dockerfile").replace(/\\\n\s*/g, "");
const unit = read("playground/deploy/toolpipe.service");
const balancer = read("playground/deploy/haproxy.cfg");

interface Service {
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly networks: readonly string[];
  readonly ports?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}
/** A key of YAML that means more than it says, which not every reader knows: what others are made of. */
interface Written extends Service {
  readonly "<<"?: Service;
}
const services: Readonly<Record<string, Service>> = Object.fromEntries(
  Object.entries(parseYAML<{ services: Record<string, Written> }>(read("compose.yaml")).services).map(
    ([name, { "<<": base, ...own }]) => [name, { ...base, ...own }],
  ),
);
const replicas = Object.entries(services).filter(([name]) => name.startsWith("toolpipe-"));

/** The parts of a manifest, by their kind. */
const parts = new Map(
  read("playground/deploy/kubernetes.yaml")
    .split(/^---$/m)
    .map((text) => parseYAML<JsonObject>(text))
    .map((part) => [String(part["kind"]), part]),
);

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: JsonObject;
  readonly env: readonly JsonObject[];
  readonly [probe: string]: unknown;
}
const pod = (parts.get("Deployment") as { spec: { template: { spec: JsonObject } } }).spec.template.spec;
const container = (pod["containers"] as Container[])[0] as Container;

/** Every command line that starts a gateway for a team, by where it stands. */
const commands: readonly (readonly [place: string, args: readonly string[]])[] = [
  ...replicas.map(([name, { command = [] }]) => [name, command] as const),
  ["kubernetes.yaml", container.args],
  ["toolpipe.service", /^ExecStart=\S+ (.+)$/m.exec(unit)?.[1]?.split(" ") ?? []],
];

/** The config as a deployment loads it, with its state in memory in place of a Redis. */
async function deployed(): Promise<LoadedConfig> {
  vi.stubEnv("REDIS_PASSWORD", "secret");
  onTestFinished(() => void vi.unstubAllEnvs());
  const config = await loadConfig({ presets, file: path(configFile) });
  return { ...config, options: { ...config.options, state: { store: memoryStore() } } };
}

describe("the commands of a deployment", () => {
  test.each(commands)("%s: it is there, and has every option", async (_place, args) => {
    const [name = "", ...given] = args;
    const { stdout, code } = await runMain([name, "--help"]);
    expect([name, code]).toEqual(["serve", 0]);
    const options = given.flatMap((arg) => /^--[\w-]+/.exec(arg) ?? []);
    expect(options).toContain("--http");
    expect(options.filter((option) => !stdout.includes(option))).toEqual([]);
    expect(args.join(" ")).toMatch(new RegExp(`--http[= ]${PORT}\\b`));
    expect(args.join(" ")).toMatch(/--config[= ]\/etc\/toolpipe\/toolpipe\.config\.yaml$/);
  });

  test("use the port that is the usual one, wherever it is named", async () => {
    expect((await runMain(["serve", "--help"])).stdout).toContain(`port ${PORT}`);
    expect(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1]).toBe(PORT);
    expect(container.ports).toEqual([{ name: "http", containerPort: Number(PORT) }]);
    const served = [...balancer.matchAll(/^\s+server \w+ ([\w-]+):(\d+)$/gm)];
    expect(served.map(([, name, port]) => [name, port])).toEqual(replicas.map(([name]) => [name, PORT]));
  });

  test("start what is built, in a version of Node that it runs on", () => {
    const { bin, engines } = JSON.parse(read("package.json"));
    const built = `/app/${bin.toolpipe.replace("./", "")}`;
    expect(JSON.parse(/^ENTRYPOINT (.+)$/m.exec(dockerfile)?.[1] ?? "[]")).toContain(built);
    expect(Number(/^ARG NODE=(\d+)$/m.exec(dockerfile)?.[1])).toBeGreaterThanOrEqual(
      Number.parseInt(engines.node.replace(">=", ""), 10),
    );
    expect(container.image).toBe(`toolpipe:${version}`);
  });
});

describe("the config of a deployment", () => {
  test("is one config, equal everywhere, with the expected plugins", async () => {
    const { data } = parts.get("ConfigMap") as { data: Record<string, string> };
    expect(data["toolpipe.config.yaml"]).toBe(read(configFile));
    const { preset, plugins = [] } = await deployed();
    const names = [...preset.plugins, ...plugins].map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["auth", "overload", "replicas", "health", "metrics"]));
    expect(names.length).toBe(new Set(names).size);
  });

  test("refuses every caller until a token is configured, and answers health probes", async () => {
    const server = await serveHttp(await deployed(), { host: "0.0.0.0" });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const origin = `http://127.0.0.1:${new URL(server.url).port}`;
    const probes = ["startupProbe", "livenessProbe", "readinessProbe"].map(
      (name) => (container[name] as { httpGet: { path: string } }).httpGet.path,
    );
    const watched = [...probes, /uri (\S+)/.exec(balancer)?.[1] ?? ""];
    for (const place of watched) expect([place, (await fetch(origin + place)).status]).toEqual([place, 200]);
    const asked = await fetch(`${origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer any" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    expect(asked.status).toBe(401);
  });

  test("is told healthy by the check of every replica while it is, and not when it is gone", async () => {
    // A gateway over stdio has no port, so the image itself must not be checked.
    expect(dockerfile).not.toContain("HEALTHCHECK");
    const server = await serveHttp(await deployed(), { host: "0.0.0.0" });
    const [code = "", ...others] = replicas.map(([, { healthcheck }]) => healthcheck?.test.at(-1) ?? "");
    expect(others).toEqual(others.map(() => code));
    expect(code).toContain(`:${PORT}/`);
    const check = async (port: number | string): Promise<number> => {
      const script = code.replace(`:${PORT}/`, `:${port}/`);
      const args = "Deno" in globalThis ? ["eval", script] : ["-e", script];
      return promisify(execFile)(process.execPath, args).then(
        () => 0,
        (error: { code: number }) => error.code,
      );
    };
    expect(await check(new URL(server.url).port)).toBe(0);
    await server.close({ drainMs: 0 });
    expect(await check(await freePort())).toBe(1);
  });
});

describe("a deployment gives away no more than it must", () => {
  test("in the image", () => {
    expect(/^USER (.+)$/m.exec(dockerfile.slice(dockerfile.lastIndexOf("FROM ")))?.[1]).toBe("node");
    const [first, ...kept] = read(".dockerignore")
      .split("\n")
      .filter((line) => !/^(#|$)/.test(line));
    expect(first).toBe("*");
    const named = kept.flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : []));
    expect(named.filter((file) => !existsSync(path(file)))).toEqual([]);
    const { include } = JSON.parse(read("tsconfig.build.json"));
    expect(named).toEqual(expect.arrayContaining(include));
  });

  test("with Docker Compose", () => {
    expect(replicas).toHaveLength(2);
    for (const [name, service] of Object.entries(services))
      expect([name, service.read_only]).toEqual([name, true]);
    for (const [, { cap_drop, ports }] of replicas)
      expect({ cap_drop, ports }).toEqual({ cap_drop: ["ALL"] });
    expect(services["redis"]?.networks).toEqual(["inside"]);
    expect(services["redis"]?.ports).toBeUndefined();
    expect(services["redis"]?.command?.join(" ")).toContain("--maxmemory-policy noeviction");
  });

  test("in Kubernetes", () => {
    expect(pod["automountServiceAccountToken"]).toBe(false);
    expect(pod["securityContext"]).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    const secret = { name: "toolpipe", key: "redis-password" };
    expect(container.env).toContainEqual({ name: "REDIS_PASSWORD", valueFrom: { secretKeyRef: secret } });
    expect([...parts.keys()].toSorted()).toEqual([
      "ConfigMap",
      "Deployment",
      "NetworkPolicy",
      "PersistentVolumeClaim",
      "PodDisruptionBudget",
      "Service",
      "ServiceAccount",
    ]);
    expect(parts.get("NetworkPolicy")?.["spec"]).toMatchObject({ policyTypes: ["Ingress", "Egress"] });
  });

  test.each(["DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="])(
    "with systemd: %s",
    (line) => expect(unit.split("\n")).toContain(line),
  );
});

test("every stop timeout covers the pending calls", () => {
  const seconds = [
    ...replicas.map(([, service]) => service.stop_grace_period),
    pod["terminationGracePeriodSeconds"],
    /^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1],
  ].map((given) => Number.parseInt(String(given), 10));
  // It serves on for up to 15 s until that is noticed, takes up to 30 s to finish calls, and then closes its servers.
  for (const given of seconds) expect(given).toBeGreaterThanOrEqual(55);
});
