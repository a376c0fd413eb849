import { basename } from "node:path";
import { GatewayError, type Tool } from "../core/mod.ts";
import { type LabelledQuery, readQueries, readTools, readUserFile } from "../plugins/lib/evaluation.ts";
import { readLabelledSet } from "./labelled/labelled-set.ts";
import type { CatalogInfo, SetInfo, Upload } from "./protocol.ts";
import { createWorkerPool, type WorkerPool } from "./worker-pool.ts";

/** A catalog and its ranking threads. */
export interface OpenCatalog {
  readonly tools: readonly Tool[];
  readonly pool: WorkerPool;
}

/** Catalogs and labelled sets of the playground. */
export type Datasets = Awaited<ReturnType<typeof createDatasets>>;

/** Sources of the first catalogs and sets. */
export interface DatasetOptions {
  /** Lists the tools of the gateway, cached ones or, with `ask`, those of the servers now. */
  readonly live?: ((ask: boolean) => Promise<readonly Tool[]>) | undefined;
  /** File of tools. */
  readonly tools?: string | undefined;
  /** File of labelled queries. */
  readonly queries?: string | undefined;
  /** Folder of a labelled set. */
  readonly demo?: URL | undefined;
}

interface KeptCatalog {
  readonly label: string;
  readonly read: (again: boolean) => Promise<readonly Tool[]>;
  opening?: Promise<OpenCatalog> | undefined;
  opened?: OpenCatalog | undefined;
}

interface KeptSet {
  readonly label: string;
  readonly queries: readonly LabelledQuery[];
  readonly catalog?: string;
}

/** Dropped files that are kept in memory. */
const MAX_UPLOADS = 8;

/** Creates the datasets. Named files are read now, so that mistakes are reported at the start. */
export async function createDatasets({ live, tools, queries, demo }: DatasetOptions) {
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
  const labelled = demo && (await readLabelledSet(demo));
  if (labelled && labelled.tools.length > 0) {
    catalogs.set("demo", { label: "Demo", read: async () => labelled.tools });
    sets.set("demo", {
      label: "Demo queries",
      queries: [...labelled.queries, ...labelled.nothing],
      catalog: "demo",
    });
  }
  if (live) catalogs.set("live", { label: "My servers", read: live });

  async function open(id: string, again: boolean): Promise<OpenCatalog> {
    const kept = catalogs.get(id);
    if (!kept) throw new GatewayError("CONFIG_INVALID", `There is no catalog "${id}". Load the page again.`);
    if (again) await closeCatalog(kept);
    kept.opening ??= kept.read(again).then(
      (read) => {
        kept.opened = { tools: read, pool: createWorkerPool(read) };
        return kept.opened;
      },
      (thrown) => {
        kept.opening = undefined;
        throw thrown;
      },
    );
    return kept.opening;
  }

  async function closeCatalog(kept: KeptCatalog): Promise<void> {
    const { opening } = kept;
    kept.opening = undefined;
    kept.opened = undefined;
    await opening?.then(
      ({ pool }) => pool.close(),
      () => {},
    );
  }

  const toCatalogInfo = ([id, { label, opened }]: [string, KeptCatalog]): CatalogInfo => ({
    id,
    label,
    ...(opened && {
      tools: opened.tools.length,
      servers: new Set(opened.tools.map(({ server }) => server)).size,
    }),
  });
  const toSetInfo = ([id, { label, queries: labels, catalog }]: [string, KeptSet]): SetInfo => ({
    id,
    label,
    queries: labels.length,
    ...(catalog !== undefined && { catalog }),
  });

  return {
    catalogs: () => [...catalogs].map(toCatalogInfo),
    sets: () => [...sets].map(toSetInfo),
    open: (id: string) => open(id, false),
    renew: (id: string) => open(id, true),
    queries(id: string): readonly LabelledQuery[] {
      const kept = sets.get(id);
      if (!kept)
        throw new GatewayError("CONFIG_INVALID", `There is no labelled set "${id}". Load the page again.`);
      return kept.queries;
    },
    async addCatalog({ name, text }: Upload): Promise<CatalogInfo> {
      const read = readTools(text, name);
      const id = `file:${name}`;
      const before = catalogs.get(id);
      if (before) await closeCatalog(before);
      catalogs.delete(id);
      catalogs.set(id, { label: name, read: async () => read });
      const dropped = removeOldestUpload(catalogs);
      if (dropped) await closeCatalog(dropped);
      await open(id, false);
      return toCatalogInfo([id, catalogs.get(id) as KeptCatalog]);
    },
    addSet({ name, text }: Upload): SetInfo {
      const id = `file:${name}`;
      const set = { label: name, queries: readQueries(text, name) };
      sets.delete(id);
      sets.set(id, set);
      removeOldestUpload(sets);
      return toSetInfo([id, set]);
    },
    async close() {
      await Promise.all([...catalogs.values()].map(closeCatalog));
    },
  };
}

/** Removes the oldest upload if there are too many. */
function removeOldestUpload<Kept>(all: Map<string, Kept>): Kept | undefined {
  const uploads = [...all.keys()].filter((id) => id.startsWith("file:"));
  const [oldest] = uploads;
  if (oldest === undefined || uploads.length <= MAX_UPLOADS) return undefined;
  const kept = all.get(oldest);
  all.delete(oldest);
  return kept;
}
