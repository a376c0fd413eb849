import { afterAll } from "vitest";
import { connectHttp } from "../../../../plugins/mcp/http/connect.ts";
import { upstreamContract } from "../../../contracts/upstream.ts";
import {
  closeServers,
  type Listening,
  legacySse,
  legacyStreamable,
  modern,
} from "../../../fixtures/http-servers.ts";
import { remote } from "../_http.ts";

afterAll(closeServers);

const kinds: Record<string, () => Promise<Listening>> = {
  "Streamable HTTP with sessions (SDK v1)": () => legacyStreamable(),
  "HTTP with SSE (SDK v1)": () => legacySse(),
  "Streamable HTTP with both protocols (SDK v2)": () => modern(),
  "Streamable HTTP in the modern protocol alone (SDK v2)": () => modern("reject"),
};

for (const [name, start] of Object.entries(kinds)) {
  const started = start();
  upstreamContract(name, async (events) =>
    connectHttp(remote((await started).url), { name: "contract", events }),
  );
}
