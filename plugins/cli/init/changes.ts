import { GatewayError } from "../../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import { editFile, type MapEdit } from "../../lib/config-file/edit-json.ts";
import { type Change, hashOf } from "../../lib/config-file/journal.ts";
import type { OwnConfig } from "../../lib/config-file/own-config.ts";
import { readState } from "../../lib/files.ts";
import { shownDefinition } from "../../lib/terminal/definition.ts";
import { whyUntouchable } from "./client-files.ts";
import { isJsonFile, pasteFor } from "./client-forms.ts";
import { type Launch, serveWith } from "./launch.ts";
import type { ClientPlan } from "./plan.ts";

/** What is to be done for one client: a change of its file, or what a person does in it. */
export interface Step {
  readonly plan: ClientPlan;
  readonly change?: Change;
  /** Why the file is not changed by us, and what to write there. */
  readonly byHand?: { readonly reason: string; readonly paste: string };
}

/** The entries that come into our own config. */
export function addedBy(plans: readonly ClientPlan[], own: OwnConfig): Readonly<Record<string, JsonObject>> {
  const all = plans.flatMap(({ moves }) => moves.map(({ as, entry }) => [as, entry] as const));
  return Object.fromEntries(all.filter(([name]) => !Object.hasOwn(own.servers, name)));
}

/** What is to be done for each client. */
export async function stepsFor(
  plans: readonly ClientPlan[],
  own: OwnConfig,
  launch: Launch,
): Promise<readonly Step[]> {
  const hasServers = own.names.size > 0 || plans.some(({ moves }) => moves.length > 0);
  return Promise.all(plans.map((plan) => stepFor(plan, own, launch, hasServers)));
}

async function stepFor(plan: ClientPlan, own: OwnConfig, launch: Launch, hasServers: boolean): Promise<Step> {
  const { from, moves } = plan;
  const put = putFor(plan, own, launch, hasServers);
  if (from.broken !== undefined || (moves.length === 0 && Object.keys(put).length === 0)) return { plan };
  const byHand = (reason: string): Step => {
    const names = new Set(moves.flatMap(({ config }) => readsOf(config)));
    return {
      plan,
      byHand: { reason, paste: pasteFor(from.client, from.file, serveWith(own.file, launch), [...names]) },
    };
  };
  const untouchable = isJsonFile(from.file)
    ? whyUntouchable(from)
    : "It is not JSON: its comments and layout would be lost.";
  // Done by hand already: only what is served has changed.
  if (untouchable !== undefined) return plan.self?.isOurs ? { plan } : byHand(untouchable);
  const before = await readState(from.target);
  if (!before || hashOf(before.bytes) !== from.hash) throw changedMeanwhile(from.file);
  const edit: MapEdit = { key: from.form.key, remove: moves.map(({ name }) => name), put };
  try {
    const bytes = Buffer.from(await editFile(from.file, before.bytes, edit));
    return {
      plan,
      change: { file: from.target, client: from.client, before, after: { ...before, bytes }, edit },
    };
  } catch (thrown) {
    if (GatewayError.is(thrown)) return byHand(thrown.message);
    throw thrown;
  }
}

function changedMeanwhile(file: string): GatewayError {
  return new GatewayError("CONFIG_INVALID", `${file} has changed while it was looked at. Run this again.`);
}

/** The entry that starts toolpipe, by its name; none where the one that is there will do. */
function putFor(
  { from, moves, self }: ClientPlan,
  own: OwnConfig,
  launch: Launch,
  hasServers: boolean,
): Readonly<Record<string, JsonObject>> {
  const { form, data } = from;
  const map = isJsonObject(data[form.key]) ? (data[form.key] as JsonObject) : {};
  const before = self && map[self.name];
  const known = isJsonObject(before) && isJsonObject(before[form.envKey]) ? before[form.envKey] : {};
  const env = {
    ...Object.assign({}, ...moves.map(({ config }) => variablesOf(config))),
    ...(known as Record<string, string>),
  };
  const isComplete = Object.keys(env).length === Object.keys(known as JsonObject).length;
  if (self?.isOurs) {
    if (isComplete || !isJsonObject(before)) return {};
    return { [self.name]: { ...before, [form.envKey]: env } };
  }
  // One that starts toolpipe without a config would from now on find nothing to serve.
  if (moves.length === 0 && !(self && hasServers)) return {};
  const isTaken = Object.hasOwn(map, "toolpipe") && !moves.some(({ name }) => name === "toolpipe");
  const name = self?.name ?? (isTaken ? "toolpipe-gateway" : "toolpipe");
  return { [name]: form.entry(serveWith(own.file, launch), env) };
}

/** Every client gives these to what it starts, and one that fills in no variables would give nonsense for them. */
const given =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|TMPDIR|TEMP|TMP|USERPROFILE|APPDATA|LOCALAPPDATA|SYSTEMROOT)$/i;

function readsOf(config: ServerConfig): readonly string[] {
  return shownDefinition(config).reads.filter((name) => !given.test(name));
}

/**
 * Most clients give a server the variables that its entry names and few others, and so they do with toolpipe. Each
 * variable that a server needs is passed on, in the words in which the client's own file asked for it.
 */
export function variablesOf(config: ServerConfig): Record<string, string> {
  const written = Object.values(config.connection)
    .flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : [value]))
    .filter((value) => typeof value === "string")
    .join("\n");
  return Object.fromEntries(
    readsOf(config).flatMap((name) => {
      const forms = [
        `\\$\\{\\{\\s*(?:secrets|env)\\.${name}\\s*\\}\\}`,
        `\\$\\{(?:env:)?${name}(?::-[^{}]*)?\\}`,
        `\\{env:${name}\\}`,
        `\\$${name}\\b`,
      ];
      const asked = new RegExp(forms.join("|")).exec(written)?.[0];
      return asked === undefined ? [] : [[name, asked]];
    }),
  );
}
