const list = (words: string): readonly string[] => words.split(/\s+/).filter(Boolean);

/** Category of a tool's action. */
export type Category =
  | "crud.create"
  | "crud.read"
  | "crud.update"
  | "crud.delete"
  | "search"
  | "execute"
  | "compute"
  | "communicate";

type Verbs = ReadonlyMap<string, readonly Category[]>;

function table(...rows: readonly (readonly [categories: readonly Category[], words: string])[]): Verbs {
  return new Map(rows.flatMap(([categories, words]) => list(words).map((word) => [word, categories])));
}

/** Words that are nothing but verbs: wherever such a word stands in a name, it says what the tool does. */
export const plainVerbs: Verbs = table(
  [
    ["crud.read"],
    `get gets list lists read reads fetch retrieve show shows describe view inspect download browse peek count see
    load enumerate pull lookup is has can whoami return obtain collect gather extract scrape acquire observe
    dump explore`,
  ],
  [["crud.read", "search"], "find discover"],
  [
    ["crud.create"],
    `create creates add adds insert make append upload duplicate clone fork register subscribe reserve schedule
    issue store remember import ingest provision enqueue initialize initialise init bookmark upsert enroll compose
    propose declare scaffold`,
  ],
  [["crud.create", "crud.update"], "write"],
  [
    ["crud.update"],
    `update updates edit modify put set change rename move replace configure enable disable assign unassign mark
    toggle archive unarchive restore complete reopen merge approve reject accept decline lock unlock pin unpin
    star unstar link unlink attach detach join leave adjust extend renew apply sync cancel unpublish upgrade
    downgrade switch promote demote suspend resume mute unmute react save manage activate deactivate rotate
    increment decrement transition resize reorder swap grant block unblock follow unfollow ban unban
    override customize commit stage checkout reset revert rebase amend migrate synchronize bind unbind merges
    reassign snooze dismiss mention freeze unfreeze hide unhide allow deny
    alter confirm finalize finalise revise unmerge sort scale clean reauthorize setup handle authorize enhance split claim`,
  ],
  [
    ["crud.delete"],
    `delete deletes remove removes del rm drop purge destroy erase wipe trash clear uninstall unregister truncate
    prune forget revoke discard deregister evict expire`,
  ],
  [
    ["execute"],
    `execute exec start stop restart reboot kill terminate launch open click press hover drag swipe tap scroll
    navigate goto wait deploy install invoke eval evaluate simulate connect disconnect login logout
    authenticate repair rollback submit play skip seek crawl rerun retry interact abort boot shutdown
    redeploy rebuild emulate reconnect replay consume recreate advance auth
    recompute reload compile spawn perform dispatch focus go sleep resend begin fire`,
  ],
  [
    ["compute"],
    `calculate compute convert translate validate verify analyze analyse summarize summarise compare generate render
    draw parse encode decode hash estimate optimize optimise explain transform detect classify predict assess
    beautify minify solve simplify measure diagnose suggest recommend geocode rewrite rephrase
    transcribe reflect think interpret debug visualize tokenize normalize score rank audit`,
  ],
  [["communicate"], "send reply notify broadcast tweet email ask tell speak chat"],
);

/** Words that are verbs or nouns: they count where no plain verb is there. */
export const possibleVerbs: Verbs = table(
  [["crud.read", "search"], "search query filter research autocomplete"],
  [["crud.create"], "new copy record book comment capture snapshot backup clip"],
  [
    ["crud.update"],
    "label tag patch edit transfer format refresh close publish release share pause rate vote push",
  ],
  [
    ["execute"],
    `run test build trigger call command script action type fill select upload take screenshot mouse key keyboard
    simulation debug monitor process order swap job task batch workflow install boot tap`,
  ],
  [
    ["compute"],
    `check diff review plan chart graph plot thinking analysis validation conversion calculation translation lint
    preview estimate directions route distance distancematrix chain math`,
  ],
  [["communicate"], "message post mail sms prompt forward invite notification"],
  [
    ["crud.read"],
    `export status info details detail history stats statistics metadata schema docs documentation help version
    health log logs forecast weather quote quotes price prices overview summary report reports index indexes
    sample examples example demo tree context guide guides listing lists events timeline archive data profile
    trending news top popular latest recent feed content contents text snapshot current time watch scan poll
    crawl map lineage usage balance echo ping reference storage tools resources capabilities`,
  ],
);

/** Between two verbs, both count. */
const joiningWords: ReadonlySet<string> = new Set(["and", "or", "then"]);

/** Verbs that are never the object at the end of a name, as `list` is in `create_list`. */
const closing: ReadonlySet<string> = new Set(["get", "create", "update", "delete"]);

/** Returns the index of the verb that says what a tool does; -1 if there is none. */
export function findPlainVerb(words: readonly string[]): number {
  // Where objects are named first (`search_index_get`), what comes before the verb may look like one.
  const isLast = closing.has(words.at(-1) ?? "") && !words.some((word) => joiningWords.has(word));
  return isLast ? words.length - 1 : words.findIndex((word) => plainVerbs.has(word));
}

/** Lists the verbs of a name from an index on: one, or several that are joined. */
export function listJoinedVerbs(words: readonly string[], at: number): readonly string[] {
  const verbs = words.slice(at, at + 1);
  for (let next = at + 1; joiningWords.has(words[next] ?? "") && next + 1 < words.length; next += 2) {
    verbs.push(words[next + 1] as string);
  }
  return verbs;
}

/** Splits a name into the words before and after its verbs. */
export function splitAtVerbs(words: readonly string[]): {
  before: readonly string[];
  after: readonly string[];
} {
  const plain = findPlainVerb(words);
  const at = plain === -1 ? words.findIndex((word) => possibleVerbs.has(word)) : plain;
  if (at === -1) return { before: words, after: [] };
  const { length } = listJoinedVerbs(words, at);
  return { before: words.slice(0, at), after: words.slice(at + length * 2 - 1) };
}
