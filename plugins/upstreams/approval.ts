import { type Gateway, GatewayError } from "../../core/mod.ts";
import type {} from "../approvals.ts";
import { definitionHash, placeOf, type ServerConfig } from "../sources/server-config.ts";
import type { Held } from "./server-status.ts";

/** What stands in the store of approvals for a server: two projects may each have one of the same name. */
export function approvalOf(config: ServerConfig): { kind: string; name: string; hash: string } {
  return { kind: "server", name: placeOf(config), hash: definitionHash(config) };
}

/** Whoever can write into a project could otherwise run commands and read variables of whoever opens it. */
export async function holdBack(gateway: Gateway, config: ServerConfig): Promise<Held | undefined> {
  const where = config.origin.file ?? config.origin.source;
  if (config.disabled) return { status: "disconnected", reason: `It is switched off in ${where}.` };
  if (config.origin.scope !== "project") return undefined;
  const why = await whyNotApproved(gateway, config);
  if (why === undefined) return undefined;
  return {
    status: "needs-approval",
    reason: `It is defined in the project file ${where}, and ${why}. Approve it with: toolpipe approve ${config.name}`,
  };
}

async function whyNotApproved(gateway: Gateway, config: ServerConfig): Promise<string | undefined> {
  const { approvals } = gateway.services;
  const { kind, name, hash } = approvalOf(config);
  try {
    const standing = await approvals?.status(kind, name, hash);
    if (standing === "approved") return undefined;
    await approvals?.request(kind, name, hash, summaryOf(config));
    return standing === "changed"
      ? "its definition has changed since it was approved"
      : "nobody has approved it yet";
  } catch (thrown) {
    // The other servers need no approval, so they go on.
    gateway.report(GatewayError.from(thrown, "The approvals could not be read."));
    return "whether it was approved cannot be found out";
  }
}

/** What would be used, without what may be secret: arguments, the values of variables, and what a URL holds besides a place. */
function summaryOf({ connection }: ServerConfig): string {
  if (connection.type !== "stdio") {
    return `A server at ${connection.url.replace(/^(\w+:\/\/)[^/]*@/, "$1").replace(/[?#].*$/s, "")}`;
  }
  const variables = Object.keys(connection.env);
  return `The command ${connection.command} with ${connection.args.length} arguments${
    variables.length > 0 ? ` and the variables ${variables.join(", ")}` : ""
  }`;
}
