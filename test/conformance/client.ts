import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { GatewayError, type JsonObject } from "../../core/mod.ts";
import type { Listing } from "../../core/services/servers.ts";
import { NEEDS_AUTH } from "../../core/services/servers.ts";
import type { HttpConnection } from "../../core/services/sources.ts";
import { connectHttp, type HttpUpstream } from "../../plugins/mcp/http/connect.ts";
import { authorize } from "../../plugins/mcp/oauth/login.ts";
import { sendWithInput } from "../../plugins/upstreams/send-call.ts";
import { makeArguments } from "./_client-arguments.ts";
import { headlessBrowser } from "./_client-browser.ts";
import { obligingClient } from "./_client-person.ts";
import { type Context, getOAuth } from "./_client-settings.ts";

// The conformance suite starts this once for each of its scenarios: it does with our connection to a server what a
// gateway and its user would do, and the scenario watches from the server's side.

const name = "scenario";
/** A login that does not help is not made again and again. */
const MAX_LOGINS = 2;
/** The suite starts all of its scenarios at once, on however small a machine. */
const startTimeoutMs = 60_000;
/** A server that answers no calls. */
const listOnly = new Set(["json-schema-ref-no-deref"]);

const { MCP_CONFORMANCE_SCENARIO: scenario = "", MCP_CONFORMANCE_CONTEXT: given = "{}" } = process.env;
const context = JSON.parse(given) as Context;
const connection: HttpConnection = { type: "http", url: String(process.argv.at(-1)), headers: {} };
const stateFolder = await mkdtemp(join(tmpdir(), "toolpipe-conformance-"));
const oauth = getOAuth(scenario, context);
const client = obligingClient();
const { capabilities } = client;

try {
  const upstream = await retryLogin(() =>
    connectHttp(connection, { name, stateFolder, oauth, startTimeoutMs, capabilities }),
  );
  await use(upstream).finally(() => upstream.close());
} catch (thrown) {
  process.stderr.write(`${inspect(thrown)}\n`);
  process.exitCode = 1;
} finally {
  await rm(stateFolder, { recursive: true, force: true });
}

/** Uses all that there is, once. */
async function use(upstream: HttpUpstream): Promise<void> {
  const listing = await retryLogin(() => upstream.list());
  if (listOnly.has(scenario)) return;
  for (const { tool, args } of planCalls(listing)) {
    const asking = { server: name, client, input: undefined };
    await retryLogin(() => sendWithInput((input) => upstream.call(tool, args, { client, input }), asking));
  }
  for (const { uri } of listing.resources) await upstream.request?.("resources/read", { uri: String(uri) });
  for (const prompt of listing.prompts) {
    await upstream.request?.("prompts/get", { name: String(prompt["name"]) });
  }
}

function planCalls({ tools }: Listing): { tool: string; args: JsonObject }[] {
  if (context.toolCalls) return context.toolCalls.map((call) => ({ tool: call.name, args: call.arguments }));
  return tools.map((tool) => ({ tool: tool.name, args: makeArguments(tool, tools) }));
}

/** Does something; where the server wants a login for it, logs in and does it again. */
async function retryLogin<T>(work: () => Promise<T>): Promise<T> {
  for (let logins = 0; ; logins++) {
    try {
      return await work();
    } catch (thrown) {
      if (!GatewayError.is(thrown) || thrown.code !== NEEDS_AUTH.code || logins === MAX_LOGINS) throw thrown;
    }
    await authorize(connection, {
      name,
      stateFolder,
      oauth,
      openBrowser: headlessBrowser,
      timeoutMs: 10_000,
    });
  }
}
