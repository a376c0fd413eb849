import { join } from "node:path";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const box = `
  import { definePlugin, GatewayError, localTools, textResult } from "toolpipe";

  const inputSchema = { type: "object" };

  export const box = definePlugin({
    name: "box",
    order: "post",
    setup(gateway) {
      const tools = localTools("box", { id: "box" }, [
        { name: "broken", inputSchema, run: () => ({ ...textResult("The printer\\nis on fire."), isError: true }) },
        { name: "crash", inputSchema, run() { throw new Error("sk-secret"); } },
        { name: "forbidden", inputSchema, run: () => textResult("never") },
        { name: "picture", inputSchema, run: () => ({ content: [{ type: "image", data: "" }, { type: "text", text: "A cat.\\nA dog." }] }) },
      ]).setup(gateway);
      return {
        ...tools,
        policy(call) {
          if (call.tool?.name === "forbidden") throw new GatewayError("DENIED", "It is forbidden.");
        },
      };
    },
  });
`;

/** A folder with a config of the demo server and of a server whose tools fail, each in its own way. */
export async function boxFolder(): Promise<{ readonly cwd: string; readonly config: string }> {
  const cwd = await temporaryFolder({
    "toolpipe.config.yaml": "plugins: [toolpipe/plugins/demo, ./box.ts]\n",
    "box.ts": box,
  });
  return { cwd, config: join(cwd, "toolpipe.config.yaml") };
}
