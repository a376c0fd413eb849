import { GatewayError, type JsonObject } from "../../core/mod.ts";
import type {
  Collected,
  CollectedFile,
  CollectOptions,
  Entries,
  Location,
  Machine,
  Origin,
  RawEntry,
  ServerConfig,
  Source,
  SourceWarning,
} from "../../core/services/sources.ts";
import { findFiles, formatPlace, readObject } from "../lib/server-entry/machine.ts";
import { normalizeEntry } from "../lib/server-entry/normalize.ts";
import { choose } from "./choose.ts";

/** One file of a source, whether it exists or not. */
interface Task {
  readonly source: Source;
  readonly location: Location;
  readonly file: string;
  readonly isThere: boolean;
}

interface Fault {
  readonly file: string;
  readonly thrown: unknown;
}

interface Result {
  readonly entries?: Entries;
  readonly faults: readonly Fault[];
}

/** Reads all files of all sources. Never rejects: a missing or broken file does not affect the others. */
export async function collect(
  sources: readonly Source[],
  machine: Machine,
  options: CollectOptions = {},
): Promise<Collected> {
  const files: CollectedFile[] = [];
  const warnings: SourceWarning[] = [];
  const candidates: ServerConfig[] = [];
  const opened = new Map<string, Promise<JsonObject>>();
  const broken = new Set<string>();

  const tasks = claim((await Promise.all(sources.map((source) => listTasks(source, machine)))).flat());
  const results = new Map(await Promise.all(tasks.map(async (task) => [task, await run(task)] as const)));
  for (const source of sources) {
    if (source.entries)
      take(source, { source: source.name, file: source.file, scope: "config" }, { servers: source.entries });
    for (const task of tasks) if (task.source === source) finish(task);
  }
  const servers = choose(candidates, machine, options.ownUrls ?? [], (warning) => warnings.push(warning));
  return { servers, files, warnings };

  function open(file: string): Promise<JsonObject> {
    let data = opened.get(file);
    if (!data) {
      data = readObject(file);
      opened.set(file, data);
    }
    return data;
  }

  async function run({ source, location, file, isThere }: Task): Promise<Result> {
    if (!isThere) return { faults: [] };
    const faults: Fault[] = [];
    try {
      const [data, beside] = await Promise.all([open(file), openFurther(location, faults)]);
      const read = location.read ?? source.read;
      return { entries: read(data, { file, scope: location.scope, machine, beside }), faults };
    } catch (thrown) {
      return { faults: [{ file, thrown }, ...faults] };
    }
  }

  async function openFurther(location: Location, faults: Fault[]): Promise<Record<string, unknown[]>> {
    const named = Object.entries(location.beside ?? {}).map(async ([name, places]) => {
      const found = (await Promise.all(places.map((one) => findFiles([one])))).flat();
      const read = found.map((file) => open(file).catch((thrown) => void faults.push({ file, thrown })));
      return [name, (await Promise.all(read)).filter((data) => data !== undefined)] as const;
    });
    return Object.fromEntries(await Promise.all(named));
  }

  function finish(task: Task): void {
    const { source, location, file } = task;
    const { entries, faults = [] } = results.get(task) ?? {};
    const row = { source: source.name, scope: location.scope };
    const count = entries ? take(source, { ...row, file }, entries) : 0;
    if (entries) files.push({ ...row, file, status: "read", count });
    else if (!task.isThere) files.push({ ...row, file, status: "missing", count });
    for (const fault of faults.toSorted((a, b) => (a.file < b.file ? -1 : 1))) {
      if (broken.has(fault.file)) continue;
      broken.add(fault.file);
      files.push({ ...row, file: fault.file, status: "broken", count: 0, reason: toReason(fault) });
    }
  }

  function take(source: Source, origin: Origin, { servers, inputs }: Entries): number {
    let count = 0;
    for (const raw of servers) {
      const { config, reason } = normalizeEntry(raw, origin, { dialect: source.dialect, inputs });
      if (config) {
        count++;
        candidates.push(config);
        if (config.name !== raw.name) warn("RENAMED", origin, `is called "${config.name}" here`, raw);
      } else warn("ENTRY_INVALID", origin, `cannot be used: ${reason}`, raw);
    }
    return count;
  }

  function warn(code: SourceWarning["code"], { file }: Origin, what: string, { name }: RawEntry): void {
    const who = typeof name === "string" && name.length <= 100 ? `the server ${quote(name)}` : "a server";
    warnings.push({ code, message: `In ${file ?? "the config"}, ${who} ${what}.` });
  }
}

async function listTasks(source: Source, machine: Machine): Promise<readonly Task[]> {
  const tasks = source.locations(machine).map(async (location) => {
    const found = await findFiles(location.places);
    const [first] = location.places;
    if (found.length === 0 && first) return [{ source, location, file: formatPlace(first), isThere: false }];
    return found.map((file) => ({ source, location, file, isThere: true }));
  });
  return (await Promise.all(tasks)).flat();
}

/**
 * Assigns each file to the first task that names it. In the home folder, a file may be both the user's and the
 * project's; then it is the user's.
 */
function claim(tasks: readonly Task[]): readonly Task[] {
  const owners = new Map<string, Task>();
  for (const task of tasks) {
    const owner = owners.get(task.file);
    if (!owner || (owner.location.scope === "project" && task.location.scope !== "project")) {
      owners.set(task.file, task);
    }
  }
  return tasks.filter((task) => owners.get(task.file) === task);
}

function toReason({ file, thrown }: Fault): string {
  const { message } = GatewayError.from(thrown, "The file cannot be parsed.");
  return message.startsWith(file) ? message : `${file}: ${message}`;
}

/** Quotes a name with invisible characters escaped. */
function quote(name: string): string {
  return JSON.stringify(name).replace(
    /[^\x20-\x7e\p{L}\p{M}\p{N}\p{P}\p{S}]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}
