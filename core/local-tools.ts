import type { Call } from "./call.ts";
import { isPending } from "./call-hooks.ts";
import { GatewayError } from "./errors.ts";
import type { Gateway } from "./gateway.ts";
import type { MaybePromise } from "./hooks.ts";
import type { Plugin } from "./plugin.ts";
import type { JsonObject, Server, ToolDefinition, ToolResult } from "./tool.ts";

/** A tool that is a function of this process. */
export interface LocalTool extends ToolDefinition {
  /** Runs the tool. The context has the call, for its signal, its progress, and as parent of inner calls. */
  run(
    args: JsonObject,
    context: { readonly gateway: Gateway; readonly call: Call },
  ): MaybePromise<ToolResult>;
}

/** Local tools, or a function that creates them when their plugin is set up. */
export type LocalTools = readonly LocalTool[] | ((gateway: Gateway) => readonly LocalTool[]);

/** Creates a plugin that offers functions as the tools of a server. They pass the same stages as any other tool. */
export function localTools<const Name extends string>(
  name: Name,
  server: Server,
  given: LocalTools,
): Plugin<Name> {
  return {
    name,
    order: "post",
    setup(gateway) {
      const tools = typeof given === "function" ? given(gateway) : given;
      // The first of a name counts, as in the catalog.
      const byName = new Map(tools.toReversed().map((tool) => [tool.name, tool]));
      return {
        async ready() {
          const definitions = tools.map(({ run: _, ...definition }) => definition);
          const { rejected } = await gateway.catalog.replace(server, definitions);
          for (const tool of rejected) {
            gateway.report(
              new GatewayError(
                "PLUGIN_INVALID",
                `The plugin "${name}" has an invalid tool "${tool.name}": ${tool.reason}.`,
              ),
            );
          }
        },
        execute(call, next) {
          const tool = call.tool?.server === server.id ? byName.get(call.tool.name) : undefined;
          if (!tool) return next();
          const answer = tool.run(call.args, { gateway, call });
          if (!isPending(answer)) {
            call.result = answer;
            return;
          }
          return Promise.resolve(answer).then((result) => {
            call.result = result;
          });
        },
      };
    },
  };
}
