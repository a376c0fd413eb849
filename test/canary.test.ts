// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { GatewayError, JsonObject, Plugin } from "../core/mod.ts";
import { dashboard } from "../plugins/dashboard/mod.ts";
import { logs } from "../plugins/logs/mod.ts";
import { metrics } from "../plugins/metrics/mod.ts";
import { openapi } from "../plugins/openapi/mod.ts";
import { serveHttp } from "../plugins/serve/mod.ts";
import { telemetry } from "../plugins/telemetry/mod.ts";
import { anygpt } from "../presets/anygpt/mod.ts";
import { ask } from "./plugins/serve/_http.ts";
import { hasChromium, openPage, startBrowser } from "./support/browser.ts";
import { script } from "./support/stdio-servers.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { registerSdk } from "./together/_otel.ts";

/** Each is named by where it is put, so that a leak says where it came from. */
const canary = (place: string): string => `canary-${place}-7Qx2`;
const places = [
  "args",
  "wrong",
  "env",
  "option",
  "header",
  "url",
  "user",
  "rest",
  "resth",
  "inherited",
  "token",
];

/** Answers every request for a tool with all that it knows, as a failure. */
const leaky = `
import { createInterface } from "node:readline";
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
createInterface(process.stdin).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const known = [process.env.API_TOKEN, process.env.INHERITED_SECRET, process.argv.join(" "), JSON.stringify(params?.arguments)].join(" ");
  process.stderr.write(known + "\\n");
  if (process.argv.includes("refuse")) say({ id, error: { code: -32000, message: "Refused: " + known } });
  else if (process.argv.includes("die")) process.exit(3);
  else if (method === "initialize") say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "l", version: "1" } } });
  else if (method === "tools/list") {
    const inputSchema = { type: "object", properties: { password: { type: "string" }, count: { type: "integer" } } };
    say({ id, result: { tools: ["error", "failure", "end"].map((name) => ({ name, inputSchema })) } });
  } else if (params?.name === "error") say({ id, error: { code: -32000, message: known, data: known } });
  else if (params?.name === "failure") say({ id, result: { isError: true, content: [{ type: "text", text: known }], structuredContent: { known } } });
  else if (params?.name === "end") process.exit(1);
  else if (id !== undefined) say({ id, result: {} });
});
`;

/** Leaks every secret over HTTP, as an MCP server and as an API. */
function leak(request: IncomingMessage, response: ServerResponse): void {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    const known = `${request.url} ${JSON.stringify(request.headers)} ${body}`;
    const json = (value: object, status = 200): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    if (request.url?.startsWith("/api")) return json({ error: { message: known } }, 401);
    if (request.url?.startsWith("/down")) return json({ error: known }, 500);
    const { id, method, params } = (body === "" ? {} : JSON.parse(body)) as JsonObject & {
      params?: JsonObject;
    };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "initialize") {
      const { protocolVersion } = params ?? {};
      const result = {
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "h", version: "1" },
      };
      return json({ jsonrpc: "2.0", id, result });
    }
    if (method === "tools/list") {
      const tools = [{ name: "error", inputSchema: { type: "object" } }];
      return json({ jsonrpc: "2.0", id, result: { tools } });
    }
    json({ jsonrpc: "2.0", id, error: { code: -32_000, message: known, data: known } });
  });
}

