import { access, realpath } from "node:fs/promises";
import { connect } from "node:net";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { errorKinds, findConfig } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { counted, shownLine, usageError } from "../lib/terminal/output.ts";
import { waitingLine } from "../lib/terminal/servers.ts";
import { RELOAD, type Reloaded } from "./announce.ts";
import { otherFiles } from "./anygpt-config.ts";
import { type Running, runningGateways } from "./running.ts";

/** A config may load plugins, and those may take their time. */
const LONGEST_RELOAD_MS = 30_000;

/** Has the gateways that run on a config read it anew. */
export const reload: Command = defineCommand({
  args: {
    all: { type: "boolean", description: "Every gateway, whatever config it runs on" },
    json: { type: "boolean", description: "Print JSON" },
    config: { ...configArgs.config, description: "Only the gateways on this config file" },
    preset: { ...configArgs.preset, description: "Only the gateways of this preset" },
  },
  async run({ all, json, config, preset }) {
    if (all && config !== undefined)
      throw usageError("The options --all and --config cannot be used together.");
    const file = all ? undefined : await configHere(config);
    const running = await runningGateways();
    const isMeant = await Promise.all(
      running.map(async (one) => (preset ?? one.preset) === one.preset && (await runsOn(one, file))),
    );
    const meant = running.filter((_, index) => isMeant[index]);
    const others = running.filter((_, index) => !isMeant[index]);
    const wasNamed = config !== undefined && meant.length > 0;
    const done = waitingLine(`Asking ${counted(meant.length, "gateway")} …`);
    const outcomes = await Promise.all(meant.map(ask)).finally(done);
    const gateways = meant.map((one, index) => ({ ...one, ...(outcomes[index] as Reloaded) }));
    process.stdout.write(
      json
        ? `${JSON.stringify({ gateways: gateways.map(publicFacts), others: others.map(publicFacts) })}\n`
        : describe(gateways, wasNamed ? [] : others, file),
    );
    return gateways.every(({ reloaded }) => reloaded) ? 0 : errorKinds.CONFIG_INVALID.exit;
  },
});

/** The config that is meant here; nothing where there is none. It is not read: that it is broken is for a gateway to say. */
async function configHere(config: string | undefined): Promise<string | undefined> {
  if (config === "") throw usageError("The option --config needs a value.");
  if (config !== undefined) return resolve(config);
  const ours = await findConfig(process.cwd());
  if (ours !== undefined) return ours;
  for (const file of otherFiles(process.cwd())) {
    const isThere = await access(file).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
}

async function runsOn({ config }: Running, file: string | undefined): Promise<boolean> {
  if (file === undefined) return true;
  return config !== null && (await real(config)) === (await real(file));
}

/** One file may be reached by several paths. */
function real(file: string): Promise<string> {
  return realpath(file).catch(() => file);
}

async function ask({ address }: Running): Promise<Reloaded> {
  const socket = connect(address, () => void socket.write(`${RELOAD}\n`));
  const timer = setTimeout(() => socket.destroy(), LONGEST_RELOAD_MS);
  try {
    return JSON.parse(await text(socket)) as Reloaded;
  } catch {
    return { reloaded: false, reason: "It did not answer." };
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

function publicFacts({ address: _address, host: _host, ...facts }: Running): object {
  return facts;
}

function describe(
  gateways: readonly (Running & Reloaded)[],
  others: readonly Running[],
  file: string | undefined,
): string {
  const lines = gateways.map((gateway) => {
    const who = nameOf(gateway, file === undefined);
    if (!gateway.reloaded) return `✗ ${who}: kept its old config: ${shownLine(gateway.reason)}`;
    const { servers, tools, unlisted } = gateway;
    const more = unlisted > 0 ? `; ${counted(unlisted, "server")} did not list any yet` : "";
    return `✓ ${who}: reloaded, ${counted(servers, "server")}, ${counted(tools, "tool")}${more}`;
  });
  if (lines.length === 0) lines.push(file ? `No gateway is running on ${file}.` : "No gateway is running.");
  if (others.length > 0) {
    lines.push("", "Not asked, because they run on something else (--all asks them, too):");
    lines.push(...others.map((other) => `  ${nameOf(other, true)}`));
  }
  return `${lines.join("\n")}\n`;
}

function nameOf({ pid, served, config, startedAt }: Running, withConfig: boolean): string {
  const facts = [
    served,
    ...(withConfig ? [config ?? "no config file"] : []),
    `started ${shownTime(startedAt)}`,
  ];
  return `pid ${pid} (${shownLine(facts.join(", "))})`;
}

function shownTime(iso: string): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const at = new Date(iso);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}
