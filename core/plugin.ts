import * as v from "valibot";
import { type ErrorKind, GatewayError } from "./errors.ts";
import type { PluginGateway } from "./gateway.ts";
import type { Hooks, MaybePromise } from "./hooks.ts";
import { describeIssue } from "./issues.ts";
import type { CommandTable } from "./services/command.ts";
import type { ServiceName, Use } from "./services/mod.ts";

/** When a plugin's hooks run among the others': first, in the order of the list, or last. */
export type PluginOrder = "pre" | "post";

/** One capability. Its hooks take part in the pipeline; its drivers, if any, are its own. */
export interface Plugin<Name extends string = string, Options = never> {
  readonly name: Name;
  readonly order?: PluginOrder | undefined;
  /**
   * Services of other plugins: `state` must be there, `cache?` may be. Their providers are set up first. A plugin that
   * declares none, as {@link definePlugin} never makes one, sees all services.
   */
  readonly uses?: readonly string[] | undefined;
  /** Services that it provides with `gateway.provide`. */
  readonly provides?: readonly string[] | undefined;
  /**
   * Top-level keys of a config that are options of this plugin, for what people write most. A key that is
   * the plugin's own name holds all of its options.
   */
  readonly keys?: readonly string[] | undefined;
  /** Whether a text may stand for all of its options, which is then the option of the plugin's own name. */
  readonly takesText?: boolean | undefined;
  /**
   * Prepares the plugin and returns its hooks. What it opens here, its `close` hook closes. A source adds
   * its tools in `ready`: only then can every plugin enrich them.
   */
  setup(gateway: PluginGateway): MaybePromise<Partial<Hooks> | void>;
  /** The error kinds that it declares, by code. */
  readonly errors?: Readonly<Record<string, ErrorKind>> | undefined;
  /** The commands that it brings, each loaded when it is run. */
  readonly commands?: CommandTable | undefined;
  /** The schema of its options, for help and documentation. */
  readonly options?: v.GenericSchema | undefined;
  /** The same plugin with some options replaced; absent if it takes none. */
  configure?(overrides: Partial<Options>): Plugin<Name, Options>;
}

/** The argument of {@link definePlugin}. */
export interface PluginDefinition<Name extends string, Input, Output, U extends Use = never> {
  readonly name: Name;
  /** Checks the options and holds their defaults. */
  readonly options?: v.GenericSchema<Input, Output>;
  readonly order?: PluginOrder;
  readonly uses?: readonly U[];
  readonly provides?: readonly ServiceName[];
  readonly keys?: readonly string[];
  readonly takesText?: boolean;
  readonly errors?: Readonly<Record<string, ErrorKind>>;
  readonly commands?: CommandTable;
  setup(gateway: PluginGateway<U>, options: Output): MaybePromise<Partial<Hooks> | void>;
}

/** Makes a plugin from its options; they may be left out where all of them have defaults. */
export interface PluginFactory<Name extends string = string, Input = Record<never, never>, Output = unknown> {
  (
    ...options: Record<never, never> extends Input ? [options?: Input] : [options: Input]
  ): Plugin<Name, Input>;
  readonly pluginName: Name;
  readonly options: v.GenericSchema<Input, Output>;
  readonly keys: readonly string[];
  readonly takesText: boolean;
  readonly provides: readonly string[];
  readonly errors: Readonly<Record<string, ErrorKind>>;
  readonly commands: CommandTable;
}

/**
 * Defines a plugin. Options are checked when the plugin is made, and an error names the plugin and the option.
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
  const { name, order, uses = [], provides, keys, takesText, errors, commands, setup } = definition;
  if (typeof name !== "string" || name === "")
    throw new GatewayError("PLUGIN_INVALID", "A plugin needs a name.");
  if (typeof setup !== "function")
    throw new GatewayError("PLUGIN_INVALID", `The plugin "${name}" has no setup function.`);
  const schema = (definition.options ?? v.strictObject({})) as v.GenericSchema<Input, Output>;

  const make = (given: unknown = {}): Plugin<Name, Input> => {
    const parsed = v.safeParse(schema, given);
    if (!parsed.success) {
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugin "${name}" has a wrong option: ${describeIssue(parsed.issues[0], "its options")}.`,
        {
          data: { plugin: name },
        },
      );
    }
    return {
      name,
      order,
      uses,
      provides,
      keys,
      takesText,
      errors,
      commands,
      options: schema as v.GenericSchema,
      setup: (gateway) => setup.call(definition, gateway as PluginGateway<U>, parsed.output),
      configure: (overrides) => make({ ...(given as object), ...overrides }),
    };
  };
  const declared = {
    keys: keys ?? [],
    takesText: takesText ?? false,
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

/** Whether a value can be used as a plugin. */
export function isPlugin(value: unknown): value is Plugin {
  const plugin = value as Partial<Plugin> | null | undefined;
  return typeof plugin === "object" && typeof plugin?.name === "string" && typeof plugin.setup === "function";
}

/** Whether a value makes plugins. */
export function isPluginFactory(value: unknown): value is PluginFactory {
  return typeof value === "function" && typeof (value as Partial<PluginFactory>).pluginName === "string";
}
