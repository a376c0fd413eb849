import { GatewayError } from "../../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import type { Change, OwnConfig } from "../../lib/config-file/changes.ts";
import { editFile, type MapEdit } from "../../lib/config-file/edit-json.ts";
import { readFileState } from "../../lib/files.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { summarizeDefinition } from "../../lib/terminal/definition.ts";
import { explainUntouchable } from "./client-files.ts";
import { addServeArgs, isJsonFile, type Launch, renderPaste } from "./client-forms.ts";
import type { ClientPlan } from "./plan.ts";

/** Change of the file of one client, by us or by the user. */
export interface Step {
  readonly plan: ClientPlan;
  readonly change?: Change;
  /** Reason why the user has to edit the file, and the entry to paste. */
  readonly byHand?: { readonly reason: string; readonly paste: string };
}

/** Collects the entries that are added to our own config. */
export function collectAdded(
  plans: readonly ClientPlan[],
  own: OwnConfig,
): Readonly<Record<string, JsonObject>> {
  const all = plans.flatMap(({ moves }) => moves.map(({ as, entry }) => [as, entry] as const));
  return Object.fromEntries(all.filter(([name]) => !Object.hasOwn(own.servers, name)));
}

/** Plans the change of each client. */
export async function planSteps(
  plans: readonly ClientPlan[],
  own: OwnConfig,
  launch: Launch,
): Promise<readonly Step[]> {
  const hasServers = own.names.size > 0 || plans.some(({ moves }) => moves.length > 0);
  return Promise.all(plans.map((plan) => planStep(plan, own, launch, hasServers)));
}

async function planStep(
  plan: ClientPlan,
  own: OwnConfig,
  launch: Launch,
  hasServers: boolean,
): Promise<Step> {
  const { from, moves } = plan;
  const put = createSelfEntry(plan, own, launch, hasServers);
  if (from.broken !== undefined || (moves.length === 0 && Object.keys(put).length === 0)) return { plan };
  const byHand = (reason: string): Step => {
    const names = new Set(moves.flatMap(({ config }) => listVariables(config)));
    return {
      plan,
      byHand: {
        reason,
        paste: renderPaste(from.client, from.file, addServeArgs(own.file, launch), [...names]),
      },
    };
  };
  const untouchable = isJsonFile(from.file)
    ? explainUntouchable(from)
    : "It is not JSON, and rewriting it would lose its comments and layout.";
  // An entry that the user pasted earlier stays as it is.
  if (untouchable !== undefined) return plan.self?.isOurs ? { plan } : byHand(untouchable);
  const before = await readFileState(from.target);
  if (!before || sha256Hex(before.bytes) !== from.hash) throw createChangedError(from.file);
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

function createChangedError(file: string): GatewayError {
  return new GatewayError("CONFIG_INVALID", `${file} has changed while it was read. Run the command again.`);
}

/** Creates the entry that starts toolpipe, by its name; an empty object if the existing one is complete. */
function createSelfEntry(
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
    ...Object.assign({}, ...moves.map(({ config }) => collectVariables(config))),
    ...(known as Record<string, string>),
  };
  const isComplete = Object.keys(env).length === Object.keys(known as JsonObject).length;
  if (self?.isOurs) {
    if (isComplete || !isJsonObject(before)) return {};
    return { [self.name]: { ...before, [form.envKey]: env } };
  }
  // An entry that starts toolpipe without a config would find no servers after the move.
  if (moves.length === 0 && !(self && hasServers)) return {};
  const isTaken = Object.hasOwn(map, "toolpipe") && !moves.some(({ name }) => name === "toolpipe");
  const name = self?.name ?? (isTaken ? "toolpipe-gateway" : "toolpipe");
  return { [name]: form.entry(addServeArgs(own.file, launch), env) };
}

/** Variables that every client passes on anyway. A client that expands no variables would pass the placeholder. */
const inherited =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|TMPDIR|TEMP|TMP|USERPROFILE|APPDATA|LOCALAPPDATA|SYSTEMROOT)$/i;

function listVariables(config: ServerConfig): readonly string[] {
  return summarizeDefinition(config).reads.filter((name) => !inherited.test(name));
}

/**
 * Collects the variables that a server needs, with the placeholders of the client's own file. Most clients pass only the
 * variables that an entry names, so the entry of toolpipe has to name them.
 */
export function collectVariables(config: ServerConfig): Record<string, string> {
  const written = Object.values(config.connection)
    .flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : [value]))
    .filter((value) => typeof value === "string")
    .join("\n");
  return Object.fromEntries(
    listVariables(config).flatMap((name) => {
      const forms = [
        `\\$\\{\\{\\s*(?:secrets|env)\\.${name}\\s*\\}\\}`,
        `\\$\\{(?:env:)?${name}(?::-[^{}]*)?\\}`,
        `\\{env:${name}\\}`,
        `\\$${name}\\b`,
      ];
      const placeholder = new RegExp(forms.join("|")).exec(written)?.[0];
      return placeholder === undefined ? [] : [[name, placeholder]];
    }),
  );
}
