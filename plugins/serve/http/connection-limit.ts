import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Limits of open connections. */
interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
}

/** Connections beyond the limits, for the probes of health. */
const RESERVE = 32;

/**
 * Limits connections in all and from one address, so that one client cannot keep out the others. A few more are accepted,
 * for probes: they are answered however many connections there are. Of these the oldest makes room for the next, since a
 * probe is answered at once and nothing else is answered on them.
 */
export function limitConnections(
  server: Server,
  { connections, connectionsPerAddress }: ConnectionLimits,
): { isReserve(socket: Socket): boolean } {
  const byAddress = new Map<string, number>();
  const reserve = new Set<Socket>();
  let open = 0;
  server.on("connection", (socket) => {
    const address = socket.remoteAddress ?? "";
    const own = byAddress.get(address) ?? 0;
    if (open >= connections || own >= connectionsPerAddress) return addToReserve(socket);
    open++;
    byAddress.set(address, own + 1);
    socket.once("close", () => {
      open--;
      const left = (byAddress.get(address) ?? 1) - 1;
      if (left > 0) byAddress.set(address, left);
      else byAddress.delete(address);
    });
  });
  return { isReserve: (socket) => reserve.has(socket) };

  function addToReserve(socket: Socket): void {
    reserve.add(socket);
    socket.once("close", () => reserve.delete(socket));
    const [oldest] = reserve;
    if (reserve.size > RESERVE) oldest?.destroy();
  }
}
