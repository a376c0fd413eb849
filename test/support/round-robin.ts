import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A load balancer: sends each request to the next replica, and to another where one takes no connections. */
export async function roundRobin(origins: readonly string[]): Promise<string> {
  let turn = 0;
  const server = createServer((incoming, response) => pass(incoming, response, origins.length));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function pass(incoming: IncomingMessage, response: ServerResponse, tries: number): void {
    const target = new URL(String(origins[turn++ % origins.length]));
    const outgoing = request(target, {
      path: incoming.url ?? "/",
      method: incoming.method ?? "GET",
      headers: { ...incoming.headers, host: target.host },
      agent: false,
    });
    let isConnected = false;
    outgoing.once("socket", (socket) => {
      socket.once("connect", () => {
        isConnected = true;
        // Not before: a request that reached no replica can be sent to another.
        incoming.pipe(outgoing);
      });
    });
    outgoing.once("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.once("error", () => response.destroy());
      answer.pipe(response);
    });
    outgoing.once("error", () => {
      if (!isConnected && tries > 1) return pass(incoming, response, tries - 1);
      response.destroy();
    });
    response.once("close", () => outgoing.destroy());
  }
}
