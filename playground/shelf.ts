import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { GatewayError, type Tool } from "../core/mod.ts";
import { type LabelledQuery, readQueries, readTools, readUserFile } from "../plugins/lib/evaluation.ts";
import type { CatalogInfo, SetInfo, Upload } from "./protocol.ts";
import { createWorkshop, type Workshop } from "./workshop.ts";

/** A catalog, and the threads that rank over it. */
export interface OpenCatalog {
  readonly tools: readonly Tool[];
  readonly workshop: Workshop;
}

/** The catalogs and labelled sets there are to pick from. */
export interface Shelf {
  catalogs(): readonly CatalogInfo[];
  sets(): readonly SetInfo[];
  /** Opens a catalog, or gives the one that is open. */
  open(id: string): Promise<OpenCatalog>;
  /** Reads a catalog anew, where it may have changed. */
  renew(id: string): Promise<OpenCatalog>;
  queries(id: string): readonly LabelledQuery[];
  addCatalog(file: Upload): Promise<CatalogInfo>;
  addSet(file: Upload): SetInfo;
  close(): Promise<void>;
}

/** Where a shelf gets its first catalogs and sets from. */
export interface ShelfOptions {
  /** The tools of the gateway; those that are remembered, or, where it is to ask, as the servers have them now. */
  readonly live?: ((ask: boolean) => Promise<readonly Tool[]>) | undefined;
  /** A file of tools. */
  readonly tools?: string | undefined;
  /** A file of labelled queries. */
  readonly queries?: string | undefined;
  /** The folder with the labelled set of the project itself. */
  readonly demo?: URL | undefined;
}

interface KeptCatalog {
  readonly label: string;
  readonly read: (anew: boolean) => Promise<readonly Tool[]>;
  opening?: Promise<OpenCatalog> | undefined;
  opened?: OpenCatalog | undefined;
}

interface KeptSet {
  readonly label: string;
  readonly queries: readonly LabelledQuery[];
  readonly catalog?: string;
}

/** Files that were dropped are kept in memory, so not all of them. */
const MAX_UPLOADS = 8;

/** Fills a shelf. Files that were named are read now, so that a mistake is told where it was made. */
export async function createShelf({ live, tools, queries, demo }: ShelfOptions): Promise<Shelf> {
  const catalogs = new Map<string, KeptCatalog>();
  const sets = new Map<string, KeptSet>();

  if (tools !== undefined) {
    const read = async (): Promise<readonly Tool[]> => readTools(await readUserFile(tools), basename(tools));
    await read();
    catalogs.set("tools", { label: basename(tools), read });
  }
  if (queries !== undefined) {
    const label = basename(queries);
    const catalog = tools === undefined ? {} : { catalog: "tools" };
    sets.set("queries", { label, queries: readQueries(await readUserFile(queries), label), ...catalog });
  }
  const labelled = demo && (await readDemo(demo));
  if (labelled) {
    catalogs.set("demo", { label: "Demo", read: async () => labelled.tools });
    sets.set("demo", { label: "Demo queries", queries: labelled.queries, catalog: "demo" });
  }
  if (live) catalogs.set("live", { label: "My servers", read: live });

  async function open(id: string, anew: boolean): Promise<OpenCatalog> {
    const kept = catalogs.get(id);
    if (!kept) throw new GatewayError("CONFIG_INVALID", `There is no catalog "${id}" here.`);
    if (anew) await shut(kept);
    kept.opening ??= kept.read(anew).then(
      (read) => {
        kept.opened = { tools: read, workshop: createWorkshop(read) };
        return kept.opened;
      },
      (thrown) => {
        kept.opening = undefined;
        throw thrown;
      },
    );
    return kept.opening;
  }

  async function shut(kept: KeptCatalog): Promise<void> {
    const { opening } = kept;
    kept.opening = undefined;
    kept.opened = undefined;
    await opening?.then(
      ({ workshop }) => workshop.close(),
      () => {},
    );
  }

  const shownCatalog = ([id, { label, opened }]: [string, KeptCatalog]): CatalogInfo => ({
    id,
    label,
    ...(opened && {
      tools: opened.tools.length,
      servers: new Set(opened.tools.map(({ server }) => server)).size,
    }),
  });
  const shownSet = ([id, { label, queries: asked, catalog }]: [string, KeptSet]): SetInfo => ({
    id,
    label,
    queries: asked.length,
    ...(catalog !== undefined && { catalog }),
  });

  return {
    catalogs: () => [...catalogs].map(shownCatalog),
    sets: () => [...sets].map(shownSet),
    open: (id) => open(id, false),
    renew: (id) => open(id, true),
    queries(id) {
      const kept = sets.get(id);
      if (!kept) throw new GatewayError("CONFIG_INVALID", `There is no labelled set "${id}" here.`);
      return kept.queries;
    },
    async addCatalog({ name, text }) {
      const read = readTools(text, name);
      const id = `file:${name}`;
      const before = catalogs.get(id);
      if (before) await shut(before);
      catalogs.delete(id);
      catalogs.set(id, { label: name, read: async () => read });
      const dropped = oldestUpload(catalogs);
      if (dropped) await shut(dropped);
      await open(id, false);
      return shownCatalog([id, catalogs.get(id) as KeptCatalog]);
    },
    addSet({ name, text }) {
      const id = `file:${name}`;
      const set = { label: name, queries: readQueries(text, name) };
      sets.delete(id);
      sets.set(id, set);
      oldestUpload(sets);
      return shownSet([id, set]);
    },
    async close() {
      await Promise.all([...catalogs.values()].map(shut));
    },
  };
}

/** Takes away the upload that came first, where there are too many. */
function oldestUpload<Kept>(all: Map<string, Kept>): Kept | undefined {
  const uploads = [...all.keys()].filter((id) => id.startsWith("file:"));
  const [oldest] = uploads;
  if (oldest === undefined || uploads.length <= MAX_UPLOADS) return undefined;
  const kept = all.get(oldest);
  all.delete(oldest);
  return kept;
}

async function readDemo(
  folder: URL,
): Promise<{ tools: readonly Tool[]; queries: readonly LabelledQuery[] } | undefined> {
  const [tools, queries, nothing] = await Promise.all(
    ["tools.jsonl", "queries.jsonl", "nothing.jsonl"].map((name) =>
      readFile(new URL(name, folder), "utf8").catch(() => undefined),
    ),
  );
  if (tools === undefined || queries === undefined) return undefined;
  return {
    tools: readTools(tools, "tools.jsonl"),
    queries: [
      ...readQueries(queries, "queries.jsonl"),
      ...(nothing === undefined ? [] : readQueries(nothing, "nothing.jsonl")),
    ],
  };
}