async function listening(): Promise<string> {
  const server = createServer(leak).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once("listening", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a secret in arguments, variables, headers, an address or the error of a server", () => {
  test("appears in no log, audit record, error, metric, span or page", { timeout: 120_000 }, async () => {
    const folder = await temporaryFolder({
      "leaky.mjs": leaky,
      "api.json": JSON.stringify({
        openapi: "3.0.0",
        info: { title: "API", version: "1" },
        components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
        security: [{ key: [] }],
        paths: {
          "/api": {
            post: {
              operationId: "leak",
              requestBody: {
                content: {
                  "application/json": {
                    schema: { type: "object", properties: { password: { type: "string" } } },
                  },
                },
              },
              responses: { 200: { description: "" } },
            },
          },
        },
      }),
    });
    vi.stubEnv("TOOLPIPE_HOME", folder);
    vi.stubEnv("CANARY_REST_KEY", canary("rest"));
    vi.stubEnv("CANARY_HEADER", canary("header"));
    vi.stubEnv("INHERITED_SECRET", canary("inherited"));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { spans, measurements } = registerSdk();
    const lines: string[] = [];
    const errors: GatewayError[] = [];
    const listener: Plugin = {
      name: "listener",
      setup: () => ({ error: (error) => void errors.push(error) }),
    };
    const host = await listening();
    const program = (...args: string[]): JsonObject => {
      const own = script(join(folder, "leaky.mjs"), ...args, "--api-key", canary("option"));
      const env = { API_TOKEN: canary("env"), INHERITED_SECRET: "${INHERITED_SECRET}" };
      return { command: own.command, args: own.args, env };
    };
    const remote = (path: string): JsonObject => ({
      url: `http://user:${canary("user")}@${host}${path}?key=${canary("url")}`,
      headers: { "X-Api-Key": "${CANARY_HEADER}" },
    });
    const token = canary("token");
    const server = await serveHttp({
      preset: anygpt,
      plugins: [
        listener,
        logs({ level: "debug", write: (line) => void lines.push(line) }),
        metrics(),
        telemetry(),
        dashboard(),
        openapi({
          adapters: {
            api: {
              document: join(folder, "api.json"),
              server: `http://${host}`,
              allowPrivate: true,
              auth: { env: "CANARY_REST_KEY" },
              headers: { "X-Own": canary("resth") },
            },
          },
        }),
      ],
      options: {
        audit: { folder: join(folder, "audit") },
        // A machine that does much else at once is late.
        overload: { maxLagMs: 60_000 },
        auth: {
          tokens: [
            { sha256: createHash("sha256").update(token).digest("hex"), actor: "ann", scopes: ["admin"] },
          ],
        },
        sources: {
          sources: [],
          mcpServers: {
            program: program(),
            refusing: program("refuse"),
            dying: program("die"),
            remote: remote("/mcp"),
            down: remote("/down"),
            gone: { url: `http://127.0.0.1:1/mcp?key=${canary("url")}` },
          },
        },
      },
    });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const { gateway } = server;
    await gateway.services.servers?.settled();

    const headers = { authorization: `Bearer ${token}` };
    const answers: string[] = [];
    const execute = async (name: string, tool: string, args: JsonObject): Promise<void> => {
      const params = { name: "execute_tool", arguments: { server: name, tool, arguments: args } };
      answers.push(await (await ask(server.url, "tools/call", params, { headers })).text());
    };
    for (const tool of ["error", "failure", "end"])
      await execute("program", tool, { password: canary("args"), count: 1 });
    await execute("program", "error", { password: "x", count: canary("wrong") });
    for (const name of ["refusing", "dying", "remote", "down", "gone"])
      await execute(name, "error", { password: canary("args") });
    await execute("api", "leak", { password: canary("args") });
    answers.push(
      await (
        await ask(server.url, "tools/list", {}, { headers: { authorization: `Bearer ${token}x` } })
      ).text(),
    );
    // Otherwise nothing was tried.
    expect(answers.filter((answer) => answer.includes('"isError":true')).length).toBeGreaterThanOrEqual(9);
    expect(answers.join()).toContain("--api-key …");

    const origin = new URL("/", server.url);
    const read = async (path: string): Promise<string> =>
      (await fetch(new URL(path, origin), { headers })).text();
    const statuses = gateway.services.servers?.statuses().map(({ status, reason }) => ({ status, reason }));
    const seen: Record<string, string> = {
      answers: answers.join("\n"),
      logs: lines.join("\n"),
      errors: errors.map((error) => `${error.message} ${JSON.stringify(error)}`).join("\n"),
      statuses: JSON.stringify(statuses),
      metrics: await read("metrics"),
      data: await read("dashboard/data"),
      spans: JSON.stringify([spans, measurements]),
      page: hasChromium ? await fetchPage(origin.href, token) : "",
    };
    await server.close({ drainMs: 1_000 });
    const files = await readdir(join(folder, "audit"));
    for (const file of files)
      seen["audit"] = `${seen["audit"] ?? ""}${await readFile(join(folder, "audit", file), "utf8")}`;
    expect(seen["audit"]).toContain("program:error");
    expect(seen["logs"]).toContain("program:error");
    for (const place of places) {
      const secret = canary(place);
      const base64 = [secret, `user:${secret}`].map((text) => Buffer.from(text).toString("base64"));
      const forms = [secret, ...base64, encodeURIComponent(secret)];
      for (const [where, text] of Object.entries(seen)) {
        for (const form of forms) {
          const at = text.indexOf(form);
          const found = at < 0 ? "" : `${place} in ${where}: ${text.slice(Math.max(0, at - 200), at + 80)}`;
          expect(found).toBe("");
        }
      }
    }
  });
});

/** Everything that a signed-in user sees. */
async function fetchPage(url: string, token: string): Promise<string> {
  const browser = await startBrowser();
  try {
    const page = await openPage(browser, url, { refused: [401] });
    await page.fill("#key", token);
    await page.keyboard.press("Enter");
    await page.locator("#calls tr").nth(5).waitFor();
    await page.locator("#servers tr").nth(5).waitFor();
    return await page.content();
  } finally {
    await browser.close();
  }
}
