import { type Call, definePlugin, GatewayError, type MaybePromise, type Tool } from "../core/mod.ts";
import { getPolicy } from "../core/services/policy.ts";
import { createPatternCompiler, type LinearPattern } from "./lib/pattern.ts";
import { copySchema, type SchemaCopy } from "./lib/schema/copy.ts";
import { SCHEMA_TOO_COMPLEX, SCHEMA_UNSUPPORTED, scanSchema } from "./lib/schema/schema.ts";

export { SCHEMA_TOO_COMPLEX, SCHEMA_UNSUPPORTED } from "./lib/schema/schema.ts";

interface Compiled {
  readonly copy: SchemaCopy;
  readonly unchecked: readonly string[];
}

/**
 * Checks arguments against the tool's input schema before the tool sees them. A pattern that cannot be matched in
 * linear time is not checked, which is reported once; a tool that the plugin `guard` rates as high-risk or destructive is
 * not called then.
 */
export const validate = definePlugin({
  name: "validate",
  uses: [],
  errors: { SCHEMA_TOO_COMPLEX, SCHEMA_UNSUPPORTED },
  setup(gateway) {
    // A changed definition is a new object, so an outdated validator is never found, and goes with its tool.
    const compiled = new WeakMap<Tool, MaybePromise<Compiled>>();
    const reported = new WeakSet<Tool>();
    return {
      validate(call) {
        const tool = call.tool as Tool;
        const known = getCompiled(tool);
        return known instanceof Promise
          ? known.then((made) => check(tool, made, call))
          : check(tool, known, call);
      },
    };

    function getCompiled(tool: Tool): MaybePromise<Compiled> {
      const known = compiled.get(tool) ?? compile(tool);
      compiled.set(tool, known);
      if (known instanceof Promise) known.then((made) => compiled.set(tool, made)).catch(() => {});
      return known;
    }

    function check(tool: Tool, { copy, unchecked }: Compiled, call: Call): void {
      if (unchecked.length > 0) checkRisk(tool, unchecked);
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

    function checkRisk(tool: Tool, unchecked: readonly string[]): void {
      const { riskLevel } = getPolicy(tool);
      const patterns = unchecked.map((source) => JSON.stringify(source.slice(0, 100))).join(", ");
      const isJudged = tool.policy !== undefined;
      const error = new GatewayError(
        SCHEMA_UNSUPPORTED,
        `The input schema of "${tool.id}" has a pattern that cannot be checked in bounded time: ${patterns}.`,
        { data: { tool: tool.id } },
      );
      if (isJudged && (riskLevel === "high" || riskLevel === "destructive")) throw error;
      if (reported.has(tool)) return;
      reported.add(tool);
      gateway.report(error);
    }
  },
});

function compile(tool: Tool): MaybePromise<Compiled> {
  return orExplain(tool, () => {
    const sources = scanSchema(tool.inputSchema);
    if (sources.size === 0) return { copy: copySchema(tool.inputSchema, new Map(), sources), unchecked: [] };
    return createPatternCompiler().then((compiler) => {
      const known = new Map<string, LinearPattern>();
      for (const source of sources) {
        const pattern = compiler.compile(source);
        if (pattern) known.set(source, pattern);
      }
      const unchecked = [...sources].filter((source) => !known.has(source));
      return { copy: orExplain(tool, () => copySchema(tool.inputSchema, known, sources)), unchecked };
    });
  });
}

/** Runs work on a schema. If it throws, the error names the tool of the schema. */
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
