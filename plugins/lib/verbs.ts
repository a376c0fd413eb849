import { maxRiskLevel, type RiskLevel } from "../../core/services/policy.ts";
import { splitWords } from "./text/words.ts";

const list = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/));

/** Verbs of irreversible changes. */
const destructive = list(`
  abort ban block cancel clean cleanup clear deactivate deauthorize decommission del delete deregister destroy detach
  disable discard dispose drop erase evict expire flush forget kill nuke obliterate overwrite prune purge reject
  remove reset revoke rid rm rollback shred shutdown suspend terminate trash truncate unassign undeploy uninstall
  unlink unpublish unregister vacuum void wipe zap`);
/** Verbs that reach other people, move money, run code, or are hard to undo. */
const high = list(`
  activate approve authorise authorize bash broadcast burn buy capture charge checkin checkout debit deliver deploy
  dial disburse dispatch downgrade email enable escalate eval exec execute force forward fund grant impersonate
  install invest invite invoke merge migrate mint move notify pay post powershell promote provision publish purchase
  push reboot rebuild redeem refund reindex release remit rename repair replace reply restart restore rotate run sell
  send settle share shell sign sms spend stake start stop submit sudo swap topup transfer transmit trigger tweet
  upgrade upload wire withdraw write`);
/** Verbs of reversible changes. */
const medium = list(`
  ack acknowledge add adjust allocate annotate append apply archive assign assume attach backup begin bind book
  bookmark build change checkpoint claim click clone close comment commit complete configure connect convert copy
  create decrement disconnect download draft drag dump duplicate edit enqueue export extend favorite favourite fill
  finish follow generate hide hover import increment init initialise initialize insert join label leave link lock
  make manage mark modify mount mute navigate new open patch pause pin press put rate react record refresh register
  remember reopen request resend reserve resume retry save scale schedule select set snooze stage star store
  subscribe sync synchronise synchronize tag toggle touch track type unarchive unfollow unhide unlock unmute unpin
  unsubscribe update upsert vote watch`);
/** Nouns of money, code and messages: without a verb before them they mean high risk. */
const acts = list(`
  bid call command credit disbursement execution invoice loan mandate message order payment payout query settlement
  sql stream subscription test trade withdrawal`);
/** Writing verbs that are nouns too, and so may be what a reading verb is about: `get_pull_request`, `list_releases`. */
const objects = list(`
  archive backup block book bookmark broadcast build capture change charge checkout checkpoint claim comment commit
  copy dispatch download draft duplicate email export favorite follow fund grant import install invite label link
  lock mark merge mint move new open patch pin post press purchase push rate record refund release reply request
  reset run schedule share shell sms stage stake star start stop store tag touch track transfer trigger tweet type
  update upgrade upload vote watch wire`);
/** Verbs of change without a level of their own: a name with one does not only read. */
const changing = list(`
  accept alter amend anonymize anonymise boot compile confirm correct decline decrypt demote deny dismiss elevate
  encrypt enroll enrol finalize finalise fix fork freeze fulfil fulfill inject launch mutate offboard onboard optimize
  optimise reactivate rebase recreate redact redeploy redo refactor regenerate relay reload relocate renew reorder
  repost rerun respond retweet revert rewind rewrite sanitize sanitise seed spawn stash switch transition unapprove
  undelete undo unenroll unfavorite unfreeze unmerge unset unstar untag untrash unwrap warm`);
/** Verbs of reading. */
const reading = list(`
  analyse analyze ask blame browse calculate can check compare count describe detect diagnose diff discover echo
  estimate exists explain explore fetch find forecast geocode get grep guide has help identify inspect introspect is
  list locate look lookup measure parse peek ping preview query read recognise recognize recommend rerank retrieve
  scan screenshot search see show suggest summarise summarize translate validate verify view wait whoami`);
