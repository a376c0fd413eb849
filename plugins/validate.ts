import {
  type Call,
  definePlugin,
  GatewayError,
  type MaybePromise,
  type PluginFactory,
  type Tool,
} from "../core/mod.ts";
import { getPolicy } from "../core/services/policy.ts";
import { type LinearPattern, patternCompiler } from "./lib/pattern.ts";
import { copySchema, type SchemaCopy } from "./lib/schema/copy.ts";
import { SCHEMA_TOO_COMPLEX, SCHEMA_UNSUPPORTED, scanSchema } from "./lib/schema/scan.ts";

export { SCHEMA_TOO_COMPLEX, SCHEMA_UNSUPPORTED } from "./lib/schema/scan.ts";

interface Compiled {
  readonly copy: SchemaCopy;
  readonly unchecked: readonly string[];
}

/**
 * Checks arguments against the tool's input schema before the tool sees them. A pattern that cannot be matched in
 * linear time is not checked, which is said once; by the judgement of the plugin `guard`, what may do harm is not called
 * at all then.
 */
export const validate: PluginFactory<"validate"> = definePlugin({
  name: "validate",
  uses: [],
  setup(gateway) {
    // A changed definition is a new object, so an outdated validator is never found, and goes with its tool.
    const compiled = new WeakMap<Tool, MaybePromise<Compiled>>();
    const told = new WeakSet<Tool>();
    return {
      validate(call) {
        const tool = call.tool as Tool;
        const known = compiledOf(tool);
        return known instanceof Promise
          ? known.then((made) => check(tool, made, call))
          : check(tool, known, call);
      },
    };

    function compiledOf(tool: Tool): MaybePromise<Compiled> {
      const known = compiled.get(tool) ?? compile(tool);
      compiled.set(tool, known);
      if (known instanceof Promise) known.then((made) => compiled.set(tool, made)).catch(() => {});
      return known;
    }

    function check(tool: Tool, { copy, unchecked }: Compiled, call: Call): void {
      if (unchecked.length > 0) consider(tool, unchecked);
      const { valid, fault } = orExplain(tool, () => copy.check(call.args));
      if (valid) return;
      const path = fault?.instanceLocation.replace(/^#\/?/, "") ?? "";
      const reason =
        fault?.keyword === "false" ? "It is not allowed here." : (fault?.error ?? "They do not fit.");
      throw new GatewayError(
        "INVALID_ARGUMENTS",
        `The arguments of "${tool.id}" are wrong${path && ` at "${path}"`}: ${reason}`,
        { data: { tool: tool.id, path } },
      );
    }

    function consider(tool: Tool, unchecked: readonly string[]): void {
      const { riskLevel } = getPolicy(tool);
      const patterns = unchecked.map((source) => JSON.stringify(source.slice(0, 100))).join(", ");
      const isJudged = tool.policy !== undefined;
      const error = new GatewayError(
        SCHEMA_UNSUPPORTED,
        `The input schema of "${tool.id}" has a pattern that cannot be checked in bounded time: ${patterns}.`,
        { data: { tool: tool.id } },
      );
      if (isJudged && (riskLevel === "high" || riskLevel === "destructive")) throw error;
      if (told.has(tool)) return;
      told.add(tool);
      gateway.report(error);
    }
  },
});

function compile(tool: Tool): MaybePromise<Compiled> {
  return orExplain(tool, () => {
    const scan = scanSchema(tool.inputSchema);
    if (scan.patterns.size === 0)
      return { copy: copySchema(tool.inputSchema, new Map(), scan), unchecked: [] };
    return patternCompiler().then((compiler) => {
      const known = new Map<string, LinearPattern>();
      for (const source of scan.patterns) {
        const pattern = compiler.compile(source);
        if (pattern) known.set(source, pattern);
      }
      const unchecked = [...scan.patterns].filter((source) => !known.has(source));
      return { copy: orExplain(tool, () => copySchema(tool.inputSchema, known, scan)), unchecked };
    });
  });
}

/** Does something with a schema, and says whose schema it was if that fails. */
function orExplain<T>(tool: Tool, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const { code } = GatewayError.is(cause) ? cause : { code: "" };
    const [kind, why] =
      code === SCHEMA_TOO_COMPLEX.code
        ? [SCHEMA_TOO_COMPLEX, "is too complex"]
        : code === SCHEMA_UNSUPPORTED.code
          ? [SCHEMA_UNSUPPORTED, "refers to another document, and none is ever fetched"]
          : (["INVALID_ARGUMENTS", "is faulty"] as const);
    throw new GatewayError(
      kind,
      `The input schema of "${tool.id}" ${why}, so its arguments cannot be checked.`,
      {
        cause,
        data: { tool: tool.id },
      },
    );
  }
}
