import {
  type Call,
  type Gateway,
  GatewayError,
  type Hooks,
  type MaybePromise,
  type Tool,
} from "../../core/mod.ts";
import {
  type HeldTool,
  TOOL_CHANGED,
  TOOL_PENDING,
  type ToolGate,
  type ToolJudge,
} from "../../core/services/approvals.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { quoteForShell } from "../lib/terminal/output.ts";

/** Holds tools back that wait for approval. */
interface ToolGates {
  add(judge: ToolJudge): ToolGate;
  readonly hooks: Pick<Hooks, "tool:discover" | "tool:disabled">;
}

interface Held extends HeldTool {
  readonly judge: ToolJudge;
}

/** Creates the gates of a gateway. */
export function createToolGates({ catalog }: Gateway): ToolGates {
  const judges: ToolJudge[] = [];
  // By the tool object: another one takes its place in the catalog when the tool is released.
  const held = new WeakMap<Tool, Held>();

  const hold = (tool: Tool, judge: ToolJudge, found: Omit<HeldTool, "tool">): void => {
    held.set(tool, { ...found, tool, judge });
    tool.enabled = false;
    tool.isHeld = true;
    tool.disabledBecause = found.reason;
  };

  /** Asks the judges in order. Most answer at once, and a catalog holds thousands of tools: no promise for those. */
  const discover = (tool: Tool, first = 0): MaybePromise<void> => {
    for (let index = first; index < judges.length; index++) {
      const judge = judges[index] as ToolJudge;
      const found = judge(tool, false);
      if (found instanceof Promise) {
        return found.then((late) => (late ? hold(tool, judge, late) : discover(tool, index + 1)));
      }
      if (found) return hold(tool, judge, found);
    }
  };

  /** Tools in the catalog are frozen, so the tools of the server enter it again and are judged on the way. */
  const release = async (id: string): Promise<void> => {
    const server = catalog.server(id);
    if (server) await catalog.replace(server, catalog.tools(id));
  };

  return {
    add(judge) {
      judges.push(judge);
      return {
        held: () =>
          catalog.tools().flatMap((tool) => {
            const found = held.get(tool);
            return found?.judge === judge ? [found] : [];
          }),
        release,
      };
    },
    hooks: {
      "tool:discover": (tool) => (tool.builtin ? undefined : discover(tool)),
      async "tool:disabled"(call) {
        const found = call.tool && held.get(call.tool);
        if (!found) return;
        if (!(await found.judge(found.tool, true))) await release(found.tool.server);
        // Once it is released, another judge may still hold it.
        const now = catalog.tool(found.tool.id);
        const still = now ? held.get(now) : found;
        if (still) throw refuse(call, still);
      },
    },
  };
}

function refuse({ id }: Call, { tool, status, reason }: HeldTool): GatewayError {
  const kind = status === "changed" ? TOOL_CHANGED : TOOL_PENDING;
  return new GatewayError(kind, `"${tool.id}" cannot be called. ${reason}`, {
    data: {
      tool: tool.id,
      risk_level: getPolicy(tool).riskLevel,
      suggestion: `Ask the user to check the tool and to run: toolpipe approve ${quoteForShell(tool.id)}`,
      request_id: id,
      retryable: false,
    },
  });
}
