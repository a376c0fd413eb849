import {
  type Gateway,
  GatewayError,
  type JsonObject,
  type LocalTool,
  localTools,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { isWebUrl } from "../lib/server-entry/connection.ts";
import { normalizeEntry, normalizeServerName } from "../lib/server-entry/normalize.ts";
import { quoteForShell } from "../lib/terminal/output.ts";
import { exportedTool } from "./manifest.ts";
import { addApproved, requestServer } from "./register-server.ts";

/** Creates the tools by which an agent introspects servers, and adds those that the user has approved. */
export function createDiscoveryTools(): Plugin<"ccos"> {
  return localTools("ccos", { id: "ccos", description: "Finds and adds MCP servers" }, [
    introspect,
    register,
  ]);
}

const introspect: LocalTool = {
  name: "ccos_introspect_remote_api",
  description:
    "Lists the tools of an MCP server with a URL and requests the user's approval. None of them can be called before that.",
  inputSchema: {
    type: "object",
    properties: {
      url: { type: "string", description: "The URL of the server" },
      name: { type: "string", description: "The name it is to have" },
    },
    required: ["url"],
  },
  annotations: { destructiveHint: false },
  async run(args, { gateway, call }) {
    const config = toConfig(args);
    const { serverDiscovery } = gateway.services;
    if (!serverDiscovery)
      throw new GatewayError("PLUGIN_INVALID", 'The plugin "server-discovery" is missing.');
    // Checked as a server that a registry names: an agent must not reach into a private network.
    const tools = await serverDiscovery.discoverTools(config, { signal: call.signal });
    const known = { servers: [config.name], tools: tools.map(({ name }) => name) };
    const { folder, waiting, unchanged } = await requestServer(gateway, {
      config,
      tools: tools.map((tool) => {
        const { inputType: _in, outputType: _out, domains: _domains, categories: _categories, ...own } = tool;
        return { tool: own, manifest: exportedTool(own, config, known) };
      }),
    });
    return answer({
      server: config.name,
      status: waiting.length > 0 ? "pending" : "approved",
      tools: waiting.map(({ name, summary }) => ({ name, summary })),
      unchanged,
      folder,
      next_step:
        waiting.length > 0
          ? `Ask the user to review the files and to run: toolpipe approve ${quoteForShell(config.name)}. Then call ccos_register_server.`
          : "Call ccos_register_server.",
    });
  },
};

const register: LocalTool = {
  name: "ccos_register_server",
  description:
    "Adds a server that was introspected and that the user has approved, so that its tools can be called.",
  inputSchema: {
    type: "object",
    properties: { server: { type: "string", description: "The name of the server" } },
    required: ["server"],
  },
  annotations: { destructiveHint: false },
  async run(args, { gateway }) {
    const server = String(args["server"]);
    await addApproved(gateway, server);
    return answer({ server, status: "registered", tools: listCallable(gateway, server) });
  },
};

function listCallable({ catalog }: Gateway, server: string): string[] {
  return catalog.tools(server).flatMap(({ id, enabled }) => (enabled ? [id] : []));
}

/** Reads the server that an agent names. Its definition is trusted as little as that of a registry. */
function toConfig({ url, name }: JsonObject): Parameters<typeof requestServer>[1]["config"] {
  const text = String(url);
  if (!isWebUrl(text)) throw new GatewayError("INVALID_ARGUMENTS", `"${text}" is not the URL of a server.`);
  const host = new URL(text).hostname.split(".").filter((part) => !/^(?:www|api|mcp)$/.test(part))[0];
  const chosen = normalizeServerName(typeof name === "string" ? name : (host ?? "server"));
  const named = chosen ?? "server";
  const { config, reason } = normalizeEntry(
    { name: named, entry: { url: text } },
    { source: "registry", scope: "project" },
  );
  if (config) return config;
  throw new GatewayError("INVALID_ARGUMENTS", `The server "${named}" cannot be used: ${reason}.`);
}

function answer(value: JsonObject): ReturnType<typeof textResult> & { structuredContent: JsonObject } {
  return { ...textResult(JSON.stringify(value)), structuredContent: value };
}
