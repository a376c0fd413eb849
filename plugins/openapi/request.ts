import type { Buffer } from "node:buffer";
import { GatewayError, type JsonObject, version } from "../../core/mod.ts";
import { findHeaderSecrets } from "../lib/redact.ts";
import type { Plan } from "./arguments.ts";
import { encodeBody } from "./body-bytes.ts";
import { HIDDEN_CREDENTIAL } from "./credentials.ts";
import { fillServer, joinPath } from "./servers.ts";
import { encodeValue, type Pair, toHeaderString, toPathString, toQueryPairs } from "./style.ts";

/** A credential in a request. */
export interface Proof {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
  readonly value: string;
  /** The value in a dry run. */
  readonly preview: string;
}

/** Context of a request besides the arguments. */
interface RequestContext {
  readonly adapter: string;
  /** Server that replaces the one of the document. */
  readonly server?: string | undefined;
  readonly serverVariables: Readonly<Record<string, string>>;
  /** Sent with every request, and hidden in a dry run. */
  readonly headers: Readonly<Record<string, string>>;
  readonly proofs: readonly Proof[];
  readonly idempotencyKey?: string | undefined;
}

/** A request that is ready to be sent. */
export interface PreparedRequest {
  readonly method: string;
  /** Relative if no server is known. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  /** Secrets that must be redacted. */
  readonly secrets: readonly string[];
  /** The request without secrets, for a dry run. */
  readonly preview: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
}

/** Creates the request of a plan and its arguments. */
export function prepareRequest(plan: Plan, given: JsonObject, context: RequestContext): PreparedRequest {
  const { adapter, proofs } = context;
  // An argument may be called `constructor`, which every plain object has.
  const args: JsonObject = Object.assign(Object.create(null), given);
  const server = context.server ?? fillServer(plan, context.serverVariables, adapter);
  const { path, fixed } = fillPath(plan, args);
  const base = joinPath(server, path);
  const query = [...fixed, ...toArgumentPairs(plan, args, "query")];
  const headers = new Map<string, readonly [value: string, preview: string]>();
  const set = (name: string, value: string, preview = value): void => {
    headers.set(name.toLowerCase(), [checkHeader(name, value), preview]);
  };

  set("accept", plan.accept);
  // Some APIs refuse requests without a user agent.
  set("user-agent", `toolpipe/${version}`);
  for (const { name, argument, place, ...encoding } of plan.parameters) {
    const value = args[argument];
    if (place !== "header" || value === undefined || value === null) continue;
    const text = toHeaderString(value, encoding);
    set(name, text, isSecret(name) ? HIDDEN_CREDENTIAL : text);
  }
  for (const [name, value] of Object.entries(context.headers)) set(name, value, HIDDEN_CREDENTIAL);
  if (plan.idempotencyHeader && context.idempotencyKey !== undefined) {
    set(plan.idempotencyHeader, context.idempotencyKey);
  }
  const body = plan.body && encodeBody(plan.body, args);
  if (body) set("content-type", body.contentType);
  const cookies = toArgumentPairs(plan, args, "cookie").map(([name, value]) => `${name}=${value}`);
  const cookieProofs = proofs.filter((proof) => proof.in === "cookie");
  if (cookies.length + cookieProofs.length > 0) {
    const proved = cookieProofs.map(({ name, value }) => `${name}=${encodeValue(value)}`);
    const hidden = cookieProofs.map(({ name, preview }) => `${name}=${preview}`);
    set("cookie", [...cookies, ...proved].join("; "), [...cookies, ...hidden].join("; "));
  }
  for (const proof of proofs) if (proof.in === "header") set(proof.name, proof.value, proof.preview);

  const queryProofs = proofs.filter((proof) => proof.in === "query");
  const proved = queryProofs.map(({ name, value }): Pair => [encodeValue(name), encodeValue(value)]);
  const hidden = queryProofs.map(({ name, preview }): Pair => [encodeValue(name), preview]);
  const preview = {
    method: plan.method,
    url: withQuery(base, [...query, ...hidden]),
    headers: Object.fromEntries([...headers].map(([name, [, text]]) => [name, text])),
    ...(body && { body: body.preview }),
  };
  return {
    method: plan.method,
    url: withQuery(base, [...query, ...proved]),
    headers: Object.fromEntries([...headers].map(([name, [value]]) => [name, value])),
    body: body?.bytes,
    secrets: [
      ...findHeaderSecrets(context.headers),
      ...proofs.flatMap(({ name, value }) => findHeaderSecrets({ [name]: value })),
    ],
    preview,
  };
}

function isSecret(name: string): boolean {
  return /auth|cookie|token|secret|password|api[-_]?key|access[-_]?key/i.test(name);
}

function withQuery(base: string, pairs: readonly Pair[]): string {
  if (pairs.length === 0) return base;
  return `${base}?${pairs.map(([name, value]) => `${name}=${value}`).join("&")}`;
}

function toArgumentPairs(plan: Plan, args: JsonObject, wanted: "query" | "cookie"): Pair[] {
  return plan.parameters.flatMap(({ name, argument, place, ...encoding }) =>
    place === wanted ? toQueryPairs(name, args[argument], encoding) : [],
  );
}

/** Fills in the path, and reads the query that some documents write into their paths. */
function fillPath(plan: Plan, args: JsonObject): { path: string; fixed: Pair[] } {
  // The part after `#` only tells operations of one path apart.
  const [whole = ""] = plan.path.split("#");
  const [template = "", written = ""] = whole.split("?");
  const path = template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const parameter = plan.parameters.find((one) => one.place === "path" && one.name === name);
    if (!parameter) return "";
    const text = toPathString(name, args[parameter.argument], parameter);
    if (text === "") throw wrongPath(parameter.argument, "it is empty");
    return text;
  });
  // A server or a proxy takes these for steps to another path.
  const [isDots, argument] = [path.split("/").some((step) => /^\.{1,2}$/.test(step)), listNames(plan)];
  if (isDots) throw wrongPath(argument, "it would lead to another path");
  const fixed = written
    .split("&")
    .filter((part) => part !== "")
    .flatMap((part): Pair[] => {
      const [name = "", value = ""] = part.split("=");
      const variable = /^\{([^{}]+)\}$/.exec(value)?.[1];
      const parameter = plan.parameters.find((one) => one.name === variable && one.place === "path");
      if (variable === undefined) return [[name, value]];
      return parameter ? [[name, toPathString(variable, args[parameter.argument], parameter)]] : [];
    });
  return { path, fixed };
}

function listNames({ parameters }: Plan): string {
  return parameters
    .filter(({ place }) => place === "path")
    .map(({ argument }) => argument)
    .join(", ");
}

function wrongPath(argument: string, why: string): GatewayError {
  return new GatewayError("INVALID_ARGUMENTS", `"${argument}" cannot be part of the path: ${why}.`, {
    data: { path: argument, sent: false },
  });
}

/** Refuses line breaks, which would begin another header, and characters that no header can contain. */
function checkHeader(name: string, value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  throw new GatewayError(
    "INVALID_ARGUMENTS",
    `The header "${name}" cannot be sent: its value contains a character that is not allowed.`,
    { data: { path: name, sent: false } },
  );
}
