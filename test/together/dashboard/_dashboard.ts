import { onTestFinished } from "vitest";
import { definePreset, localTools, type Plugin, textResult } from "../../../core/mod.ts";
import { approvals } from "../../../plugins/approvals/mod.ts";
import { type DashboardOptions, dashboard } from "../../../plugins/dashboard/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { mcp } from "../../../plugins/mcp/mod.ts";
import { overload } from "../../../plugins/overload.ts";
import { type HttpServer, serveHttp } from "../../../plugins/serve/mod.ts";
import { sources } from "../../../plugins/sources/mod.ts";
import { state } from "../../../plugins/state/mod.ts";
import { upstreams } from "../../../plugins/upstreams/mod.ts";
import { createMachine, mcpServers } from "../../plugins/sources/_machine.ts";
import { faulty } from "../../support/stdio-servers.ts";

/** Markup of an attacker. */
export const markup = '<img src=x onerror="document.title=`owned`"><script>document.title="owned"</script>';

/** A gateway with a dashboard, and what goes on behind it. */
export interface Opened {
  readonly server: HttpServer;
  /** The URL of the page. */
  readonly url: string;
  /** Ends the oldest call of `local:wait`. */
  release(): void;
}

/**
 * Serves a gateway whose project defines two servers without approval, one server that does not start, and
 * tools of its own, until the test ends.
 */
export async function openDashboard(
  plugins: readonly Plugin[] = [],
  options: DashboardOptions = { decideWithoutTokens: true },
): Promise<Opened> {
  const waiting: (() => void)[] = [];
  const object = { type: "object" };
  const { command, args } = faulty("ok");
  const machine = await createMachine({
    "project/.mcp.json": mcpServers({
      files: { command, args },
      other: { command: `evil ${markup}`, args: ["--token", "canary"] },
    }),
  });
  const server = await serveHttp({
    preset: definePreset({
      name: "meta",
      plugins: [
        state({ store: memoryStore() }),
        approvals(),
        sources({
          machine,
          clients: ["claude-code"],
          mcpServers: { broken: { command: "no-such-program-anywhere" } },
        }),
        mcp(),
        upstreams(),
      ],
      tools: [{ name: "find", description: "Finds.", inputSchema: object, run: () => textResult("") }],
    }),
    plugins: [
      dashboard(options),
      // A machine that does much else at once is late.
      overload({ maxLagMs: 60_000 }),
      ...plugins,
      localTools("local", { id: "local", title: markup }, [
        {
          name: "ok",
          description: "words ".repeat(300),
          inputSchema: object,
          run: () => textResult("canary"),
        },
        { name: "fail", inputSchema: object, run: () => ({ content: [], isError: true }) },
        {
          name: "wait",
          inputSchema: object,
          run: () => new Promise((resolve) => waiting.push(() => resolve(textResult("")))),
        },
      ]),
    ],
  });
  onTestFinished(async () => {
    for (const end of waiting) end();
    await server.close({ drainMs: 0 });
  });
  await server.gateway.services.servers?.settled();
  return { server, url: new URL("/", server.url).href, release: () => waiting.shift()?.() };
}
