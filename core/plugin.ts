import * as v from "valibot";
import { type ErrorKind, GatewayError } from "./errors.ts";
import type { PluginGateway } from "./gateway.ts";
import type { Hooks, MaybePromise } from "./hooks.ts";
import { describeIssue, describePath } from "./issues.ts";
import type { CommandTable } from "./services/command.ts";
import type { DriverKind, Drivers, ServiceName, Use } from "./services/mod.ts";

/** Position of a plugin's hooks: before or after those in the order of the list. */
export type PluginOrder = "pre" | "post";

/** One capability of the gateway, with hooks in the pipeline. */
export interface Plugin<Name extends string = string, Options = never> {
  readonly name: Name;
  readonly order?: PluginOrder | undefined;
  /**
   * Services of other plugins: `state` is required, `cache?` optional. Their providers are set up first. A plugin without
   * this list, which {@link definePlugin} never creates, has access to all services.
   */
  readonly uses?: readonly string[] | undefined;
  /** Services that the plugin provides with `gateway.provide`. */
  readonly provides?: readonly string[] | undefined;
  /**
   * Top-level keys of a config that are options of this plugin. A key that is the plugin's own name holds all of its
   * options.
   */
  readonly keys?: readonly string[] | undefined;
  /** Whether a string may replace the options; it is then the option of the plugin's own name. */
  readonly takesString?: boolean | undefined;
  /**
   * Prepares the plugin and returns its hooks. Resources that it opens are closed by its `close` hook. A source adds its
   * tools in `ready`: only then can every plugin enrich them.
   */
  setup(gateway: PluginGateway): MaybePromise<Partial<Hooks> | void>;
  /** Error kinds that the plugin adds, by code. */
  readonly errors?: Readonly<Record<string, ErrorKind>> | undefined;
  /** The drivers that it brings, by kind and name. They are there before any plugin is set up. */
  readonly drivers?: DriverTable | undefined;
  /** Commands of the plugin, each loaded when it runs. */
  readonly commands?: CommandTable | undefined;
  /** The schema of its options, for help and documentation. */
  readonly options?: v.GenericSchema | undefined;
  /** Returns a copy with some options replaced; absent if the plugin takes none. */
  configure?(overrides: Partial<Options>): Plugin<Name, Options>;
}

/** Drivers by kind and name. */
export type DriverTable = { readonly [K in DriverKind]?: Readonly<Record<string, Drivers[K]>> };

/** The argument of {@link definePlugin}. */
export interface PluginDefinition<Name extends string, Input, Output, U extends Use = never> {
  readonly name: Name;
  /** Checks the options and holds their defaults. */
  readonly options?: v.GenericSchema<Input, Output>;
  readonly order?: PluginOrder;
  readonly uses?: readonly U[];
  readonly provides?: readonly ServiceName[];
  readonly keys?: readonly string[];
  readonly takesString?: boolean;
  /** Error kinds that the plugin adds. The key of each is its code. */
  readonly errors?: Readonly<Record<string, ErrorKind>>;
  /** Drivers that need nothing of the gateway; others are registered in `setup`. */
  readonly drivers?: DriverTable;
  readonly commands?: CommandTable;
  setup(gateway: PluginGateway<U>, options: Output): MaybePromise<Partial<Hooks> | void>;
}

/** Creates a plugin from its options, which may be left out if all have defaults. */
export interface PluginFactory<Name extends string = string, Input = Record<never, never>, Output = unknown> {
  (
    ...options: Record<never, never> extends Input ? [options?: Input] : [options: Input]
  ): Plugin<Name, Input>;
  readonly pluginName: Name;
  readonly options: v.GenericSchema<Input, Output>;
  readonly keys: readonly string[];
  readonly takesString: boolean;
  readonly provides: readonly string[];
  readonly errors: Readonly<Record<string, ErrorKind>>;
  readonly commands: CommandTable;
}

/**
 * Defines a plugin. Options are checked when the plugin is created; an error names the plugin and the option.
 *
 * @example
 * ```ts
 * import { definePlugin, GatewayError } from "toolpipe";
 *
 * export const weekdays = definePlugin({
 *   name: "weekdays",
 *   setup: () => ({
 *     policy(call) {
 *       if ([0, 6].includes(new Date().getDay())) throw new GatewayError("DENIED", `"${call.toolId}" rests at weekends.`);
 *     },
 *   }),
 * });
 * ```
 */
export function definePlugin<
  const Name extends string,
  Input = Record<never, never>,
  Output = Input,
  const U extends Use = never,
>(definition: PluginDefinition<Name, Input, Output, U>): PluginFactory<Name, Input, Output> {
  const {
    name,
    order,
    uses = [],
    provides,
    keys,
    takesString,
    errors,
    drivers,
    commands,
    setup,
  } = definition;
  if (typeof name !== "string" || name === "")
    throw new GatewayError("PLUGIN_INVALID", "A plugin needs a name.");
  if (typeof setup !== "function")
    throw new GatewayError("PLUGIN_INVALID", `The plugin "${name}" has no setup function.`);
  checkErrors(name, errors);
  const schema = (definition.options ?? v.strictObject({})) as v.GenericSchema<Input, Output>;

  const make = (given: unknown = {}): Plugin<Name, Input> => {
    const parsed = v.safeParse(schema, given);
    if (!parsed.success) {
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugin "${name}" has a wrong option: ${describeIssue(parsed.issues[0], "its options")}.`,
        {
          data: { plugin: name, option: describePath(parsed.issues[0]) },
        },
      );
    }
    return {
      name,
      order,
      uses,
      provides,
      keys,
      takesString,
      errors,
      drivers,
      commands,
      options: schema as v.GenericSchema,
      setup: (gateway) => setup.call(definition, gateway as PluginGateway<U>, parsed.output),
      configure: (overrides) => make({ ...(given as object), ...overrides }),
    };
  };
  const declared = {
    keys: keys ?? [],
    takesString: takesString ?? false,
    provides: provides ?? [],
    errors: errors ?? {},
    commands: commands ?? {},
  };
  return Object.assign(make, { pluginName: name, options: schema, ...declared }) as PluginFactory<
    Name,
    Input,
    Output
  >;
}

function checkErrors(plugin: string, errors: Readonly<Record<string, ErrorKind>> = {}): void {
  for (const [key, kind] of Object.entries(errors)) {
    // Not every caller is type-checked.
    const code = (kind as ErrorKind | undefined)?.code;
    if (code === key) continue;
    throw new GatewayError(
      "PLUGIN_INVALID",
      `The plugin "${plugin}" declares the error code "${code}" under the key "${key}". Use the code as the key.`,
      { data: { plugin } },
    );
  }
}

/** Returns whether a value is a plugin. */
export function isPlugin(value: unknown): value is Plugin {
  const plugin = value as Partial<Plugin> | null | undefined;
  return typeof plugin === "object" && typeof plugin?.name === "string" && typeof plugin.setup === "function";
}

/** Returns whether a value is a plugin factory. */
export function isPluginFactory(value: unknown): value is PluginFactory {
  return typeof value === "function" && typeof (value as Partial<PluginFactory>).pluginName === "string";
}
