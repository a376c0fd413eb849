import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A load balancer as others are: it asks each replica whether it is ready, and keeps its connections. */
export interface Balancer {
  readonly origin: string;
  /** Whether requests are sent to a replica. */
  isUp(replica: string): boolean;
}

interface Replica {
  readonly origin: string;
  /** Bad answers in a row. */
  bad: number;
}

/** So many bad answers, and a replica gets no more requests. */
const FALL = 2;
const CHECK_MS = 100;

/**
 * Stands before replicas until the test is over. A request that was sent to one is sent to no other, since it is unknown what was
 * done; its client is answered 502 where no answer comes.
 */
export async function balancer(origins: readonly string[]): Promise<Balancer> {
  const replicas: Replica[] = origins.map((origin) => ({ origin, bad: 0 }));
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  let isOver = false;
  const server = createServer((incoming, response) => void pass(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  for (const replica of replicas) void watch(replica);
  onTestFinished(() => {
    isOver = true;
    agent.destroy();
    server.close();
    server.closeAllConnections();
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isUp: (origin) => replicas.some((one) => one.origin === origin && one.bad < FALL),
  };

  async function watch(replica: Replica): Promise<void> {
    while (!isOver) {
      const isReady = await fetch(`${replica.origin}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
      replica.bad = isReady ? 0 : replica.bad + 1;
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    }
  }

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const up = replicas.filter(({ bad }) => bad < FALL);
    const chosen = up[turn++ % up.length];
    if (!chosen) return void response.writeHead(503).end();
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const target = new URL(incoming.url ?? "/", chosen.origin);
    const { method = "GET", headers } = incoming;
    const outgoing = request(target, { method, agent, headers: { ...headers, host: target.host } });
    outgoing.once("response", (answer) => {
      const { connection: _, ...rest } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, rest);
      answer.once("error", () => response.destroy());
      answer.pipe(response);
    });
    outgoing.once("error", () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
    outgoing.end(Buffer.concat(chunks));
  }
}
