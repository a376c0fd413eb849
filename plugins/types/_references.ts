import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { pointed } from "../_pointed.ts";
import { keysOf } from "./_data.ts";

/** What the references of one schema lead to. */
export interface References {
  /** Whether a schema somewhere asks what others have looked at, so that even a word that forbids nothing counts. */
  readonly countsLooks: boolean;
  /** The name of what a reference leads to, `""` for the whole schema; nothing where that is not in this document. */
  nameOf(ref: unknown): string | undefined;
  /** What was named and not taken yet. */
  next(): { readonly name: string; readonly schema: unknown } | undefined;
}

/** More are not searched for names. */
const MAX_NODES = 20_000;
const LOOKS: ReadonlySet<string> = new Set(["unevaluatedProperties", "unevaluatedItems"]);

/** Finds what is named in a schema, and gives what is referred to names of its own. */
export function referencesOf(root: JsonObject, sorted: boolean): References {
  const { anchors, countsLooks } = anchorsIn(root, sorted);
  const base = baseOf(root);
  const names = new Map<unknown, string>();
  const taken = new Set<string>();
  const waiting: { name: string; schema: unknown }[] = [];

  return {
    countsLooks,
    nameOf(ref) {
      const target = typeof ref === "string" ? targetOf(ref) : undefined;
      if (target === root) return "";
      const isSchema = isJsonObject(target) || typeof target === "boolean";
      if (!isSchema) return;
      // One `true` is as good as another, and must not be taken for it.
      const key = typeof target === "boolean" ? ref : target;
      return names.get(key) ?? named(key, target, String(ref));
    },
    next: () => waiting.shift(),
  };

  function targetOf(ref: string): unknown {
    const local = base && ref.startsWith(base) ? `#${ref.slice(base.length).replace(/^#/, "")}` : ref;
    if (local === "" || local === "#") return root;
    return local.startsWith("#/") ? pointed(root, local) : anchors.get(local);
  }

  function named(key: unknown, schema: unknown, ref: string): string {
    const last = ref.slice(Math.max(ref.lastIndexOf("/"), ref.lastIndexOf("#")) + 1);
    // Plain names need no escaping in a reference, and differ in no two ways of writing one.
    const plain = last.slice(0, 80).replace(/[^\w.-]/g, "_") || "schema";
    let name = plain;
    for (let count = 2; taken.has(name); count++) name = `${plain}_${count}`;
    taken.add(name);
    names.set(key, name);
    waiting.push({ name, schema });
    return name;
  }
}

/** The address that a whole schema says it has, if references can begin with it. */
function baseOf({ $id, id }: JsonObject): string | undefined {
  const address = typeof $id === "string" ? $id : id;
  const base = typeof address === "string" ? address.replace(/#$/, "") : "";
  return base === "" ? undefined : base;
}

interface Named {
  /** Schemas by how a reference to them is written. */
  readonly anchors: ReadonlyMap<string, unknown>;
  readonly countsLooks: boolean;
}

function anchorsIn(root: JsonObject, sorted: boolean): Named {
  const anchors = new Map<string, unknown>();
  let countsLooks = false;
  let nodes = 0;
  const open: unknown[] = [root];
  while (open.length > 0 && nodes < MAX_NODES) {
    const node = open.pop();
    if (Array.isArray(node)) for (const item of node) open.push(item);
    if (!isJsonObject(node)) continue;
    nodes++;
    for (const key of keysOf(node, sorted)) {
      const value = node[key];
      if (typeof value === "object") open.push(value);
      const prefix = NAMING.get(key);
      if (prefix !== undefined && typeof value === "string" && value !== "") {
        const anchor = value.startsWith(prefix) ? value : prefix + value;
        if (!anchors.has(anchor)) anchors.set(anchor, node);
      }
      countsLooks ||= LOOKS.has(key);
    }
  }
  return { anchors, countsLooks };
}

/** The words that name a schema, with how a reference to such a name begins. */
const NAMING: ReadonlyMap<string, string> = new Map([
  ["$anchor", "#"],
  ["$dynamicAnchor", "#"],
  ["$id", ""],
  ["id", ""],
]);
