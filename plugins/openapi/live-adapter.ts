import { dirname, resolve } from "node:path";
import { LONGEST_TIMER_MS } from "../../core/hooks.ts";
import { type Call, GatewayError, type ToolResult } from "../../core/mod.ts";
import type { Adapter, AuthType, Overlay } from "../../core/services/adapters.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { MISSING_VARIABLE } from "../../core/services/servers.ts";
import type { StateStore } from "../../core/services/state.ts";
import type { TraceContext } from "../../core/services/telemetry.ts";
import { createHttp, type HttpOptions } from "../lib/http/client.ts";
import { stripUrl } from "../lib/http/errors.ts";
import { createRedactor, findSecretArguments, redactResult } from "../lib/redact.ts";
import { fillVariables } from "../lib/server-entry/expand.ts";
import { thisMachine } from "../lib/server-entry/machine.ts";
import { describeAdapter, findCredentials, findEnvVar, recognizeOverlay } from "./adapter.ts";
import { toResult } from "./answer.ts";
import type { Plan } from "./arguments.ts";
import { collectProofs } from "./credentials.ts";
import { DOCUMENT_BROKEN, type OpenApiDocument } from "./document.ts";
import { type FetchDocument, isUrl, loadDocument } from "./load.ts";
import { type BuiltOperation, buildOperations } from "./operations.ts";
import type { AdapterSettings } from "./options.ts";
import { createOrigins } from "./origins.ts";
import { type PreparedRequest, prepareRequest } from "./request.ts";
import { commonAuth } from "./security.ts";
import { fillServer } from "./servers.ts";
import { createTokens } from "./token.ts";

/** One API that is in use. */
export interface LiveAdapter {
  readonly id: string;
  /** Whether its document is fetched, and not read from a file. */
  readonly isRemote: boolean;
  /** Returns the facts that are known so far. */
  info(): Adapter;
  /** Reads its document. Rejects with the reason if the document cannot be used. */
  load(onFault: (place: string, thrown: unknown) => void): Promise<readonly BuiltOperation[]>;
  /** Returns the request that a call would send, without secrets. */
  preview(plan: Plan, call: Call): Promise<PreparedRequest["preview"]>;
  /** Sends the request. Secrets that were sent are redacted from the result. */
  execute(
    plan: Plan,
    call: Call,
    context: { isTimed: boolean; trace: TraceContext | undefined },
  ): Promise<ToolResult>;
  close(): Promise<void>;
}

interface LiveAdapterOptions extends Pick<HttpOptions, "lookup" | "ca"> {
  readonly id: string;
  readonly options: AdapterSettings;
  /** Facts about APIs by id: those of its own id, else of the API that its document is about. */
  readonly known?: Readonly<Record<string, Overlay>> | undefined;
  readonly configFile?: string | undefined;
  /** Remembers the origins of a document that is fetched. */
  readonly store?: StateStore | undefined;
}

const DOCUMENT_TIMEOUT_MS = 30_000;
/** The longest time of a timer. */
const NEVER_MS = LONGEST_TIMER_MS;
const CONNECTIONS = 16;

