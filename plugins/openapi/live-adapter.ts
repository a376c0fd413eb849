import { dirname, resolve } from "node:path";
import { type Call, GatewayError, type ToolResult } from "../../core/mod.ts";
import type { Adapter, AuthType, Overlay } from "../../core/services/adapters.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { MISSING_VARIABLE } from "../../core/services/servers.ts";
import type { TraceContext } from "../../core/services/telemetry.ts";
import { createHttp, type HttpOptions } from "../lib/http/client.ts";
import { toShownUrl } from "../lib/http/errors.ts";
import { redactor, redactResult, secretArguments } from "../lib/redact.ts";
import { fillIn } from "../lib/server-entry/expand.ts";
import { thisMachine } from "../lib/server-entry/machine.ts";
import { describeAdapter, findCredentials, findEnvVar } from "./adapter.ts";
import { toResult } from "./answer.ts";
import { collectProofs } from "./credentials.ts";
import { DOCUMENT_BROKEN, type OpenApiDocument } from "./document.ts";
import { type FetchDocument, isUrl, loadDocument } from "./load.ts";
import { type BuiltOperation, buildOperations } from "./operations.ts";
import type { AdapterOptions } from "./options.ts";
import type { Plan } from "./plan.ts";
import { type PreparedRequest, prepareRequest } from "./request.ts";
import { commonAuth } from "./security.ts";
import { createTokens } from "./token.ts";

/** One API that is in use. */
export interface LiveAdapter {
  readonly id: string;
  /** Whether its document is fetched, and not read from a file. */
  readonly isRemote: boolean;
  /** Returns the facts that are known so far. */
  info(): Adapter;
  /** Reads its document. Rejects with the reason where that cannot be used. */
  load(onFault: (place: string, thrown: unknown) => void): Promise<readonly BuiltOperation[]>;
  /** The request that a call would send, without anything secret. */
  show(plan: Plan, call: Call): Promise<PreparedRequest["shown"]>;
  /** Sends it. What the API says of a failure is without the secrets that it was sent. */
  execute(plan: Plan, call: Call, context: SendContext): Promise<ToolResult>;
  close(): Promise<void>;
}

/** Context of a call. */
export interface SendContext {
  /** Whether the plugin `timeout` limits the call. */
  readonly isTimed: boolean;
  /** Trace context of the call. */
  readonly trace: TraceContext | undefined;
}

/** Options of a live adapter. */
export interface LiveAdapterOptions extends Pick<HttpOptions, "lookup" | "ca"> {
  readonly id: string;
  readonly options: AdapterOptions;
  /** Facts that its options do not hold. */
  readonly overlay?: Overlay | undefined;
  readonly configFile?: string | undefined;
}

const TIMEOUT_MS = 30_000;
/** The longest that a timer can hold. */
const NEVER_MS = 2 ** 31 - 1;
const MAX_BYTES = 10_000_000;
const CONNECTIONS = 16;

/** Creates an adapter that has not read its document yet. */
export function createLiveAdapter({
  id,
  options,
  overlay,
  configFile,
  lookup,
  ca,
}: LiveAdapterOptions): LiveAdapter {
  const {
    server,
    serverVariables = {},
    headers = {},
    timeoutMs = TIMEOUT_MS,
    maxBytes = MAX_BYTES,
  } = options;
  const overlays = [options.overlay, overlay];
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
  let info = known({ authType: "none", tools: [] });

  return {
    id,
    isRemote,
    info: () => info,
    async load(onFault) {
      try {
        const document = await loadDocument(place, fetchDocument);
        const built = buildOperations(
          document,
          { auth: explicitAuth(), idempotencyHeader: keyHeader() },
          onFault,
        );
        const authType = commonAuth(built.map(({ operation }) => operation.auth));
        info = known({ document, authType, tools: built.map(({ definition }) => definition.name) });
        return built;
      } catch (thrown) {
        const error = GatewayError.from(thrown, `The document of "${id}" cannot be used.`);
        info = known({ authType: "none", tools: [], problem: error.message });
        throw error;
      }
    },
    show: async (plan, call) => (await prepared(plan, call, true)).shown,
    async execute(plan, call, { isTimed, trace }) {
      const request = await prepared(plan, call, false);
      const redact = redactor([...request.secrets, ...secretArguments(call.args)]);
      const url = addressOf(request);
      const asked = call.meta[requestMeta.timeoutMs];
      const own = isTimed ? NEVER_MS : timeoutMs;
      const deadlineMs = typeof asked === "number" && asked >= 1 ? Math.min(own, asked) : own;
      const headers = { ...trace, ...request.headers };
      const answer = await http.send({ ...request, headers, url, signal: call.signal }, { deadlineMs });
      // The next call asks for a new one; this one may not have been meant to be sent twice.
      if (answer.status === 401) tokens.forget();
      return redactResult(toResult(answer, `${id}:${call.tool?.name}`, toShownUrl(url)), redact);
    },
    close: () => http.close(),
  };

  function known(facts: {
    document?: OpenApiDocument;
    authType: AuthType;
    tools: readonly string[];
    problem?: string;
  }): Adapter {
    return describeAdapter({ id, overlays, envVar: findEnvVar(credentials, overlays), ...facts });
  }

  function explicitAuth(): AuthType | undefined {
    return credentials.find(({ type }) => type !== undefined)?.type;
  }

  function keyHeader(): string | undefined {
    return overlays.map((one) => one?.idempotencyHeader).find((name) => name !== undefined);
  }

  async function prepared(plan: Plan, call: Call, isShown: boolean): Promise<PreparedRequest> {
    const askToken = isShown ? undefined : tokens.ask;
    const proofs = await collectProofs(plan.security, {
      adapter: id,
      credentials,
      env: process.env,
      askToken,
    });
    const key = call.meta[requestMeta.idempotencyKey];
    return prepareRequest(plan, call.args, {
      adapter: id,
      server,
      serverVariables,
      headers: filledHeaders(isShown),
      proofs,
      idempotencyKey: typeof key === "string" ? key : undefined,
    });
  }

  function filledHeaders(isShown: boolean): Record<string, string> {
    const missing: string[] = [];
    const fill = (text: string): string =>
      fillIn(text, { machine: thisMachine(), source: "inline", onMissing: (name) => missing.push(name) });
    const filled = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, isShown ? "" : fill(value)]),
    );
    if (missing.length === 0) return filled;
    throw new GatewayError(
      MISSING_VARIABLE,
      `"${id}" cannot be used: its headers need ${missing.join(", ")}, which is not set.`,
      { data: { adapter: id, variables: missing, sent: false } },
    );
  }

  function addressOf({ url }: PreparedRequest): URL {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    if (parsed?.protocol === "https:" || parsed?.protocol === "http:") return parsed;
    throw new GatewayError(
      "CONFIG_INVALID",
      `The document of "${id}" does not say which server its requests go to. Set adapters.${id}.server.`,
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
      const { status, body } = await http.send(request, { maxBytes: limit, deadlineMs: TIMEOUT_MS });
      if (status === 200) return body;
      throw new GatewayError(DOCUMENT_BROKEN, `the server answered HTTP ${status}`);
    } catch (thrown) {
      const { message, cause } = GatewayError.from(thrown);
      const why = message.replace(/\.$/, "");
      throw new GatewayError(DOCUMENT_BROKEN, `${toShownUrl(url)}: it cannot be fetched: ${why}.`, {
        cause,
        data: { document: toShownUrl(url) },
      });
    }
  }
}
