import { basename, extname } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  filterStrings,
  getObject,
  listEntries,
  mapEntries,
  type Reader,
} from "../../core/services/sources.ts";

/** VS Code: servers, and the inputs that they ask the user for. */
export const readVscode: Reader = (data) => ({
  servers: listEntries(data["servers"], "servers"),
  inputs: data["inputs"],
});

/** Zed: servers of extensions are started by the editor itself and have no command here. */
export const readZed: Reader = (data) => ({
  servers: mapEntries(listEntries(data["context_servers"], "context_servers"), (entry) =>
    entry["command"] === undefined && entry["url"] === undefined ? undefined : entry,
  ),
});

/** Codex: secrets are named by the variables that hold them. */
export const readCodex: Reader = (data) => ({
  servers: mapEntries(listEntries(data["mcp_servers"], "mcp_servers"), (entry) => {
    const { env_vars: names, http_headers: headers, bearer_token_env_var: bearerEnv } = entry;
    const envHeaders = Object.entries(getObject(entry, "env_http_headers"));
    return {
      ...entry,
      ...(Array.isArray(names) && {
        envNames: names.map((name: unknown) => (isJsonObject(name) ? name["name"] : name)),
      }),
      headers: envHeaders.length === 0 ? headers : { ...getObject(headers), ...toVariables(envHeaders) },
      bearerEnv,
    };
  }),
});

function toVariables(entries: readonly (readonly [string, unknown])[]): JsonObject {
  return Object.fromEntries(entries.map(([name, variable]) => [name, `\${${String(variable)}}`]));
}

/** Gemini CLI: servers can also be disabled by lists beside them. */
export const readGemini: Reader = (data) => {
  const { allowed, excluded } = getObject(data, "mcp");
  const on = Array.isArray(allowed) ? filterStrings(allowed) : undefined;
  const off = filterStrings(excluded);
  return {
    servers: mapEntries(listEntries(data["mcpServers"], "mcpServers"), (entry, name) => {
      const isOff = off.includes(String(name)) || on?.includes(String(name)) === false;
      return isOff ? { ...entry, disabled: true } : entry;
    }),
  };
};

/** Continue: a list, an object, or a file that is one server; its older format has no names. */
export const readContinue: Reader = (data, { file }) => {
  if (data["mcpServers"] === undefined && (data["command"] !== undefined || data["url"] !== undefined)) {
    return { servers: [{ name: data["name"] ?? basename(file, extname(file)), entry: data }] };
  }
  const older = getObject(data, "experimental")["modelContextProtocolServers"];
  return {
    servers: [
      ...listEntries(data["mcpServers"], "mcpServers"),
      ...listEntries(older, "experimental.modelContextProtocolServers").map(({ name, entry }, index) => ({
        name: name ?? `continue-${index + 1}`,
        entry,
      })),
    ],
  };
};

const gooseBuiltins = new Set(["builtin", "platform", "frontend", "inline_python"]);

/** Goose: leaves out built-in extensions. Its keys are in a keyring, so the environment has to have them. */
export const readGoose: Reader = (data) => ({
  servers: mapEntries(listEntries(data["extensions"], "extensions"), (given) => {
    const entry = { ...given, ...getObject(given, "config") };
    if (entry["bundled"] === true || gooseBuiltins.has(String(entry["type"]))) return undefined;
    const keys = toVariables(filterStrings(entry["env_keys"]).map((key) => [key, key]));
    const all = filterStrings(entry["available_tools"]).length === 0;
    return {
      ...entry,
      envs:
        isJsonObject(entry["envs"]) || entry["envs"] === undefined
          ? { ...keys, ...getObject(entry, "envs") }
          : entry["envs"],
      available_tools: all ? undefined : entry["available_tools"],
    };
  }),
});

/** opencode: an entry that only enables or disables a server of another file is not a server. */
export const readOpencode: Reader = (data) => ({
  servers: mapEntries(listEntries(data["mcp"], "mcp"), (entry) =>
    entry["command"] === undefined && entry["url"] === undefined && entry["type"] === undefined
      ? undefined
      : entry,
  ),
});

/** Crush: values may be the output of a command. Only the command that prints a variable is understood; none is run. */
export const readCrush: Reader = (data) => ({
  servers: listEntries(data["mcp"], "mcp").map(({ name, entry }) => {
    if (!isJsonObject(entry)) return { name, entry };
    const plain = Object.fromEntries(
      Object.entries(entry).map(([key, value]) => [
        key,
        isJsonObject(value)
          ? Object.fromEntries(Object.entries(value).map(([inner, text]) => [inner, expandEcho(text)]))
          : expandEcho(value),
      ]),
    );
    const values = Object.values(plain).flatMap((value) =>
      isJsonObject(value) ? Object.values(value) : [value],
    );
    const runs = values.some((value) => typeof value === "string" && value.includes("$("));
    return {
      name,
      entry: plain,
      ...(runs && { reason: "it takes a value from a command, and commands are not run" }),
    };
  }),
});

function expandEcho(value: unknown): unknown {
  return typeof value === "string"
    ? value.replace(/\$\(echo "?\$\{?(\w+)\}?"?\)/g, (_, name) => `\${${name}}`)
    : value;
}

/** Mistral Vibe: a list; a key is named by its variable, with its header and format. */
export const readVibe: Reader = (data) => ({
  servers: mapEntries(listEntries(data["mcp_servers"], "mcp_servers"), (entry) => {
    const auth = { ...entry, ...getObject(entry, "auth") };
    const { api_key_env: key, api_key_header: header, api_key_format: format } = auth;
    if (typeof key !== "string") return entry;
    const form = typeof format === "string" ? format : "Bearer {token}";
    const value = form.replace(/\{(token|api_key|key)\}/, () => `\${${key}}`);
    return {
      ...entry,
      headers: {
        ...getObject(entry, "headers"),
        [typeof header === "string" ? header : "Authorization"]: value,
      },
    };
  }),
});
