import type { Tool } from "../../core/mod.ts";
import {
  createPolicy,
  maxRiskLevel,
  type OperationPolicy,
  type RiskLevel,
} from "../../core/services/policy.ts";
import { splitWords } from "./text/words.ts";
import { getPlainVerbRisk, inferNameRisk, isReadingVerb } from "./verbs.ts";

interface InferenceContext {
  /** Whether the hints of its server are believed. */
  readonly trusted?: boolean | undefined;
  /** Category of its API, if it is known. */
  readonly category?: string | undefined;
}

/** Infers the policy of a tool from its name, method and hints. */
export function inferPolicy(
  tool: Tool,
  { trusted = false, category }: InferenceContext = {},
): OperationPolicy {
  const about = slug(category) ?? slug(tool.operation?.category) ?? slug(tool.server) ?? "general";
  // The protocol defines such a request, not its server.
  if (tool.builtin || tool.request) return createPolicy("low", about);
  return createPolicy(applyHints(inferRisk(tool), tool.annotations, trusted), about);
}

/** Infers the risk from method and path of an operation, else from the name; high risk if neither tells. */
function inferRisk({ name, server, operation }: Tool): RiskLevel {
  if (operation === undefined) return inferNameRisk(name, server) ?? "high";
  const method = operation.method.toUpperCase();
  const action = inferActionRisk(operation.path) ?? "low";
  // The method is what is really sent. Path and name reveal an API that changes state by GET.
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE") {
    return maxRiskLevel(inferFirstWordRisk(name) ?? "low", action);
  }
  if (method === "DELETE") return "destructive";
  // Many names begin with the method, which is no verb there.
  const named = maxRiskLevel(inferNameRisk(name, "", method.toLowerCase()) ?? "low", action);
  const isPaying = isAboutMoney(`${name} ${operation.path}`) && !isSearch(name);
  return maxRiskLevel(named, isPaying ? "high" : "medium");
}

/** Infers the risk from the action that a path ends in: `/orders/{id}/cancel`. */
function inferActionRisk(path: string): RiskLevel | undefined {
  const last = path.split("/").at(-1) ?? "";
  const [action = "", ...more] = last.includes("{") ? [] : splitWords(last);
  return more.length > 0 ? undefined : getPlainVerbRisk(action);
}

/** Infers the risk from a first word that can only be a verb of change: `send_sms`, but not `charge_status` or `rate_get`. */
function inferFirstWordRisk(name: string): RiskLevel | undefined {
  const [first = "", ...rest] = splitWords(name);
  const level = getPlainVerbRisk(first);
  return level === "medium" && rest.some(isReadingVerb) ? undefined : level;
}

/** Nouns for moving money: an operation that changes something is of high risk with one, in the plural too. */
const money: ReadonlySet<string> = new Set(
  `charge transfer payout payment refund withdrawal disbursement order invoice subscription mandate loan topup
  settlement`.split(/\s+/),
);

function isAboutMoney(text: string): boolean {
  return splitWords(text).some((word) => money.has(word) || money.has(word.replace(/s$/, "")));
}

/** Verbs of a query, which is sent by POST if it is long. */
const searching: ReadonlySet<string> = new Set([
  "search",
  "list",
  "find",
  "lookup",
  "query",
  "verify",
  "preview",
  "estimate",
  "calculate",
]);

function isSearch(name: string): boolean {
  return splitWords(name).some((word) => searching.has(word));
}

/** Hints of a server only raise the risk of its tools, unless the server is trusted. */
function applyHints(inferred: RiskLevel, hints: Tool["annotations"], trusted: boolean): RiskLevel {
  const { readOnlyHint, destructiveHint } = hints ?? {};
  if (readOnlyHint !== true && destructiveHint === true) return "destructive";
  // It says both, so that neither is worth much.
  if (destructiveHint === true) return maxRiskLevel(inferred, "high");
  if (trusted && readOnlyHint === true) return "low";
  if (trusted && destructiveHint === false && inferred === "destructive") return "high";
  return readOnlyHint === false ? maxRiskLevel(inferred, "medium") : inferred;
}

function slug(text: string | undefined): string | undefined {
  const plain = text
    ?.toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return plain || undefined;
}
