import { dirname, resolve } from "node:path";
import { type Call, GatewayError, type ToolResult } from "../../../core/mod.ts";
import { requestMeta } from "../../guard/request-meta.ts";
import { redactor, redactResult } from "../../logs/redact.ts";
import { secretArguments } from "../../logs/secrets.ts";
import { thisMachine } from "../../sources/machine.ts";
import { fillIn } from "../../sources/variables.ts";
import type { TraceContext } from "../../telemetry/trace-context.ts";
import { MISSING_VARIABLE } from "../errors.ts";
import { shownUrl } from "../http-errors.ts";
import { adapterOf, credentialsOf, envVarOf } from "./adapter.ts";
import { resultOf } from "./answer.ts";
import { createClient } from "./client.ts";
import type { ConnectorOptions } from "./connector.ts";
import { proofsFor } from "./credentials.ts";
import type { OpenApiDocument } from "./document.ts";
import { DOCUMENT_BROKEN } from "./errors.ts";
import { type FetchDocument, isUrl, loadDocument } from "./load.ts";
import type { Adapter, AuthType } from "./operation.ts";
import { type BuiltOperation, buildOperations } from "./operations.ts";
import type { AdapterOptions, Overlay } from "./options.ts";
import type { Plan } from "./plan.ts";
import { type PreparedRequest, prepareRequest } from "./request.ts";
import { commonAuth } from "./security.ts";
import { send } from "./send.ts";
import { createTokens } from "./token.ts";

/** One API that is in use. */
export interface LiveAdapter {
  readonly id: string;
  /** Whether its document is fetched, and not read from a file. */
  readonly isRemote: boolean;
  /** What is known of it so far. */
  info(): Adapter;
  /** Reads its document. Rejects with the reason where that cannot be used. */
  load(onFault: (place: string, thrown: unknown) => void): Promise<readonly BuiltOperation[]>;
  /** The request that a call would send, without anything secret. */
  show(plan: Plan, call: Call): Promise<PreparedRequest["shown"]>;
  /** Sends it. What the API says of a failure is without the secrets that it was sent. */
  execute(plan: Plan, call: Call, context: SendContext): Promise<ToolResult>;
  close(): Promise<void>;
}

/** What is known of a call besides itself. */
export interface SendContext {
  /** Whether somebody else ends it when it takes too long. */
  readonly isTimed: boolean;
  /** Where it belongs to. */
  readonly trace: TraceContext | undefined;
}

/** What a live adapter is made with. */
export interface LiveAdapterOptions extends Pick<ConnectorOptions, "lookup" | "ca"> {
  readonly id: string;
  readonly options: AdapterOptions;
  /** What is known of it besides what its options say. */
  readonly overlay?: Overlay | undefined;
  readonly configFile?: string | undefined;
}

const TIMEOUT_MS = 30_000;
/** The longest that a timer can hold. */
const NEVER_MS = 2 ** 31 - 1;
const MAX_BYTES = 10_000_000;

/** Makes an adapter that has not read its document yet. */
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
  const credentials = credentialsOf(options, overlays);
  const client = createClient({ allowPrivate: options.allowPrivate === true, lookup, ca });
  const tokens = createTokens({ client, adapter: id, deadlineMs: timeoutMs });
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
      const limits = { maxBytes, deadlineMs, signal: call.signal };
      const answer = await send(client, { ...request, headers, url }, limits);
      // The next call asks for a new one; this one may not have been meant to be sent twice.
      if (answer.status === 401) tokens.forget();
      return redactResult(resultOf(answer, `${id}:${call.tool?.name}`, shownUrl(url)), redact);
    },
    close: () => client.close(),
  };

  function known(facts: {
    document?: OpenApiDocument;
    authType: AuthType;
    tools: readonly string[];
    problem?: string;
  }): Adapter {
    return adapterOf({ id, overlays, envVar: envVarOf(credentials, overlays), ...facts });
  }

  function explicitAuth(): AuthType | undefined {
    return credentials.find(({ type }) => type !== undefined)?.type;
  }

  function keyHeader(): string | undefined {
    return overlays.map((one) => one?.idempotencyHeader).find((name) => name !== undefined);
  }

  async function prepared(plan: Plan, call: Call, isShown: boolean): Promise<PreparedRequest> {
    const askToken = isShown ? undefined : tokens.ask;
    const proofs = await proofsFor(plan.security, { adapter: id, credentials, env: process.env, askToken });
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
      const { status, body } = await send(client, request, { maxBytes: limit, deadlineMs: TIMEOUT_MS });
      if (status === 200) return body;
      throw new GatewayError(DOCUMENT_BROKEN, `the server answered HTTP ${status}`);
    } catch (thrown) {
      const { message, cause } = GatewayError.from(thrown);
      const why = message.replace(/\.$/, "");
      throw new GatewayError(DOCUMENT_BROKEN, `${shownUrl(url)}: it cannot be fetched: ${why}.`, {
        cause,
        data: { document: shownUrl(url) },
      });
    }
  }
}
