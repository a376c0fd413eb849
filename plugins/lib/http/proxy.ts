import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import type { buildConnector } from "undici";
import { GatewayError } from "../../../core/mod.ts";

/** Proxies that the environment names, and the hosts that are reached without them. */
export interface ProxySettings {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Programs on this machine are never behind a proxy, as in Go and Python; a proxy would look for them on its own machine. */
const LOOPBACK = "localhost,127.0.0.1,[::1]";

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; lower-case names win. Requests over https use the proxy of http
 * where they have none of their own, as undici's `EnvHttpProxyAgent` does. Returns undefined if no proxy is set.
 */
export function readProxySettings(env: Environment = process.env): ProxySettings | undefined {
  const read = (name: string): string => env[name.toLowerCase()] ?? env[name] ?? "";
  const httpProxy = toProxyUrl(read("HTTP_PROXY"), "HTTP_PROXY");
  const httpsProxy = toProxyUrl(read("HTTPS_PROXY"), "HTTPS_PROXY");
  if (httpProxy === undefined && httpsProxy === undefined) return undefined;
  const noProxy = read("NO_PROXY").trim();
  return {
    ...(httpProxy !== undefined && { httpProxy }),
    ...(httpsProxy !== undefined && { httpsProxy }),
    noProxy: noProxy === "*" ? noProxy : `${noProxy},${LOOPBACK}`,
  };
}

/** Most programs accept a proxy without its scheme. */
function toProxyUrl(text: string, variable: string): string | undefined {
  if (text.trim() === "") return undefined;
  const url = text.includes("://") ? text.trim() : `http://${text.trim()}`;
  if (URL.canParse(url) && /^(https?|socks5?):$/.test(new URL(url).protocol)) return url;
  // Not repeated: it may hold a password.
  throw new GatewayError(
    "CONFIG_INVALID",
    `The environment variable ${variable} does not hold the URL of a proxy, such as http://proxy.example:3128.`,
  );
}

let trusted: buildConnector.BuildOptions | undefined;

/**
 * TLS options that trust `SSL_CERT_FILE` and `SSL_CERT_DIR` besides what the runtime trusts. The runtime reads
 * `NODE_EXTRA_CA_CERTS` (Node) and `DENO_CERT` (Deno) itself.
 */
export function readTlsOptions(env: Environment = process.env): buildConnector.BuildOptions {
  trusted ??= toTlsOptions(readCertificates(env), env);
  return trusted;
}

function toTlsOptions(certificates: readonly string[], env: Environment): buildConnector.BuildOptions {
  if (certificates.length === 0) return {};
  // Deno adds these to its own; Node would trust no others.
  if ("Deno" in globalThis) return { ca: [...certificates] };
  // Node 20 cannot say what it trusts.
  const { getCACertificates } = tls as { getCACertificates?(type: "default"): string[] };
  const known = getCACertificates?.("default") ?? [
    ...tls.rootCertificates,
    ...readFiles([env["NODE_EXTRA_CA_CERTS"] ?? ""]),
  ];
  // Made once: to parse 150 certificates takes longer than to connect.
  return { secureContext: tls.createSecureContext({ ca: [...known, ...certificates] }) };
}

function readCertificates(env: Environment): readonly string[] {
  const { SSL_CERT_FILE: file = "", SSL_CERT_DIR: folders = "" } = env;
  const inFolders = folders.split(process.platform === "win32" ? ";" : ":").flatMap((folder) => {
    try {
      return folder === "" ? [] : readdirSync(folder).map((name) => join(folder, name));
    } catch {
      return [];
    }
  });
  return readFiles([file, ...inFolders]);
}

/** Skips a file that cannot be read, as OpenSSL does: the variable is often left over from another program. */
function readFiles(files: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    try {
      const text = file === "" ? "" : readFileSync(file, "utf8");
      return text.includes("-----BEGIN CERTIFICATE-----") ? [text] : [];
    } catch {
      return [];
    }
  });
}
