import type { Exposure, Gateway, Preset, Tool } from "../../core/mod.ts";
import { sha256 } from "../guard/canonical.ts";
import { formerNames } from "./_former-names.ts";
import { SETTLE_MS } from "./_list-changes.ts";
import { shownNames } from "./shown-names.ts";

/** A tool as a client sees it. */
export interface ShownTool {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** Which tools clients see, and under which names. */
export interface ShownTools {
  /** Shows those of this gateway from now on, as its preset describes them. */
  show(gateway: Gateway, preset: Preset | undefined): void;
  /** The tools that a client sees, by what it gets to see. */
  list(exposure: Exposure | undefined): readonly ShownTool[];
  /** The tool that a client means: one that it sees, saw before, or spells as it can, or one that others see. */
  find(name: string, exposure: Exposure | undefined): Tool | undefined;
  /** Tells, a moment later, where a client has seen the list and it is another one then. */
  tellIfChanged(): void;
}

interface Shown {
  readonly gateway: Gateway | undefined;
  readonly revision: number;
  readonly byName: ReadonlyMap<string, Tool>;
  /** A hash of the list, to tell whether another one differs: the list itself may be megabytes. */
  readonly digest: string;
}

/** Makes what shows the tools of a gateway, and calls back when a list that was seen is another one. */
export function createShownTools(onChanged: () => void): ShownTools {
  let gateway: Gateway | undefined;
  let preset: Preset | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** What clients have seen, by what they get to see. */
  const shown = new Map<Exposure | undefined, Shown>();
  const names = formerNames();

  return {
    show(next, from) {
      gateway = next;
      preset = from;
      tellIfChanged();
    },
    list: (exposure) => [...look(exposure).byName].map(([name, tool]) => show(name, tool)),
    find(name, exposure) {
      const { byName } = look(exposure);
      const id = byName.has(name) ? undefined : names.idOf(name);
      const former = id === undefined ? undefined : [...byName.values()].find((tool) => tool.id === id);
      const found = byName.get(name) ?? former ?? respelled(byName, name);
      const isPart = exposure === "meta" || exposure === "tools";
      return found ?? (isPart ? look("both").byName.get(name) : undefined);
    },
    tellIfChanged,
  };

  function tellIfChanged(): void {
    if (shown.size === 0 || timer) return;
    const before = [...shown].map(([exposure, { digest }]) => ({ exposure, digest }));
    // While servers are asked for their tools, the catalog changes many times in a row.
    timer = setTimeout(() => {
      timer = undefined;
      if (before.some(({ exposure, digest }) => look(exposure).digest !== digest)) onChanged();
    }, SETTLE_MS);
    timer.unref?.();
  }

  function look(exposure: Exposure | undefined): Shown {
    const revision = gateway?.catalog.revision ?? 0;
    const before = shown.get(exposure);
    if (before && before.gateway === gateway && before.revision === revision) return before;
    const tools = gateway && (preset?.describe?.(gateway, exposure) ?? gateway.tools);
    const byName = named(tools?.filter((tool) => tool.enabled) ?? []);
    const digest = sha256(JSON.stringify([...byName].map(([name, tool]) => show(name, tool))));
    if (before && before.digest !== digest) names.keep(before.byName);
    const now = { gateway, revision, byName, digest };
    shown.set(exposure, now);
    return now;
  }
}

function named(tools: readonly Tool[]): Map<string, Tool> {
  const names = shownNames(tools);
  return new Map(tools.map((tool, index) => [names[index] as string, tool]));
}

/** A client that takes no dots or no hyphens may write the name of one of our own tools as it can. */
function respelled(byName: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  const plain = (text: string): string => text.replace(/[.-]/g, "_");
  const alike = [...byName].filter(([own, { builtin }]) => builtin && plain(own) === plain(name));
  return alike.length === 1 ? alike[0]?.[1] : undefined;
}

function show(name: string, tool: Tool): ShownTool {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta } = tool;
  return { name, title, description, inputSchema, outputSchema, annotations, icons, _meta };
}
