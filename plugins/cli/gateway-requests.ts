import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { ServerState } from "../../core/services/servers.ts";
import type { ServerRow } from "../lib/servers.ts";

/** Outcome of a reload. */
export type ReloadOutcome =
  | {
      readonly reloaded: true;
      readonly servers: number;
      readonly tools: number;
      /** Servers that have not listed their tools yet. */
      readonly unlisted: number;
    }
  | { readonly reloaded: false; readonly reason: string };

/** A gateway that takes requests at the address of a socket. */
type Reachable = Readonly<Record<"address", string>>;

/** State of a server in a running gateway. */
export interface RunningServer {
  readonly name: string;
  /** Hash of its definition: another config may use the name for another server. */
  readonly hash: string;
  readonly status: ServerState;
  /** Status as it is shown, one of the three of the specification. */
  readonly shown: ServerRow["status"];
  readonly reason: string;
}

/** Requests that a gateway takes, each as a line with its name. */
export interface GatewayRequests {
  reload(): Promise<ReloadOutcome>;
  status(): Promise<readonly RunningServer[]>;
}

const LONGEST_REQUEST = 16;

/** Answers the one request of a connection. */
export function answerRequest(socket: Socket, requests: GatewayRequests): void {
  let request = "";
  socket.setEncoding("utf8");
  socket.on("error", () => {});
  socket.on("data", (chunk: string) => {
    request += chunk;
    const name = request.endsWith("\n") ? request.slice(0, -1) : undefined;
    if (name === "reload" || name === "status")
      void requests[name]().then((answer) => socket.end(`${JSON.stringify(answer)}\n`));
    else if (name !== undefined || request.length > LONGEST_REQUEST) socket.destroy();
  });
}

/** A config may load plugins that take long to set up. */
const MAX_RELOAD_MS = 30_000;

/** A gateway that answers later is busy; its state is left out. */
const MAX_STATUS_MS = 1_000;

/** Asks a gateway to read its config again. */
export async function requestReload(running: Reachable): Promise<ReloadOutcome> {
  const answer = await request(running, "reload", MAX_RELOAD_MS);
  return answer ?? { reloaded: false, reason: "It did not answer." };
}

/** Asks a gateway for the state of its servers. */
export async function requestStatus(running: Reachable): Promise<readonly RunningServer[]> {
  return (await request(running, "status", MAX_STATUS_MS)) ?? [];
}

async function request<Name extends keyof GatewayRequests>(
  { address }: Reachable,
  name: Name,
  limitMs: number,
): Promise<Awaited<ReturnType<GatewayRequests[Name]>> | undefined> {
  const socket = connect(address, () => void socket.write(`${name}\n`));
  const timer = setTimeout(() => socket.destroy(), limitMs);
  try {
    return JSON.parse(await text(socket));
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
