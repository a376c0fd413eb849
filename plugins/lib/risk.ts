import type { Tool } from "../../core/mod.ts";
import {
  createPolicy,
  maxRiskLevel,
  type OperationPolicy,
  type RiskLevel,
} from "../../core/services/policy.ts";
import { splitWords } from "./text/words.ts";

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

/** Infers the risk from the HTTP method and the verbs of the name; high risk if neither tells. */
function inferRisk({ name, operation }: Tool): RiskLevel {
  const method = operation?.method.toUpperCase();
  if (method === undefined) return inferNameRisk(name) ?? "high";
  // The method is what is really sent. The name reveals an API that changes state by GET.
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE") {
    return inferFirstWordRisk(name) ?? "low";
  }
  if (method === "DELETE") return "destructive";
  // Many names begin with the method, which is no verb there.
  const named = maxRiskLevel("medium", inferNameRisk(name, method.toLowerCase()) ?? "medium");
  return isAboutMoney(`${name} ${operation?.path}`) && !isSearch(name) ? maxRiskLevel(named, "high") : named;
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

const list = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** Verbs of irreversible changes. */
const destructive = list(
  `delete del rm remove drop purge destroy erase wipe truncate cancel terminate kill revoke uninstall reset void
  unpublish prune evict deregister deauthorize deactivate disable ban forget overwrite shutdown flush discard
  clear expire decommission obliterate nuke shred unlink rollback abort reject detach suspend block`,
);
/** Verbs that reach other people, move money, run code, or are hard to undo. */
const high = list(
  `pay send execute exec eval deploy publish approve authorize authorise grant disburse withdraw purchase buy sell
  invest mint settle refund notify email tweet sms broadcast dispatch dial submit merge migrate rename replace write
  restart reboot install restore impersonate promote rotate debit topup checkout reply forward invite share upload
  move overwrite force sign bash shell powershell invoke sudo enable activate`,
);
/** Verbs of reversible changes. */
const medium = list(
  `create add insert update edit modify patch put save set append commit comment subscribe schedule generate make new
  copy duplicate tag label attach join mark star follow initialize initialise init configure change archive unarchive
  pause resume lock unlock clone register assign upsert complete close reopen convert import sync refresh connect
  disconnect press click type fill navigate drag hover select toggle increment decrement apply draft store remember
  begin finish open react pin unpin mute unmute bookmark favorite favourite rate vote unsubscribe unfollow leave
  bind mount stage checkpoint annotate assume request resend retry adjust extend reserve book allocate claim`,
);
/** Verbs or nouns. They count unless another word of the name is a reading verb. */
const ambiguous = list(
  `charge transfer payout payment refund order invoice capture credit trade loan bid call message post push release
  fund command run sql subscription mandate disbursement checkout execution trigger start stop test query stream
  withdrawal settlement`,
);
/** Verbs of reading. */
const reading = list(
  `get list read search find fetch show describe view check verify validate lookup count retrieve inspect browse
  preview compare explain summarize summarise analyze analyse calculate compute estimate ping echo help status info
  stat exists diff log logs history head tail tree whoami version watch scan detect download export is has can see
  look resolve parse translate measure poll peek overview details metadata schema health about`,
);
/** Reading verbs that are followed by no change. */
const searching = list("search list find lookup query verify preview estimate calculate");
/** Words between two verbs that both count. */
const joining = list("and or then");

/** Nouns for moving money: with a verb of change they mean high risk, in the plural too. */
const money = list(
  `charge transfer payout payment refund withdrawal disbursement order invoice subscription mandate loan topup
  settlement`,
);

/** Infers the risk from the words of a name; undefined if they do not tell. */
function inferNameRisk(name: string, ignored = ""): RiskLevel | undefined {
  const words = splitWords(name).filter((word) => word !== ignored);
  const looks = words.some((word) => reading.has(word));
  const isOnlyLooking = looks && !words.some((word) => joining.has(word));
  let risk: RiskLevel | undefined = looks ? "low" : undefined;
  for (const word of words) {
    const level = getLevel(word) ?? (!isOnlyLooking && ambiguous.has(word) ? "high" : undefined);
    if (level) risk = risk ? maxRiskLevel(risk, level) : level;
  }
  return risk;
}

/** Infers the risk from a first word that can only be a verb of change: `send_sms`, but not `charge_status` or `rate_get`. */
function inferFirstWordRisk(name: string): RiskLevel | undefined {
  const words = splitWords(name);
  const level = getLevel(words[0] ?? "");
  return level === "medium" && words.some((word) => reading.has(word)) ? undefined : level;
}

function isAboutMoney(text: string): boolean {
  return splitWords(text).some((word) => money.has(word) || money.has(word.replace(/s$/, "")));
}

/** Whether a name describes a query, which may be sent by POST if it is long. */
function isSearch(name: string): boolean {
  return splitWords(name).some((word) => searching.has(word));
}

function getLevel(word: string): RiskLevel | undefined {
  if (destructive.has(word)) return "destructive";
  if (high.has(word) && !ambiguous.has(word)) return "high";
  return medium.has(word) ? "medium" : undefined;
}
