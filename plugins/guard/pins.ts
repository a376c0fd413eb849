import { type Gateway, GatewayError, type JsonObject, type MaybePromise, type Tool } from "../../core/mod.ts";
import type {} from "../approvals.ts";
import { type StateStore, updateState } from "../state/store.ts";
import type {} from "../upstreams/mod.ts";
import { SCAN_VERSION, scan } from "./scan.ts";

/** A tool that is kept from being used until a person has looked at it. */
export interface HeldTool {
  readonly id: string;
  readonly server: string;
  /** `changed` if it was another one when it was first used; `pending` if it was never approved. */
  readonly status: "changed" | "pending";
  /** Why, in a sentence. */
  readonly reason: string;
  /** The hash of its definition, which is what is approved. */
  readonly hash: string;
  /** Whether nobody could look at what it was before: that is looked at again as soon as it can be. */
  readonly isUnread?: boolean | undefined;
}

/** Remembers what tools were when they were first used, and holds back those that are something else now. */
export interface Pins {
  /** Looks at a tool that is about to enter the catalog. */
  judge(tool: Tool): MaybePromise<HeldTool | undefined>;
  /** Whether a person has approved meanwhile what is held back, or it can be looked at now. */
  isApproved(held: HeldTool): Promise<boolean>;
  approve(held: HeldTool): Promise<void>;
  /** Writes down what was seen for the first time. */
  flush(): Promise<void>;
}

/** What {@link createPins} is given. */
export interface PinsOptions {
  readonly gateway: Gateway;
  readonly store: StateStore;
  readonly hashOf: (tool: Tool) => string;
  /** What happens to a tool that was never seen: it is trusted from then on, or a person is asked. */
  readonly firstUse: "trust" | "ask";
}

/** What a tool was, and which version of the scan has looked at it. */
interface Pin {
  readonly hash: string;
  readonly scan: number;
}

interface Pinned {
  readonly place: string;
  readonly pins: Map<string, Pin>;
  /** The names that are not written down yet. */
  readonly dirty: Set<string>;
}

const GROUP = "pins/";
const KIND = "tool";

/** Pins in a store: one value a server, because an API may have a thousand tools. */
export function createPins({ gateway, store, hashOf, firstUse }: PinsOptions): Pins {
  const servers = new Map<string, Promise<Pinned>>();
  const loaded = new Map<string, Pinned>();
  /** What the scan has seen of the tools that enter together. */
  const harmless = new Set<string>();

  return {
    judge(tool) {
      const place = placeOf(gateway, tool.server);
      return isPinned(loaded.get(place)?.pins.get(tool.name), tool) ? undefined : judge(tool, place);
    },
    async isApproved({ id, server, hash, isUnread = false }) {
      if (isUnread) return (await load(placeOf(gateway, server))) !== undefined;
      const status = await gateway.services.approvals?.status(KIND, nameOf(gateway, id, server), hash);
      return status === "approved";
    },
    async approve({ id, server, hash }) {
      const { approvals } = gateway.services;
      if (!approvals) throw noApprovals(id);
      await approvals.approve(KIND, nameOf(gateway, id, server), hash);
    },
    async flush() {
      harmless.clear();
      for (const pinned of loaded.values()) {
        const names = [...pinned.dirty];
        if (names.length === 0) continue;
        pinned.dirty.clear();
        await write(pinned, names).catch((thrown: unknown) => {
          for (const name of names) pinned.dirty.add(name);
          gateway.report(
            GatewayError.from(thrown, "What tools were first seen as could not be written down."),
          );
        });
      }
    },
  };

  function isPinned(pin: Pin | undefined, tool: Tool): boolean {
    return pin?.hash === hashOf(tool) && pin.scan === SCAN_VERSION;
  }

  async function judge(tool: Tool, place: string): Promise<HeldTool | undefined> {
    const hash = hashOf(tool);
    const { id, server, name } = tool;
    try {
      const pinned = await load(place);
      const before = pinned.pins.get(name);
      if (isPinned(before, tool)) return undefined;
      const flaw = scan(tool, harmless);
      const isChanged = before !== undefined && before.hash !== hash;
      const isTrusted = !isChanged && flaw === undefined && (before !== undefined || firstUse === "trust");
      const { approvals } = gateway.services;
      const approval = nameOf(gateway, id, server);
      if (isTrusted || (await approvals?.status(KIND, approval, hash)) === "approved") {
        pinned.pins.set(name, { hash, scan: SCAN_VERSION });
        pinned.dirty.add(name);
        return undefined;
      }
      await approvals?.request(KIND, approval, hash, summaryOf(tool, flaw));
      const status = isChanged ? "changed" : "pending";
      return { id, server, status, reason: reasonOf(id, status, flaw), hash };
    } catch (thrown) {
      gateway.report(GatewayError.from(thrown, "What tools were first seen as could not be read."));
      const reason = "Whether it is the tool that was first used cannot be found out.";
      return { id, server, status: "pending", reason, hash, isUnread: true };
    }
  }

  function load(place: string): Promise<Pinned> {
    const loading = servers.get(place) ?? read(place);
    servers.set(place, loading);
    // Not kept where it failed: the state may be there again the next time.
    loading.catch(() => servers.delete(place));
    return loading;
  }

  async function read(place: string): Promise<Pinned> {
    const entry = await store.get(GROUP + place);
    const pinned = { place, pins: pinsIn(entry?.value), dirty: new Set<string>() };
    loaded.set(place, pinned);
    return pinned;
  }

  /** Only what is new: another process may have written the rest meanwhile. */
  async function write({ place, pins }: Pinned, names: readonly string[]): Promise<void> {
    await updateState(store, GROUP + place, (value) => {
      const all = pinsIn(value);
      for (const name of names) all.set(name, pins.get(name) as Pin);
      return { tools: [...all].map(([name, { hash, scan: by }]) => [name, hash, by]) };
    });
  }
}

function pinsIn(value: JsonObject | undefined): Map<string, Pin> {
  const tools: unknown = value?.["tools"];
  const pins = new Map<string, Pin>();
  for (const entry of Array.isArray(tools) ? tools : []) {
    const [name, hash, by] = Array.isArray(entry) ? entry : [];
    if (typeof name === "string" && typeof hash === "string") pins.set(name, { hash, scan: Number(by) });
  }
  return pins;
}

/** Two projects may each have a server of the same name. */
function placeOf({ services }: Gateway, server: string): string {
  const origin = services.upstreams?.status(server)?.config.origin;
  return JSON.stringify(origin ? [server, origin.file ?? origin.source] : [server]);
}

function nameOf({ services }: Gateway, id: string, server: string): string {
  const origin = services.upstreams?.status(server)?.config.origin;
  return origin ? `${id} in ${origin.file ?? origin.source}` : id;
}

function reasonOf(id: string, status: HeldTool["status"], flaw: string | undefined): string {
  const what =
    status === "changed"
      ? "Its definition has changed since it was first used"
      : "Nobody has approved it yet";
  return `${what}${flaw ? `, and ${flaw}` : ""}. Approve it with: toolpipe approve ${id}`;
}

function summaryOf({ id, description = "" }: Tool, flaw: string | undefined): string {
  return `The tool ${id}${flaw ? ` (${flaw})` : ""}: ${description}`;
}

function noApprovals(id: string): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `"${id}" cannot be approved: the plugin "approvals" is not there.`,
  );
}
