import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { digestOf } from "../../../plugins/search/history/digest.ts";
import { historyStore } from "../../../plugins/search/history.ts";
import { fileStore } from "../../../plugins/state/mod.ts";
import { runMain } from "../../_helpers/run-cli.ts";
import { place } from "./_place.ts";

/** A place where two actors have used three tools. */
async function remembering(): Promise<() => Promise<string[]>> {
  const { state } = await place({ project: { "toolpipe.config.json": { mcpServers: {} } } });
  const store = fileStore(join(state, "state", "store"));
  const history = historyStore(store);
  for (const actor of ["local", "ann"])
    for (const tool of ["mail:send", "files:read_file"])
      await history.remember(actor, digestOf(actor, "send mail"), tool);
  return async () => (await store.list("history/")).flatMap(({ value }) => value["uses"] as string[]);
}

describe("forget", () => {
  test("forgets everything, and then there is nothing to forget", async () => {
    const left = await remembering();
    expect(await left()).toHaveLength(4);
    expect(await runMain(["forget", "--all"])).toEqual({ code: 0, stdout: "✓ Forgot 4 uses\n", stderr: "" });
    expect(await left()).toEqual([]);
    expect(await runMain(["forget", "--all"])).toEqual({
      code: 0,
      stdout: "Nothing was remembered.\n",
      stderr: "",
    });
  });

  test("forgets one tool, and no other", async () => {
    const left = await remembering();
    expect(await runMain(["forget", "--tool", "mail:send", "--json"])).toEqual({
      code: 0,
      stdout: '{"forgotten":2}\n',
      stderr: "",
    });
    const uses = await left();
    expect(uses).toHaveLength(2);
    expect(uses.every((use) => use.endsWith(" files:read_file"))).toBe(true);
    expect(await runMain(["forget", "--tool", "mail:send"])).toMatchObject({
      code: 0,
      stdout: "Nothing was remembered.\n",
    });
  });

  test.each<[string[], string]>([
    [[], "What is to be forgotten is missing: either --all, or --tool ID. See --help.\n"],
    [
      ["--all", "--tool", "mail:send"],
      "What is to be forgotten is missing: either --all, or --tool ID. See --help.\n",
    ],
    [["--tool="], "The option --tool needs a value. See --help.\n"],
  ])("with %j forgets nothing, and says what is missing", async (args, message) => {
    const left = await remembering();
    expect(await runMain(["forget", ...args])).toEqual({ code: 1, stdout: "", stderr: message });
    expect(await left()).toHaveLength(4);
  });

  test("says where nothing can be remembered", async () => {
    await place({
      project: {
        "toolpipe.config.mjs": 'export default { preset: { name: "bare", plugins: [], tools: [] } };',
      },
    });
    expect(await runMain(["forget", "--all"])).toMatchObject({
      stdout: "",
      stderr: 'Nothing is remembered: there is no plugin "state".\n',
    });
  });
});
