import { type Gateway, GatewayError, type JsonObject, type Tool } from "../../core/mod.ts";
import type { ApprovalKind, Approvals, HeldTool, ToolGate } from "../../core/services/approvals.ts";
import { readState, type StateStore, updateState } from "../../core/services/state.ts";
import { createToolHasher, sha256Hex } from "../lib/hash.ts";
import { quoteForShell } from "../lib/terminal/output.ts";
import { SCAN_VERSION, stripTexts } from "./hidden.ts";

/** Pins the definition of each tool when it is first used, and holds back tools that have changed since. */
export interface Pins {
  /** Returns whether a tool is the pinned one, as far as that is known without reading the store. */
  isPinned(tool: Tool): boolean;
  /**
   * Pins a tool that may be used; gives the reason to hold back one that may not. If the store fails, a tool that is
   * discovered is held back, and one that is called fails with the error of the store.
   */
  judge(tool: Tool, isCalled: boolean): Promise<Omit<HeldTool, "tool"> | undefined>;
  /** Makes a tool count as changed, so that it is held back until it is approved again. */
  unpin(tool: Tool): Promise<void>;
  /** Writes new pins to the store. */
  flush(): Promise<void>;
}

/** Options of {@link createPins}. */
export interface PinsParts {
  readonly gateway: Gateway;
  readonly store: StateStore;
  readonly approvals: Approvals;
  /** Whether a new tool is trusted from then on, waits for approval, or is scanned and may change. */
  readonly firstUse: "trust" | "ask" | "scan";
}

/** The hash of a definition, and the version of the scan that has read it. */
interface Pin {
  readonly hash: string;
  readonly scan: number;
}

interface ServerPins {
  readonly place: string;
  /** Whether pins were lost with a damaged record: a tool without one counts as changed, not as new. */
  readonly isLost: boolean;
  readonly pins: Map<string, Pin>;
  /** Names of tools whose pins are not written yet. */
  readonly dirty: Set<string>;
}

/** The kind of approval that a held tool needs. */
const KIND = "tool";
const PREFIX = "pins/";
/** A server could list other flawed tools for ever. */
const MOST_FLAWS = 20_000;
/** Stands for a damaged record, and stays in the one that replaces it. */
const LOST: JsonObject = { lost: true };

/** Keeps pins in a store: one value for each server, because an API may have a thousand tools. */
export function createPins({ gateway, store, approvals, firstUse }: PinsParts): Pins {
  const hashDefinition = createToolHasher();
  /** Of an operation of a REST API also where it is sent, and with which credentials. */
  const hashes = new WeakMap<Tool, string>();
  const hashTool = (tool: Tool): string => {
    const known = hashes.get(tool) ?? hashCleaned(tool);
    hashes.set(tool, known);
    return known;
  };
  const loading = new Map<string, Promise<ServerPins>>();
  const loaded = new Map<string, ServerPins>();
  /** Strings in which the scan found nothing, shared by the tools that enter together. */
  const harmless = new Set<string>();
  /** Findings of the scan, by tool and hash. */
  const flaws = new Map<string, string>();

  return {
    isPinned: (tool) => matches(loaded.get(toPlace(gateway, tool.server))?.pins.get(tool.name), tool),
    async judge(tool, isCalled) {
      const hash = hashTool(tool);
      try {
        return await judge(tool, hash);
      } catch (thrown) {
        if (isCalled) throw thrown;
        gateway.report(GatewayError.from(thrown, "The pinned definitions of tools could not be read."));
        const reason = "Its pinned definition could not be read.";
        return { status: "pending", reason, hash };
      }
    },
    async unpin(tool) {
      const server = await load(toPlace(gateway, tool.server));
      server.pins.set(tool.name, { hash: "", scan: SCAN_VERSION });
      await write(server, [tool.name]);
    },
    async flush() {
      harmless.clear();
      for (const server of loaded.values()) {
        const names = [...server.dirty];
        if (names.length === 0) continue;
        server.dirty.clear();
        await write(server, names).catch((thrown: unknown) => {
          for (const name of names) server.dirty.add(name);
          gateway.report(GatewayError.from(thrown, "The pinned definitions of tools could not be written."));
        });
      }
    },
  };

  function hashCleaned(tool: Tool): string {
    const texts = stripTexts(tool);
    const hash = hashDefinition(Object.keys(texts).length === 0 ? tool : { ...tool, ...texts });
    const { contract } = gateway.services.adapters?.findOperation(tool) ?? {};
    return contract === undefined ? hash : sha256Hex(`${hash} ${contract}`);
  }

  function keepFlaw(key: string, flaw: string): void {
    const [oldest] = flaws.keys();
    if (flaws.size >= MOST_FLAWS && oldest !== undefined) flaws.delete(oldest);
    flaws.set(key, flaw);
  }

  function matches(pin: Pin | undefined, tool: Tool): boolean {
    return pin?.hash === hashTool(tool) && pin.scan === SCAN_VERSION;
  }

  async function judge(tool: Tool, hash: string): Promise<Omit<HeldTool, "tool"> | undefined> {
    const server = await load(toPlace(gateway, tool.server));
    const before = server.pins.get(tool.name) ?? (server.isLost ? { hash: "", scan: 0 } : undefined);
    if (matches(before, tool)) return undefined;
    // Invisible characters are gone once a tool is in the catalog; what was found in it before still counts.
    // Loaded for new tools only: its patterns are large, and most starts find every tool pinned.
    const { scan } = await import("./scan.ts");
    const flaw = flaws.get(`${tool.id} ${hash}`) ?? scan(tool, harmless);
    if (flaw !== undefined) keepFlaw(`${tool.id} ${hash}`, flaw);
    // Pins of operations held no contract before; the next one does.
    const isChanged =
      firstUse !== "scan" &&
      before !== undefined &&
      before.hash !== hash &&
      before.hash !== hashDefinition(tool);
    const isTrusted = !isChanged && flaw === undefined && (before !== undefined || firstUse !== "ask");
    const name = toApprovalName(gateway, tool.id);
    if (isTrusted || (await approvals.status(KIND, name, hash)) === "approved") {
      server.pins.set(tool.name, { hash, scan: SCAN_VERSION });
      server.dirty.add(tool.name);
      return undefined;
    }
    await approvals.request(KIND, name, hash, toSummary(tool, flaw));
    const status = isChanged ? "changed" : "pending";
    return { status, reason: toReason(tool.id, status, flaw), hash };
  }

  function load(place: string): Promise<ServerPins> {
    const reading = loading.get(place) ?? read(place);
    loading.set(place, reading);
    // A failure is not kept: the store may be back the next time.
    reading.catch(() => loading.delete(place));
    return reading;
  }

  async function read(place: string): Promise<ServerPins> {
    const value = await readState(store, PREFIX + place, LOST);
    const isLost = value?.["lost"] === true;
    const server = { place, isLost, pins: parsePins(value), dirty: new Set<string>() };
    loaded.set(place, server);
    return server;
  }

  /** Writes only these names: another process may have written others meanwhile. */
  async function write({ place, pins }: ServerPins, names: readonly string[]): Promise<void> {
    const change = (value: JsonObject | undefined): JsonObject => {
      const all = parsePins(value);
      for (const name of names) all.set(name, pins.get(name) as Pin);
      const tools = [...all].map(([name, { hash, scan: by }]) => [name, hash, by]);
      return value?.["lost"] === true ? { ...LOST, tools } : { tools };
    };
    await updateState(store, PREFIX + place, change, LOST);
  }
}

