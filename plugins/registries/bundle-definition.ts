// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are variables of a definition, which are filled in when it is used
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { objectAt } from "../../core/services/sources.ts";
import type { Answers, ServerNeed } from "../lib/server-entry/server-json.ts";
import type { Bundle } from "./bundle.ts";
import { type InstallOptions, type InstallPlan, planWith, refuseDeleted, refused } from "./install.ts";

const VARIABLE = /\$\{([^{}]*)\}/g;
/** Folders of the user: the names that bundles use, and ours. */
const PLACES: Readonly<Record<string, string>> = {
  HOME: "${userHome}",
  DESKTOP: "${userHome}/Desktop",
  DOCUMENTS: "${userHome}/Documents",
  DOWNLOADS: "${userHome}/Downloads",
  "/": "${/}",
  pathSeparator: "${pathSeparator}",
};

/** Plans how a bundle is added: its manifest says how it is started, and which settings it has. */
export function planBundle(
  entry: RegistryEntry,
  { folder, manifest }: Bundle,
  options: InstallOptions = {},
  platform: string = process.platform,
): InstallPlan {
  refuseDeleted(entry);
  return planWith(entry, "mcpb", options, (answers) => {
    const config = objectAt(manifest, "server", "mcp_config");
    const own = objectAt(config, "platform_overrides", platform);
    const command = own["command"] ?? config["command"];
    const args = own["args"] ?? config["args"] ?? [];
    const env = { ...objectAt(config, "env"), ...objectAt(own, "env") };
    if (typeof command !== "string" || command === "" || !Array.isArray(args))
      throw refused(entry, "its bundle does not say how it is started");
    const values = valuesOf(entry, manifest, folder, answers);
    const fill = (text: unknown): readonly string[] => filledIn(entry, String(text), folder, values);
    const [program] = fill(command);
    // A path to a program of the bundle is relative to its folder.
    const isOwnFile = program !== undefined && /[\\/]/.test(command) && !command.includes("${");
    return {
      command: isOwnFile ? join(folder, command) : program,
      args: args.flatMap(fill),
      env: Object.fromEntries(
        Object.entries(env).flatMap(([name, text]) => {
          const filled = fill(text);
          return filled.length === 0 ? [] : [[name, filled.join(",")]];
        }),
      ),
    };
  });
}

type Values = ReadonlyMap<string, readonly string[]>;

function valuesOf(entry: RegistryEntry, manifest: JsonObject, folder: string, answers: Answers): Values {
  const values = new Map<string, readonly string[]>();
  for (const [name, input] of Object.entries(objectAt(manifest, "user_config"))) {
    if (!isJsonObject(input) || !/^[\w.-]+$/.test(name)) continue;
    const { description, title, required, sensitive, default: otherwise } = input;
    const defaults = [otherwise].flat().filter((one) => one !== undefined && one !== null);
    const texts = defaults.flatMap((one) => filledIn(entry, String(one), folder, new Map()));
    const about = [description, title].find((one) => typeof one === "string");
    const need: ServerNeed = {
      kind: "argument",
      name,
      variable: answers.variable("argument", name),
      description: about as string | undefined,
      isRequired: required === true,
      isSecret: sensitive === true,
      default: texts.length > 0 ? texts.join(",") : undefined,
    };
    const given = answers.given(need);
    if (given !== undefined) values.set(name, [given]);
    else if (texts.length > 0) values.set(name, texts);
    else if (need.isRequired) values.set(name, [`\${${need.variable}}`]);
    else values.set(name, []);
  }
  return values;
}

/** Fills in variables. A string that is one variable alone may become several values, or none. */
function filledIn(entry: RegistryEntry, text: string, folder: string, values: Values): readonly string[] {
  const settingOf = (name: string): readonly string[] => {
    if (name === "__dirname") return [folder];
    if (Object.hasOwn(PLACES, name)) return [PLACES[name] as string];
    const known = name.startsWith("user_config.") ? values.get(name.slice("user_config.".length)) : undefined;
    // The string of a publisher must not read variables of the user.
    if (!known) throw refused(entry, "its bundle reads a variable that it does not declare");
    return known;
  };
  const whole = /^\$\{([^{}]*)\}$/.exec(text)?.[1];
  if (whole !== undefined) return settingOf(whole);
  return [text.replace(VARIABLE, (_, name: string) => settingOf(name).join(","))];
}
