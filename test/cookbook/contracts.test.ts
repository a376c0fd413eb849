import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Embedder, Ranker } from "../../core/services/search.ts";
import { cacheContract } from "../contracts/cache.ts";
import { testEmbedder } from "../contracts/embedder.ts";
import { testRanker } from "../contracts/ranker.ts";
import { stateStoreContract } from "../contracts/state-store.ts";
import { testTypeEmitter } from "../contracts/type-emitter.ts";
import { upstreamContract } from "../contracts/upstream.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { cache as openCache } from "./cache.ts";
import { embedder as createEmbedder } from "./embedder.ts";
import { emitter } from "./emitter.ts";
import { ranker as createRanker } from "./ranker.ts";
import { state as openState } from "./state.ts";
import { upstream } from "./upstream.ts";

upstreamContract(
  "the cookbook's functions",
  (events) =>
    upstream.connect(
      {
        name: "own",
        connection: {
          type: "stdio",
          command: fileURLToPath(new URL("_tools.mjs", import.meta.url)),
          args: [],
          env: {},
        },
        origin: { source: "inline", scope: "config" },
      },
      { events, prior: undefined, signal: new AbortController().signal, capabilities: {} },
    ),
  { speaksMcp: false },
);

cacheContract("the cookbook's file", async () => {
  const storage = await openCache({ file: join(await temporaryFolder(), "cache.json") });
  if ("hasItem" in storage) throw new Error("It is a driver of unstorage.");
  return storage;
});

stateStoreContract("cookbook's", async () =>
  openState({ file: join(await temporaryFolder(), "state.json") }),
);

testRanker("the cookbook's", () => createRanker({}, {}) as Ranker);

testEmbedder("the cookbook's", async () => () => createEmbedder({}) as Embedder);

testTypeEmitter(emitter, {
  types: (texts) => texts.filter((text) => /[\n`<>]/.test(text)),
  declarations: (pages) =>
    pages.filter((page) => !/^# [^\n]*\n\n[^\n]*\n\n(- [^\n]*\n|No arguments\.\n)+$/.test(page)),
});
