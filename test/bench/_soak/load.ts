import type { Subject } from "./subject.ts";

/** The servers that nothing happens to, and those that everything happens to. */
export interface ServerNames {
  readonly steady: readonly string[];
  readonly shaky: readonly string[];
  /** Ends the process of a server without warning. */
  kill(server: string): void;
}

/** The requests so far, and their outcomes. */
export interface Tally {
  readonly done: Map<string, number>;
  /** Forbidden outcomes: a call that got no answer, or another's. */
  readonly wrong: string[];
}

/** One thing that callers do. */
interface Act {
  readonly name: string;
  /** Of a thousand. */
  readonly share: number;
  run(subject: Subject, servers: ServerNames, random: () => number): Promise<void>;
}

interface Answer {
  readonly content?: readonly { readonly text?: string }[];
  readonly isError?: boolean;
}

const words = ["say what I am told", "answer after a moment", "change something", "end the server"];
/** More than any limit in the config of a run. */
const TIMEOUT_MS = 120_000;

const acts: readonly Act[] = [
  { name: "search", share: 250, run: search },
  { name: "details", share: 100, run: details },
  { name: "call", share: 600, run: echo },
  // The faults: five of a hundred.
  { name: "fault: killed", share: 7, run: killed },
  { name: "fault: crashing", share: 6, run: fails("crash") },
  { name: "fault: never answering", share: 6, run: fails("never") },
  { name: "fault: saying no", share: 6, run: fails("fail") },
  { name: "fault: refusing", share: 5, run: fails("refuse") },
  { name: "fault: huge", share: 5, run: huge },
  { name: "fault: too large", share: 2, run: fails("huge", { bytes: 12_000_000 }) },
  { name: "fault: cancelled", share: 8, run: cancelled },
  { name: "fault: left", share: 5, run: left },
];

/** Asks on and on, as several callers at once would, until it is told to stop; resolves when all has been answered. */
export async function load(
  subject: Subject,
  servers: ServerNames,
  tally: Tally,
  { callers, random, proceed }: { callers: number; random: () => number; proceed: () => boolean },
): Promise<void> {
  const caller = async (): Promise<void> => {
    while (proceed()) {
      const act = pickAct(random() * 1_000);
      const name = `${subject.name}, ${act.name}`;
      tally.done.set(name, (tally.done.get(name) ?? 0) + 1);
      try {
        await withTimeout(act.run(subject, servers, random));
      } catch (thrown) {
        tally.wrong.push(`${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      }
      // A caller thinks for a moment, so that what is measured is not a machine that is short of time.
      await sleep(random() * 20);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

function pickAct(place: number): Act {
  let rest = place;
  const found = acts.find(({ share }) => {
    rest -= share;
    return rest < 0;
  });
  return found ?? echoAct;
}
const echoAct: Act = { name: "call", share: 0, run: echo };

async function search(subject: Subject, _servers: ServerNames, random: () => number): Promise<void> {
  const answer = await call(subject, "search_tools", { query: pick(words, random) });
  if (answer.isError) throw new Error(`A search failed: ${readText(answer)}`);
}

async function details(subject: Subject, { steady }: ServerNames, random: () => number): Promise<void> {
  const answer = await call(subject, "get_tool_details", { server: pick(steady, random), tool: "echo" });
  if (answer.isError) throw new Error(`Details failed: ${readText(answer)}`);
}

/** Every caller must get its own answer. */
async function echo(subject: Subject, { steady }: ServerNames, random: () => number): Promise<void> {
  const text = `${random()} `.repeat(1 + random() * 100);
  const answer = await execute(subject, pick(steady, random), "echo", { text });
  if (answer.isError || readText(answer) !== text)
    throw new Error(`Another answer came: ${readText(answer).slice(0, 200)}`);
}

/** Whatever comes of it, something must. */
async function killed(subject: Subject, servers: ServerNames, random: () => number): Promise<void> {
  const server = pick(servers.shaky, random);
  const answer = execute(subject, server, "pause", {});
  await sleep(random() * 50);
  servers.kill(server);
  await answer;
}

function fails(tool: string, args: object = {}): Act["run"] {
  return async (subject, { shaky }, random) => {
    const { isError } = await execute(subject, pick(shaky, random), tool, args);
    if (!isError) throw new Error(`The tool "${tool}" was said to have gone well.`);
  };
}

/** Requests a result that is too large to be returned, and is kept; a server that is down then has none. */
async function huge(subject: Subject, { shaky }: ServerNames, random: () => number): Promise<void> {
  const answer = await execute(subject, pick(shaky, random), "huge", { bytes: 900_000 });
  if (JSON.stringify(answer).length > 120_000) throw new Error("A huge result was returned whole.");
}

async function cancelled(subject: Subject, { shaky }: ServerNames, random: () => number): Promise<void> {
  const told = new AbortController();
  const tool = random() < 0.5 ? "never" : "change";
  const answer = execute(subject, pick(shaky, random), tool, {}, told.signal).catch(() => {});
  await sleep(random() * 100);
  told.abort();
  await answer;
}

/** A legacy client that leaves without ending its session. */
async function left(subject: Subject, { steady }: ServerNames, random: () => number): Promise<void> {
  const params = executing(pick(steady, random), "echo", { text: "hello" });
  const answer = (await (subject.visit?.("tools/call", params, random() < 0.5) ??
    subject.ask("tools/call", params))) as Answer;
  if (readText(answer) !== "hello") throw new Error(`Another answer came: ${readText(answer)}`);
}

function execute(
  subject: Subject,
  server: string,
  tool: string,
  args: object,
  signal?: AbortSignal,
): Promise<Answer> {
  const { name, arguments: given } = executing(server, tool, args);
  return call(subject, name, given, signal);
}

function executing(server: string, tool: string, args: object): { name: string; arguments: object } {
  return { name: "execute_tool", arguments: { server, tool, arguments: args } };
}

async function call(subject: Subject, name: string, args: object, signal?: AbortSignal): Promise<Answer> {
  return (await subject.ask("tools/call", { name, arguments: args }, signal)) as Answer;
}

function readText({ content = [] }: Answer): string {
  return content.map(({ text = "" }) => text).join("");
}

function pick<T>(from: readonly T[], random: () => number): T {
  return from[Math.floor(random() * from.length)] as T;
}

async function withTimeout(work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("No answer came.")), TIMEOUT_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