/** Lists, approves and revokes tools that are held back. */
export function createToolApprovals({
  gateway,
  approvals,
  gate,
  pinned,
}: {
  readonly gateway: Gateway;
  readonly approvals: Approvals;
  readonly gate: ToolGate;
  readonly pinned: Pins;
}): ApprovalKind {
  return {
    pending: () =>
      gate.held().map(({ tool, status, reason, hash }) => ({
        kind: KIND,
        id: tool.id,
        status,
        hash,
        summary: reason,
        reason,
      })),
    async approve(items) {
      for (const { id, hash } of items) await approvals.approve(KIND, toApprovalName(gateway, id), hash);
      for (const server of new Set(items.map(({ id }) => toServer(id)))) await gate.release(server);
      return items;
    },
    async revoke(id) {
      const tool = gateway.catalog.tool(id);
      if (!tool || !(await approvals.revoke(KIND, toApprovalName(gateway, id)))) return undefined;
      await pinned.unpin(tool);
      await gate.release(tool.server);
      return id;
    },
  };
}

function toServer(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf(":")));
}

function parsePins(value: JsonObject | undefined): Map<string, Pin> {
  const tools: unknown = value?.["tools"];
  const pins = new Map<string, Pin>();
  for (const entry of Array.isArray(tools) ? tools : []) {
    const [name, hash, by] = Array.isArray(entry) ? entry : [];
    if (typeof name === "string" && typeof hash === "string") pins.set(name, { hash, scan: Number(by) });
  }
  return pins;
}

/** Names a server by its file too: two projects may each have a server of the same name. */
function toPlace({ services }: Gateway, server: string): string {
  const origin = services.servers?.status(server)?.config.origin;
  return JSON.stringify(origin ? [server, origin.file ?? origin.source] : [server]);
}

/** The name that the approval of a tool is stored under. */
function toApprovalName({ services }: Gateway, id: string): string {
  const origin = services.servers?.status(toServer(id))?.config.origin;
  return origin ? `${id} in ${origin.file ?? origin.source}` : id;
}

function toReason(id: string, status: HeldTool["status"], flaw: string | undefined): string {
  const what =
    status === "changed"
      ? "Its definition has changed since it was first used"
      : "It has not been approved yet";
  return `${what}${flaw ? `, and ${flaw}` : ""}. Approve it with: toolpipe approve ${quoteForShell(id)}`;
}

function toSummary({ id, description = "" }: Tool, flaw: string | undefined): string {
  return `The tool ${id}${flaw ? ` (${flaw})` : ""}: ${description}`;
}