/** Creates an adapter that has not read its document yet. */
export function createLiveAdapter(given: LiveAdapterOptions): LiveAdapter {
  const { id, options, known = {}, configFile, store, lookup, ca } = given;
  const { server, serverVariables = {}, headers = {}, timeoutMs, maxBytes } = options;
  const own = Object.hasOwn(known, id) ? known[id] : undefined;
  const overlays = [options.overlay, own];
  const credentials = findCredentials(options, overlays);
  const http = createHttp({
    maxBytes,
    deadlineMs: timeoutMs,
    addresses: options.allowPrivate === true ? "private" : "public",
    redirects: "web",
    connections: CONNECTIONS,
    lookup,
    ca,
  });
  const tokens = createTokens({ http, adapter: id, deadlineMs: timeoutMs });
  const isRemote = isUrl(options.document);
  const place = isRemote
    ? options.document
    : resolve(configFile === undefined ? process.cwd() : dirname(configFile), options.document);
  const origins = createOrigins({
    id,
    document: place,
    configured: [
      ...(options.origins ?? []),
      ...(server === undefined ? [] : [server]),
      ...credentials.flatMap(({ tokenUrl }) => tokenUrl ?? []),
    ],
    store: isRemote ? store : undefined,
  });
  let info = describe({ authType: "none", tools: [] });

  return {
    id,
    isRemote,
    info: () => info,
    async load(onFault) {
      try {
        const document = await loadDocument(place, fetchDocument);
        const built = buildOperations(
          document,
          { auth: findAuth(), idempotencyHeader: findKeyHeader() },
          onFault,
        );
        await origins.learn(built.flatMap(({ plan }) => listUrls(plan)));
        const authType = commonAuth(built.map(({ operation }) => operation.auth));
        info = describe({ document, authType, tools: built.map(({ definition }) => definition.name) });
        return built;
      } catch (thrown) {
        const error = GatewayError.from(thrown, `The document of "${id}" cannot be used.`);
        info = describe({ authType: "none", tools: [], problem: error.message });
        throw error;
      }
    },
    preview: async (plan, call) => (await prepare(plan, call, true)).preview,
    async execute(plan, call, { isTimed, trace }) {
      const request = await prepare(plan, call, false);
      const redact = createRedactor([...request.secrets, ...findSecretArguments(call.args)]);
      const url = toUrl(request);
      const asked = call.meta[requestMeta.timeoutMs];
      const longest = isTimed ? NEVER_MS : timeoutMs;
      const deadlineMs = typeof asked === "number" && asked >= 1 ? Math.min(longest, asked) : longest;
      const headers = { ...trace, ...request.headers };
      const answer = await http.send({ ...request, headers, url, signal: call.signal }, { deadlineMs });
      // The next call gets a new token. This one is not repeated: its request may have side effects.
      if (answer.status === 401) tokens.clear();
      return redactResult(toResult(answer, `${id}:${call.tool?.name}`, stripUrl(url)), redact);
    },
    close: () => http.close(),
  };

  function describe(facts: {
    document?: OpenApiDocument;
    authType: AuthType;
    tools: readonly string[];
    problem?: string;
  }): Adapter {
    const { document } = facts;
    const recognized = document && !own ? recognizeOverlay(document, known) : undefined;
    return describeAdapter({
      id,
      overlays: [...overlays, recognized],
      envVar: findEnvVar(credentials, overlays),
      ...facts,
    });
  }

  function findAuth(): AuthType | undefined {
    return credentials.find(({ type }) => type !== undefined)?.type;
  }

  function findKeyHeader(): string | undefined {
    return overlays.map((one) => one?.idempotencyHeader).find((name) => name !== undefined);
  }

  /** The URLs that a call would use: that of its server, and those that issue tokens. */
  function listUrls(plan: Plan): string[] {
    const tokenUrls = (plan.security ?? []).flat().flatMap(({ tokenUrl }) => tokenUrl ?? []);
    try {
      return [server ?? fillServer(plan, serverVariables, id), ...tokenUrls];
    } catch {
      // A call fails for the same reason.
      return tokenUrls;
    }
  }

  async function prepare(plan: Plan, call: Call, isPreview: boolean): Promise<PreparedRequest> {
    // Before a token is asked for.
    if (!isPreview) origins.check(toUrl({ url: server ?? fillServer(plan, serverVariables, id) }).href);
    const proofs = await collectProofs(plan.security, {
      adapter: id,
      credentials,
      env: process.env,
      fetchToken: isPreview
        ? undefined
        : (request) => {
            origins.check(request.tokenUrl);
            return tokens.get(request);
          },
    });
    const key = call.meta[requestMeta.idempotencyKey];
    return prepareRequest(plan, call.args, {
      adapter: id,
      server,
      serverVariables,
      headers: fillHeaders(isPreview),
      proofs,
      idempotencyKey: typeof key === "string" ? key : undefined,
    });
  }

  function fillHeaders(isPreview: boolean): Record<string, string> {
    const missing: string[] = [];
    const fill = (text: string): string =>
      fillVariables(text, {
        machine: thisMachine(),
        source: "inline",
        onMissing: (name) => missing.push(name),
      });
    const filled = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, isPreview ? "" : fill(value)]),
    );
    if (missing.length === 0) return filled;
    throw new GatewayError(
      MISSING_VARIABLE,
      `"${id}" cannot be used: its headers need ${missing.join(", ")}, which is not set.`,
      { data: { adapter: id, variables: missing, sent: false } },
    );
  }

  function toUrl({ url }: Pick<PreparedRequest, "url">): URL {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    if (parsed?.protocol === "https:" || parsed?.protocol === "http:") return parsed;
    throw new GatewayError(
      "CONFIG_INVALID",
      `The document of "${id}" has no server URL. Set adapters.${id}.server.`,
      { data: { adapter: id, sent: false } },
    );
  }

  async function fetchDocument(url: string, limit: number): ReturnType<FetchDocument> {
    const request = {
      method: "GET",
      url: new URL(url),
      headers: { accept: "application/json, application/yaml, */*;q=0.5" },
    };
    try {
      const { status, body } = await http.send(request, { maxBytes: limit, deadlineMs: DOCUMENT_TIMEOUT_MS });
      if (status === 200) return body;
      throw new GatewayError(DOCUMENT_BROKEN, `the server answered HTTP ${status}`);
    } catch (thrown) {
      const { message, cause } = GatewayError.from(thrown);
      const why = message.replace(/\.$/, "");
      throw new GatewayError(DOCUMENT_BROKEN, `${stripUrl(url)}: it cannot be fetched: ${why}.`, {
        cause,
        data: { document: stripUrl(url) },
      });
    }
  }
}
