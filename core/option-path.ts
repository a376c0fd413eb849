import type { Configurable } from "./assemble.ts";
import type { Config } from "./config.ts";
import { GatewayError } from "./errors.ts";
import { placeStart } from "./issues.ts";
import { isJsonObject } from "./json.ts";

interface Places {
  readonly known: readonly Configurable[];
  readonly config: Config;
  /** Top-level keys that plugins claim. */
  readonly extra: Readonly<Record<string, unknown>>;
  toFilePath(path: string): string;
}

/** Makes an error of a config name each option by its path in the file, where it can be changed. */
export function placeOption(thrown: unknown, places: Places): unknown {
  if (!GatewayError.is(thrown)) return thrown;
  const { kind, message, data } = thrown;
  const { plugin, option, hint } = data;
  const { toFilePath } = places;
  const placed =
    typeof plugin === "string" && typeof option === "string"
      ? message.replace(`: ${option}: `, `: ${toFilePath(findOption(plugin, option, places))}: `)
      : placeStart(message, toFilePath).replace(`"${hint}"?`, `"${toFilePath(String(hint))}"?`);
  return placed === message ? thrown : new GatewayError(kind, placed, { cause: thrown, data });
}

/** Finds where the option of a plugin is written: among its options, or under a key of the config that it claims. */
function findOption(plugin: string, option: string, { known, config, extra }: Places): string {
  const [first = ""] = option.split(".");
  const { [plugin]: given = {} } = config.options ?? {};
  if (!Object.hasOwn(given, first)) {
    const { keys = [] } = known.find(({ name }) => name === plugin) ?? {};
    if (keys.includes(first) && Object.hasOwn(extra, first)) return option;
    if (isJsonObject(extra[plugin])) return `${plugin}.${option}`;
  }
  return `options.${plugin}.${option}`;
}
