import { type Gateway, GatewayError, type JsonObject } from "../../../core/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { withGateway } from "../context.ts";
import { costThrough } from "../cost.ts";
import { type Checked, checkServers, type Failures, hearFailures, timedConfig } from "../doctor/checkup.ts";
import { remedyOf } from "../remedy.ts";

/** What servers were found to cost, and which of them do not work from here. */
export interface Measured {
  readonly servers: ReadonlyMap<string, { readonly tools: number; readonly tokens: number }>;
  readonly failed: ReadonlyMap<string, string>;
  /** What an agent reads in place of them. */
  readonly through: number;
}

/** Starts servers as our own config would define them: only one that answers like this may be moved there. */
export async function measure(entries: Readonly<JsonObject>): Promise<Measured> {
  const failures = hearFailures();
  // Remembered under a config that is not written yet, it would be of no use to anyone.
  const options = { sources: { mcpServers: entries }, cache: { enabled: false } };
  return withGateway(timedConfig({ preset: anygpt, options }), (gateway) => measureIn(gateway, failures), [
    failures.plugin,
  ]);
}

async function measureIn(gateway: Gateway, failures: Failures): Promise<Measured> {
  const checked = await checkServers(gateway, failures);
  const failed = checked.filter(({ ok }) => !ok);
  return {
    servers: new Map(checked.map(({ status, tools, tokens }) => [status.name, { tools, tokens }])),
    failed: new Map(
      await Promise.all(failed.map(async (one) => [one.status.name, await reasonOf(one)] as const)),
    ),
    through: costThrough(gateway, anygpt),
  };
}

async function reasonOf({ status, error }: Checked): Promise<string> {
  const variables = GatewayError.is(error) ? error.data["variables"] : undefined;
  if (Array.isArray(variables)) return `It needs ${variables.join(", ")}, which is not set here.`;
  if (status.status === "needs-auth")
    return `It asks for a login: run "toolpipe login ${status.name}", and then this again.`;
  return `It does not work from here: ${(await remedyOf(status, error)).problem}`;
}
