import type { CommandTable } from "../../../core/services/command.ts";

/** Commands that decide on approvals. */
export const approvalCommands: CommandTable = {
  approve: {
    description:
      "Approve a server that a project file defines or that you introspected, or a tool that is held back; or list what waits",
    load: () => import("./approve.ts").then((module) => module.approve),
  },
  revoke: {
    description: "Take the approval of a server, a tool or a config back",
    load: () => import("./revoke.ts").then((module) => module.revoke),
  },
};
