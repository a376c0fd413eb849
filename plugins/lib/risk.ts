import type { Tool } from "../../core/mod.ts";
import type {} from "../../core/services/adapters.ts";
import { createPolicy, higher, type OperationPolicy, type RiskLevel } from "../../core/services/policy.ts";
import type {} from "../../core/services/servers.ts";
import { wordsOf } from "./text/text.ts";

/** What is known of a tool beyond itself. */
export interface InferenceContext {
  /** Whether its server's word is taken for what its tools do. */
  readonly trusted?: boolean | undefined;
  /** What its API is about, where that is known. */
  readonly category?: string | undefined;
}

/** What a tool asks of whoever calls it, as far as can be seen from outside. */
export function inferPolicy(
  tool: Tool,
  { trusted = false, category }: InferenceContext = {},
): OperationPolicy {
  const about = slug(category) ?? slug(tool.operation?.category) ?? slug(tool.server) ?? "general";
  // What such a request does is said by the protocol, and not by its server.
  if (tool.builtin || tool.request) return createPolicy("low", about);
  return createPolicy(withHints(riskOf(tool), tool.annotations, trusted), about);
}

/** From the method of its request and the verbs in its name; what says nothing at all is high risk. */
function riskOf({ name, operation }: Tool): RiskLevel {
  const method = operation?.method.toUpperCase();
  if (method === undefined) return riskOfName(name) ?? "high";
  // The method is what is really sent. A name is looked at to find an API that changes things by GET.
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE") {
    return riskOfFirstWord(name) ?? "low";
  }
  if (method === "DELETE") return "destructive";
  // Many names begin with the method, which is no verb there.
  const named = higher("medium", riskOfName(name, method.toLowerCase()) ?? "medium");
  return isAboutMoney(`${name} ${operation?.path}`) && !isSearch(name) ? higher(named, "high") : named;
}

/** What a server says of its own tool only ever makes it look worse, unless the server is trusted. */
function withHints(inferred: RiskLevel, hints: Tool["annotations"], trusted: boolean): RiskLevel {
  const { readOnlyHint, destructiveHint } = hints ?? {};
  if (readOnlyHint !== true && destructiveHint === true) return "destructive";
  // It says both, so that neither is worth much.
  if (destructiveHint === true) return higher(inferred, "high");
  if (trusted && readOnlyHint === true) return "low";
  if (trusted && destructiveHint === false && inferred === "destructive") return "high";
  return readOnlyHint === false ? higher(inferred, "medium") : inferred;
}

function slug(text: string | undefined): string | undefined {
  const plain = text
    ?.toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return plain || undefined;
}

const list = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** What such a word does cannot be taken back. */
const destructive = list(
  `delete del rm remove drop purge destroy erase wipe truncate cancel terminate kill revoke uninstall reset void
  unpublish prune evict deregister deauthorize deactivate disable ban forget overwrite shutdown flush discard
  clear expire decommission obliterate nuke shred unlink rollback abort reject detach suspend block`,
);
/** What such a word does reaches other people, moves money, runs something, or is hard to take back. */
const high = list(
  `pay send execute exec eval deploy publish approve authorize authorise grant disburse withdraw purchase buy sell
  invest mint settle refund notify email tweet sms broadcast dispatch dial submit merge migrate rename replace write
  restart reboot install restore impersonate promote rotate debit topup checkout reply forward invite share upload
  move overwrite force sign bash shell powershell invoke sudo enable activate`,
);
/** What such a word does changes something that can be changed back. */
const medium = list(
  `create add insert update edit modify patch put save set append commit comment subscribe schedule generate make new
  copy duplicate tag label attach join mark star follow initialize initialise init configure change archive unarchive
  pause resume lock unlock clone register assign upsert complete close reopen convert import sync refresh connect
  disconnect press click type fill navigate drag hover select toggle increment decrement apply draft store remember
  begin finish open react pin unpin mute unmute bookmark favorite favourite rate vote unsubscribe unfollow leave
  bind mount stage checkpoint annotate assume request resend retry adjust extend reserve book allocate claim`,
);
/** Such words are verbs or nouns. They count where no other word of the name says that it only looks. */
const ambiguous = list(
  `charge transfer payout payment refund order invoice capture credit trade loan bid call message post push release
  fund command run sql subscription mandate disbursement checkout execution trigger start stop test query stream
  withdrawal settlement`,
);
/** Such words only look. */
const reading = list(
  `get list read search find fetch show describe view check verify validate lookup count retrieve inspect browse
  preview compare explain summarize summarise analyze analyse calculate compute estimate ping echo help status info
  stat exists diff log logs history head tail tree whoami version watch scan detect download export is has can see
  look resolve parse translate measure poll peek overview details metadata schema health about`,
);
/** Of these, the ones that nothing follows from. */
const searching = list("search list find lookup query verify preview estimate calculate");
/** Between two verbs, both count. */
const joining = list("and or then");

/** Words that name money that moves: where something is created or changed, they make it high risk in the plural too. */
const money = list(
  `charge transfer payout payment refund withdrawal disbursement order invoice subscription mandate loan topup
  settlement`,
);

/** What the words of a name say of the risk, and nothing where they say nothing. */
export function riskOfName(name: string, ignored = ""): RiskLevel | undefined {
  const words = wordsOf(name).filter((word) => word !== ignored);
  const looks = words.some((word) => reading.has(word));
  const isOnlyLooking = looks && !words.some((word) => joining.has(word));
  let risk: RiskLevel | undefined = looks ? "low" : undefined;
  for (const word of words) {
    const level = levelOf(word) ?? (!isOnlyLooking && ambiguous.has(word) ? "high" : undefined);
    if (level) risk = risk ? higher(risk, level) : level;
  }
  return risk;
}

/** What a name says whose first word is nothing but a verb for a change: `send_sms`, but not `charge_status` or `rate_get`. */
export function riskOfFirstWord(name: string): RiskLevel | undefined {
  const words = wordsOf(name);
  const level = levelOf(words[0] ?? "");
  return level === "medium" && words.some((word) => reading.has(word)) ? undefined : level;
}

/** Whether a name or path is about money that moves. */
export function isAboutMoney(text: string): boolean {
  return wordsOf(text).some((word) => money.has(word) || money.has(word.replace(/s$/, "")));
}

/** Whether a name says that something is only asked for, which may be sent by POST where it is long. */
export function isSearch(name: string): boolean {
  return wordsOf(name).some((word) => searching.has(word));
}

function levelOf(word: string): RiskLevel | undefined {
  if (destructive.has(word)) return "destructive";
  if (high.has(word) && !ambiguous.has(word)) return "high";
  return medium.has(word) ? "medium" : undefined;
}
