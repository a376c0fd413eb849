import type { Buffer } from "node:buffer";
import { GatewayError, type JsonObject, version } from "../../core/mod.ts";
import { fromHeaders } from "../lib/redact.ts";
import { writeBody } from "./body-bytes.ts";
import { HIDDEN_CREDENTIAL } from "./credentials.ts";
import type { Plan } from "./plan.ts";
import { filledServer, joined } from "./servers.ts";
import { encoded, headerText, type Pair, pathText, queryPairs } from "./style.ts";

/** A credential in a request. */
export interface Proof {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
  readonly value: string;
  /** The value as it may be shown. */
  readonly shown: string;
}

/** Context of a request besides the arguments. */
export interface RequestContext {
  readonly adapter: string;
  /** Server that replaces the one of the document. */
  readonly server?: string | undefined;
  readonly serverVariables: Readonly<Record<string, string>>;
  /** Sent with every request, and never shown. */
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
  readonly shown: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
}

/** Creates the request of a plan and its arguments. */
export function prepareRequest(plan: Plan, given: JsonObject, context: RequestContext): PreparedRequest {
  const { adapter, proofs } = context;
  // An argument may be called `constructor`, and every object has one of those.
  const args: JsonObject = Object.assign(Object.create(null), given);
  const server = context.server ?? filledServer(plan, context.serverVariables, adapter);
  const { path, fixed } = toPath(plan, args);
  const base = joined(server, path);
  const query = [...fixed, ...argumentPairs(plan, args, "query")];
  const headers = new Map<string, readonly [value: string, shown: string]>();
  const set = (name: string, value: string, shown = value): void => {
    headers.set(name.toLowerCase(), [checked(name, value), shown]);
  };

  set("accept", plan.accept);
  // Some APIs refuse requests without a user agent.
  set("user-agent", `toolpipe/${version}`);
  for (const { name, argument, place, ...writing } of plan.parameters) {
    const value = args[argument];
    if (place !== "header" || value === undefined || value === null) continue;
    const text = headerText(value, writing);
    set(name, text, isSecret(name) ? HIDDEN_CREDENTIAL : text);
  }
  for (const [name, value] of Object.entries(context.headers)) set(name, value, HIDDEN_CREDENTIAL);
  if (plan.idempotencyHeader && context.idempotencyKey !== undefined) {
    set(plan.idempotencyHeader, context.idempotencyKey);
  }
  const body = plan.body && writeBody(plan.body, args);
  if (body) set("content-type", body.contentType);
  const cookies = argumentPairs(plan, args, "cookie").map(([name, value]) => `${name}=${value}`);
  const cookieProofs = proofs.filter((proof) => proof.in === "cookie");
  if (cookies.length + cookieProofs.length > 0) {
    const proved = cookieProofs.map(({ name, value }) => `${name}=${encoded(value)}`);
    const hidden = cookieProofs.map(({ name, shown }) => `${name}=${shown}`);
    set("cookie", [...cookies, ...proved].join("; "), [...cookies, ...hidden].join("; "));
  }
  for (const proof of proofs) if (proof.in === "header") set(proof.name, proof.value, proof.shown);

  const queryProofs = proofs.filter((proof) => proof.in === "query");
  const proved = queryProofs.map(({ name, value }): Pair => [encoded(name), encoded(value)]);
  const hidden = queryProofs.map(({ name, shown }): Pair => [encoded(name), shown]);
  const shown = {
    method: plan.method,
    url: withQuery(base, [...query, ...hidden]),
    headers: Object.fromEntries([...headers].map(([name, [, text]]) => [name, text])),
    ...(body && { body: body.shown }),
  };
  return {
    method: plan.method,
    url: withQuery(base, [...query, ...proved]),
    headers: Object.fromEntries([...headers].map(([name, [value]]) => [name, value])),
    body: body?.bytes,
    secrets: [...fromHeaders(context.headers), ...proofs.flatMap(proofSecrets)],
    shown,
  };
}

function proofSecrets({ name, value }: Proof): readonly string[] {
  return fromHeaders({ [name]: value });
}

function isSecret(name: string): boolean {
  return /auth|cookie|token|secret|password|api[-_]?key|access[-_]?key/i.test(name);
}

function withQuery(base: string, pairs: readonly Pair[]): string {
  if (pairs.length === 0) return base;
  return `${base}?${pairs.map(([name, value]) => `${name}=${value}`).join("&")}`;
}

function argumentPairs(plan: Plan, args: JsonObject, wanted: "query" | "cookie"): Pair[] {
  return plan.parameters.flatMap(({ name, argument, place, ...writing }) =>
    place === wanted ? queryPairs(name, args[argument], writing) : [],
  );
}

/** The path with its arguments, and the query that some documents write into their paths. */
function toPath(plan: Plan, args: JsonObject): { path: string; fixed: Pair[] } {
  // What follows `#` only tells operations of one path apart.
  const [whole = ""] = plan.path.split("#");
  const [template = "", written = ""] = whole.split("?");
  const path = template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const parameter = plan.parameters.find((one) => one.place === "path" && one.name === name);
    if (!parameter) return "";
    const text = pathText(name, args[parameter.argument], parameter);
    if (text === "") throw wrongPath(parameter.argument, "it is empty");
    return text;
  });
  // A server, or what stands before it, takes these for steps to another place.
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
      return parameter ? [[name, pathText(variable, args[parameter.argument], parameter)]] : [];
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

/** Refuses what would end a header and begin another, or what no header can hold. */
function checked(name: string, value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  throw new GatewayError(
    "INVALID_ARGUMENTS",
    `The header "${name}" cannot be sent: it holds a character that is not allowed.`,
    { data: { path: name, sent: false } },
  );
}
