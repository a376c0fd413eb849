import { basename, extname } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { entriesIn, mapEntries, objectAt, type Reader, stringsIn } from "../../core/services/sources.ts";

/** VS Code: servers, and what they ask a person for. */
export const vscodeServers: Reader = (data) => ({
  servers: entriesIn(data["servers"], "servers"),
  inputs: data["inputs"],
});

/** Zed: what an extension brings is started by the editor itself and has no command here. */
export const zedServers: Reader = (data) => ({
  servers: mapEntries(entriesIn(data["context_servers"], "context_servers"), (entry) =>
    entry["command"] === undefined && entry["url"] === undefined ? undefined : entry,
  ),
});

/** Codex: secrets are named by the variables that hold them. */
export const codexServers: Reader = (data) => ({
  servers: mapEntries(entriesIn(data["mcp_servers"], "mcp_servers"), (entry) => {
    const { env_vars: names, http_headers: headers, bearer_token_env_var: bearerEnv } = entry;
    const envHeaders = Object.entries(objectAt(entry, "env_http_headers"));
    return {
      ...entry,
      ...(Array.isArray(names) && {
        envNames: names.map((name: unknown) => (isJsonObject(name) ? name["name"] : name)),
      }),
      headers: envHeaders.length === 0 ? headers : { ...objectAt(headers), ...variablesIn(envHeaders) },
      bearerEnv,
    };
  }),
});

function variablesIn(entries: readonly (readonly [string, unknown])[]): JsonObject {
  return Object.fromEntries(entries.map(([name, variable]) => [name, `\${${String(variable)}}`]));
}

/** Gemini CLI: servers can also be switched off by lists beside them. */
export const geminiServers: Reader = (data) => {
  const { allowed, excluded } = objectAt(data, "mcp");
  const on = Array.isArray(allowed) ? stringsIn(allowed) : undefined;
  const off = stringsIn(excluded);
  return {
    servers: mapEntries(entriesIn(data["mcpServers"], "mcpServers"), (entry, name) => {
      const isOff = off.includes(String(name)) || on?.includes(String(name)) === false;
      return isOff ? { ...entry, disabled: true } : entry;
    }),
  };
};

/** Continue: a list, a map, or a file that is one server; its older form has no names. */
export const continueServers: Reader = (data, { file }) => {
  if (data["mcpServers"] === undefined && (data["command"] !== undefined || data["url"] !== undefined)) {
    return { servers: [{ name: data["name"] ?? basename(file, extname(file)), entry: data }] };
  }
  const older = objectAt(data, "experimental")["modelContextProtocolServers"];
  return {
    servers: [
      ...entriesIn(data["mcpServers"], "mcpServers"),
      ...entriesIn(older, "experimental.modelContextProtocolServers").map(({ name, entry }, index) => ({
        name: name ?? `continue-${index + 1}`,
        entry,
      })),
    ],
  };
};

const gooseOwn = new Set(["builtin", "platform", "frontend", "inline_python"]);

/** Goose: leaves out what is part of Goose; its keys are in a keyring, so they are asked of the environment. */
export const gooseServers: Reader = (data) => ({
  servers: mapEntries(entriesIn(data["extensions"], "extensions"), (given) => {
    const entry = { ...given, ...objectAt(given, "config") };
    if (entry["bundled"] === true || gooseOwn.has(String(entry["type"]))) return undefined;
    const keys = variablesIn(stringsIn(entry["env_keys"]).map((key) => [key, key]));
    const all = stringsIn(entry["available_tools"]).length === 0;
    return {
      ...entry,
      envs:
        isJsonObject(entry["envs"]) || entry["envs"] === undefined
          ? { ...keys, ...objectAt(entry, "envs") }
          : entry["envs"],
      available_tools: all ? undefined : entry["available_tools"],
    };
  }),
});

/** opencode: an entry that only switches a server of another file on or off is no server. */
export const opencodeServers: Reader = (data) => ({
  servers: mapEntries(entriesIn(data["mcp"], "mcp"), (entry) =>
    entry["command"] === undefined && entry["url"] === undefined && entry["type"] === undefined
      ? undefined
      : entry,
  ),
});

/** Crush: values may be the output of a command. The one that prints a variable is understood; none is run. */
export const crushServers: Reader = (data) => ({
  servers: entriesIn(data["mcp"], "mcp").map(({ name, entry }) => {
    if (!isJsonObject(entry)) return { name, entry };
    const plain = Object.fromEntries(
      Object.entries(entry).map(([key, value]) => [
        key,
        isJsonObject(value)
          ? Object.fromEntries(Object.entries(value).map(([inner, text]) => [inner, echoed(text)]))
          : echoed(value),
      ]),
    );
    const values = Object.values(plain).flatMap((value) =>
      isJsonObject(value) ? Object.values(value) : [value],
    );
    const runs = values.some((value) => typeof value === "string" && value.includes("$("));
    return {
      name,
      entry: plain,
      ...(runs && { reason: "it takes a value from a command, and none is run here" }),
    };
  }),
});

function echoed(value: unknown): unknown {
  return typeof value === "string"
    ? value.replace(/\$\(echo "?\$\{?(\w+)\}?"?\)/g, (_, name) => `\${${name}}`)
    : value;
}

/** Mistral Vibe: a list; a key is named by its variable, with the header and the form it goes in. */
export const vibeServers: Reader = (data) => ({
  servers: mapEntries(entriesIn(data["mcp_servers"], "mcp_servers"), (entry) => {
    const auth = { ...entry, ...objectAt(entry, "auth") };
    const { api_key_env: key, api_key_header: header, api_key_format: format } = auth;
    if (typeof key !== "string") return entry;
    const form = typeof format === "string" ? format : "Bearer {token}";
    const value = form.replace(/\{(token|api_key|key)\}/, () => `\${${key}}`);
    return {
      ...entry,
      headers: {
        ...objectAt(entry, "headers"),
        [typeof header === "string" ? header : "Authorization"]: value,
      },
    };
  }),
});
