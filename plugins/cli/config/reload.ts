import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { errorKinds, findConfig } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { showWaiting } from "../../lib/servers.ts";
import { formatCount, toTerminalLine, usageError } from "../../lib/terminal/output.ts";
import { findReadable, otherFiles } from "../config-files.ts";
import { type ReloadOutcome, requestReload } from "../gateway-requests.ts";
import { listRunningGateways, type RunningGateway } from "../running-gateways.ts";

/** Asks the gateways that run on a config to read it again. */
export const command = defineCommand({
  args: {
    all: { type: "boolean", description: "Every gateway, on any config" },
    json: { type: "boolean", description: "Print JSON" },
    config: { ...configArgs.config, description: "Only the gateways on this config file" },
    preset: { ...configArgs.preset, description: "Only the gateways of this preset" },
  },
  async run({ all, json, config, preset }) {
    if (all && config !== undefined)
      throw usageError("The options --all and --config cannot be used together.");
    const file = all ? undefined : await findOwnConfig(config);
    const running = await listRunningGateways();
    const isChosen = await Promise.all(
      running.map(async (one) => (preset ?? one.preset) === one.preset && (await usesConfig(one, file))),
    );
    const chosen = running.filter((_, index) => isChosen[index]);
    const others = running.filter((_, index) => !isChosen[index]);
    const isNamed = config !== undefined && chosen.length > 0;
    const done = showWaiting(`Asking ${formatCount(chosen.length, "gateway")} …`);
    const outcomes = await Promise.all(chosen.map(requestReload)).finally(done);
    const gateways = chosen.map((one, index) => ({ ...one, ...(outcomes[index] as ReloadOutcome) }));
    process.stdout.write(
      json
        ? `${JSON.stringify({ gateways: gateways.map(toPublic), others: others.map(toPublic) })}\n`
        : describe(gateways, isNamed ? [] : others, file),
    );
    return gateways.every(({ reloaded }) => reloaded) ? 0 : errorKinds.CONFIG_INVALID.exit;
  },
});

/** Finds the config to reload. It is not read here: the gateway reports a broken one. */
async function findOwnConfig(config: string | undefined): Promise<string | undefined> {
  if (config === "") throw usageError("The option --config needs a value.");
  if (config !== undefined) return resolve(config);
  return (await findConfig(process.cwd())) ?? findReadable(otherFiles(process.cwd()));
}

async function usesConfig({ config }: RunningGateway, file: string | undefined): Promise<boolean> {
  if (file === undefined) return true;
  return config !== null && (await resolveLinks(config)) === (await resolveLinks(file));
}

/** Resolves links, since several paths may lead to one file. */
function resolveLinks(file: string): Promise<string> {
  return realpath(file).catch(() => file);
}

function toPublic({ address: _address, host: _host, ...shared }: RunningGateway): object {
  return shared;
}

function describe(
  gateways: readonly (RunningGateway & ReloadOutcome)[],
  others: readonly RunningGateway[],
  file: string | undefined,
): string {
  const lines = gateways.map((gateway) => {
    const who = formatGateway(gateway, file === undefined);
    if (!gateway.reloaded) return `✗ ${who}: kept its old config: ${toTerminalLine(gateway.reason)}`;
    const { servers, tools, unlisted } = gateway;
    const more = unlisted > 0 ? `; ${formatCount(unlisted, "server")} did not list any yet` : "";
    return `✓ ${who}: reloaded, ${formatCount(servers, "server")}, ${formatCount(tools, "tool")}${more}`;
  });
  if (lines.length === 0) lines.push(file ? `No gateway is running on ${file}.` : "No gateway is running.");
  if (others.length > 0) {
    lines.push("", "Not asked, because they run on something else (--all asks them, too):");
    lines.push(...others.map((other) => `  ${formatGateway(other, true)}`));
  }
  return `${lines.join("\n")}\n`;
}

function formatGateway({ pid, served, config, startedAt }: RunningGateway, withConfig: boolean): string {
  const facts = [
    served,
    ...(withConfig ? [config ?? "no config file"] : []),
    `started ${formatTime(startedAt)}`,
  ];
  return `pid ${pid} (${toTerminalLine(facts.join(", "))})`;
}

function formatTime(iso: string): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const at = new Date(iso);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}