/** Pairs of words that do not read, though one of them does. */
const phrases = list("check_in check_off check_out get_rid git_fetch show_hidden");
/** Words between two verbs. */
const joining = list("and or then");
/** Words after which a writing verb is what happens next, and not what is read: `scan_to_email`. */
const targeting = list("to into onto");
/** A query of these is a statement, which may change anything. */
const databases = list(
  "database databases db graphql mysql pg postgres postgresql soql sql sqlite table tables",
);
/** Nouns before a verb: a product, a part of it, or what the verb is about, as in `sheets_get_values`. */
const things = list(`
  account accounts acr activitylog admin advanced advisor agency agent ai air airbnb aks analytics antd api app
  appconfig applens application applicationinsights applications apps appservice asset assets assignment atlas
  attachment attachments audio autoexport autoimport availability aws azure azureterraformbestpractices batch
  bicepschema billing bing bitable blob board boards brave browser bucket buckets calendar card cascading certificate
  changelog channel channels chat climate cloud cloudendpoint cluster clusters code collection collections company
  compute confidentialledger config configuration consumergroup contact contacts container containerapps containers
  cookie copilot cosmos cron currents customer customers d1 dashboard dashboards data database databases datadog db
  deployment deployments developer device deviceregistry devices diagnostic directories directory discord disk disks
  dns docs document documents docx domain domains drafts dwd ecmwf ecommerce elastic ensemble entity entra entries
  env environment environments event eventgrid eventhub eventhubs events excel field fields figma file files
  fileshare fileshares filter filters firecrawl firewall flight flights flood folder folders foundry
  foundryextensions fs function functionapp functions ga gcp gcs gem gfs git github gitlab gmail google grafana graph
  group groups health healthmodels helm hf horizons host hosting hostpool hub hubspot icon im image images indexes
  instance instances instrumentation invoices issue issues item items jira jma job jobs k8s kafka key keys keyvault
  knowledge kubectl kusto kv labels language linear linkedin loadtesting local localstorage location locations log
  logs mail managedcluster managedlustre map maps marine market marketplace member members memory message messages
  metadata meteofrance metno metric metrics mobile model models mongo mongodb monitor monitoredresources my mysql
  namespace namespaces network news node nodepool nodes note notes notion object objects obsidian openai orbit orders
  org organization orgs package packages page pages param payments peconnection people performance permission
  permissions perplexity pipeline pipelines place places plans playwright pod pods policies policy pool postgres
  pricing processes product products profile profiles project projects properties property queues quick quota r2
  reach recommendation records redis region registeredserver registry repo reports repos repositories repository
  research resource resourcehealth resources role roles route routes rule rules runs runtime s3 salesforce schemas
  searxng seasonal secret secrets semantic server serverendpoint servers service servicefabric serviceguide services
  session sessions sessionstorage settings sftp sharepoint sheet sheets signalr site sites sku slack snapshots source
  sources space spaces speech sql sqlite ssh storage storagesync streams stripe stt subnetsize subscription
  subscriptions syncgroup system tab table tables tabs task tasks team teams template templates terraform
  testresource testrun tests thread threads ticket tickets time token tokens tool tools topic topics transaction
  transactions twilio url usage user users vacation vault version video videos virtualdesktop vm vms vmss vps weather
  web webapp webhook webhooks website websites webtests wellarchitectedframework wiki workbooks worker workers
  workflow workflows workspace workspaces zone zones`);
/** Verbs that are found in a compound as well: `dropdb`, `bulkdelete`. */
const compounding =
  "delete remove destroy purge truncate erase revoke drop kill wipe uninstall create insert update replace execute send write deploy";
const leading = new RegExp(
  `^(${compounding.replaceAll(" ", "|")})(?!(d|s|n|r|rs|p?ed|p?ers?|p?ings?|ments?)$).`,
);
const trailing = /.(delete|remove|destroy|purge|truncate|uninstall)$/;
/** Words that begin like a compound. */
const harmless = list(
  "dropbox dropdown dropdowns droplet droplets dropout dropouts dropzone executable executive sendgrid",
);
const VERSION = /^v?\d+$/;

/**
 * Infers the risk from the words of a name; undefined if they do not tell. It is low only where a known reading verb
 * leads, after nothing but known nouns and words of the server's name, and where no writing verb follows, except as the
 * object of the reading one.
 */
export function inferNameRisk(name: string, server = "", ignored = ""): RiskLevel | undefined {
  const words = splitWords(name).filter((word) => word !== ignored);
  if (isLegible(name, splitWords(name)) && isReading(words, new Set(splitWords(server)))) return "low";
  const isQuestion = words.some((word) => reading.has(word)) && !words.some((word) => joining.has(word));
  let risk: RiskLevel | undefined;
  for (const word of words) {
    const level = getVerbRisk(word) ?? (acts.has(word) && !isQuestion ? "high" : undefined);
    if (level) risk = risk ? maxRiskLevel(risk, level) : level;
  }
  return risk;
}

/** Returns the risk of a word that can be a writing verb. */
export function getVerbRisk(word: string): RiskLevel | undefined {
  const verb = harmless.has(word) ? word : ((leading.exec(word) ?? trailing.exec(word))?.[1] ?? word);
  if (destructive.has(verb)) return "destructive";
  if (high.has(verb)) return "high";
  return medium.has(verb) ? "medium" : undefined;
}

/** Returns the risk of a word that is a writing verb and never a noun. */
export function getPlainVerbRisk(word: string): RiskLevel | undefined {
  return objects.has(word) ? undefined : getVerbRisk(word);
}

/** Whether a word is a verb of reading. */
export function isReadingVerb(word: string): boolean {
  return reading.has(word);
}

/** Whether all letters of a name are in its words: very long words are dropped, and other scripts have look-alikes. */
function isLegible(name: string, words: readonly string[]): boolean {
  return !/[^ -~]/.test(name) && name.replace(/[^a-z\d]/gi, "").length === words.join("").length;
}

function isReading(all: readonly string[], own: ReadonlySet<string>): boolean {
  const words = all.filter((word) => !VERSION.test(word));
  const verb = words.findIndex((word) => reading.has(word));
  if (verb < 0 || (words[verb] === "query" && !isHarmlessQuery(words, verb))) return false;
  return words.every((word, at) => {
    if (phrases.has(`${word}_${words[at + 1]}`)) return false;
    const isVerb = getVerbRisk(word) !== undefined || changing.has(word);
    const before = words[at - 1] ?? "";
    if (at > verb && !joining.has(before)) return !isVerb || (objects.has(word) && !targeting.has(before));
    return !isVerb && (reading.has(word) || things.has(word) || own.has(word));
  });
}

function isHarmlessQuery(words: readonly string[], at: number): boolean {
  return at + 1 < words.length && !words.some((word) => databases.has(word));
}
