import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import type { StateStore } from "../../core/services/state.ts";
import { ifExists } from "../lib/files.ts";
import { ANCHORS } from "./anchors.ts";
import { readAudit } from "./audit-files.ts";
import { type Anchor, toAnchor } from "./seal.ts";

/** Anchors as they were read. */
export interface ReadAnchors {
  readonly anchors: readonly Anchor[];
  /** Where anchors are that cannot be read. */
  readonly damaged: readonly string[];
}

/** Reads the anchors in the state store. */
export async function readStoredAnchors(store: StateStore | undefined): Promise<ReadAnchors> {
  if (!store || store.volatile) return { anchors: [], damaged: [] };
  const entries = (await store.list(ANCHORS)).map(({ key, value }) => ({ key, anchor: toAnchor(value) }));
  const unreadable = entries.filter(({ anchor }) => !anchor).map(({ key }) => key);
  const locations = (await store.listDamaged?.()) ?? [];
  return {
    anchors: entries.flatMap(({ anchor }) => anchor ?? []),
    damaged: [...unreadable, ...locations.filter((location) => /(^|[/\\:])audit[/\\]/.test(location))],
  };
}

/** Reads the anchors that were exported to a file. A line that a full disk has cut is not one. */
export async function readExportedAnchors(file: string): Promise<ReadAnchors> {
  const path = resolve(file);
  if (!(await ifExists(stat(path))))
    throw new GatewayError("CONFIG_INVALID", `${path}: there is no such file of anchors.`);
  const anchors: Anchor[] = [];
  const damaged: string[] = [];
  for await (const { record, line, isWhole } of readAudit(path)) {
    const anchor = toAnchor(record);
    if (anchor) anchors.push(anchor);
    else if (isWhole) damaged.push(`${path}: line ${line}`);
  }
  return { anchors, damaged };
}
