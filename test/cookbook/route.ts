/**
 * A route: `GET /tools.txt` lists the ids of the tools that may be called, one a line.
 *
 * { "plugins": ["./route.ts"] }, then `toolpipe serve --http`
 */
import { definePlugin } from "toolpipe";

export const toolList = definePlugin({
  name: "tool-list",
  setup(gateway) {
    gateway.register("route", "/tools.txt", {
      handle(request, response, actor) {
        const { searchParams } = new URL(String(request.url), "http://localhost");
        const server = searchParams.get("server") ?? undefined;
        const ids = gateway.catalog.tools(server).flatMap(({ id, enabled }) => (enabled ? [id] : []));
        response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "x-actor": actor?.id ?? "" });
        response.end(ids.map((id) => `${id}\n`).join(""));
      },
    });
  },
});
