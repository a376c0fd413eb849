import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { rankerNames } from "../../../../plugins/search/mod.ts";
import { runMain } from "../../../support/run-cli.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const tools = [
  { id: "mail/send", server: "mail", name: "send", description: "Sends a letter.", tags: ["post"] },
  { id: "mail/read", server: "mail", name: "read", description: null, inputSchema: { type: "object" } },
  { id: "files/read_file", server: "files", name: "read_file", description: "Reads a file." },
];
const queries = [
  { query: "send a letter", relevant: ["mail/send"], more: "is passed over" },
  { query: "read a file", relevant: ["files/read_file"] },
  { query: "qwertyuiop", relevant: ["mail/read"] },
  { query: "zxcvbnm", relevant: ["mail/read"] },
];

const lines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

async function place(files: Record<string, string> = {}): Promise<string> {
  return temporaryFolder({ "tools.jsonl": lines(tools), "queries.jsonl": lines(queries), ...files });
}

function evaluate(folder: string, ...more: string[]): ReturnType<typeof runMain> {
  return runMain([
    "eval",
    "--tools",
    `${folder}/tools.jsonl`,
    "--queries",
    `${folder}/queries.jsonl`,
    ...more,
  ]);
}

test("measures a ranker of your own by its path", async () => {
  const folder = await place({
    "mine.mjs":
      "export default () => ({ name: 'mine', update() {}, rank: () => ({ hits: [], nearest: [] }) });",
  });
  const { code, stdout, stderr } = await evaluate(folder, "--json", "--ranker", `${folder}/mine.mjs`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout).rankers[0]).toMatchObject({ ranker: `${folder}/mine.mjs`, recall10: 0 });
});

test.each([
  [
    "export default { rank() {} };",
    /to export a function that creates one .*, found a value of the type object/,
  ],
  ["export default () => 7;", /an object with the string "name", found a value of the type number/],
  ["export default () => ({ name: 'x', update() {} });", /with the function "rank", found undefined/],
])("refuses the ranker of a module that reads %j", async (source, message) => {
  const folder = await place({ "wrong.mjs": source });
  const { code, stderr } = await evaluate(folder, "--ranker", `${folder}/wrong.mjs`);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr).toContain(`${folder}/wrong.mjs`);
});

test("prints what a ranker finds and costs", async () => {
  const { code, stdout, stderr } = await evaluate(await place(), "--json", "--ranker", "keyword");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { rankers, ...rest } = JSON.parse(stdout);
  expect(rest).toEqual({ tools: 3, queries: 4, limit: 10 });
  expect(rankers).toEqual([
    {
      ranker: "keyword",
      recall1: 0.5,
      recall5: 0.5,
      recall10: 0.5,
      ndcg10: 0.5,
      mrr: 0.5,
      p50Ms: expect.any(Number),
      p95Ms: expect.any(Number),
      cpuMs: expect.any(Number),
      indexMs: expect.any(Number),
      memoryMb: expect.any(Number),
    },
  ]);
  expect(rankers[0].p95Ms).toBeGreaterThanOrEqual(rankers[0].p50Ms);
  expect(rankers[0].indexMs).toBeGreaterThan(0);
});

test("several rankers make one table, each once and in the order they were given", async () => {
  const args = ["--ranker", "simple", "--ranker=keyword", "--ranker", "tag", "--ranker", "simple"];
  const { code, stdout } = await evaluate(await place(), ...args);
  expect(code).toBe(0);
  expect(stdout).toContain("3 tools, 4 queries.");
  const rows = stdout.split("\n").filter((line) => line.startsWith("|"));
  expect(rows.map((row) => row.split("|")[1]?.trim())).toEqual([
    "ranker",
    expect.stringMatching(/^-+$/),
    "simple",
    "keyword",
    "tag",
  ]);
  expect(new Set(rows.map((row) => row.length)).size).toBe(1);
  expect(rows[3]).toContain("50.0");
});

test("queries without an answer are judged separately: by whether nothing is found", async () => {
  const files = {
    "queries.jsonl": lines([
      { query: "send a letter", relevant: ["mail/send"] },
      { query: "qwertyuiop", relevant: [] },
      { query: "a file", relevant: [] },
    ]),
  };
  const folder = await place(files);
  const { rankers } = JSON.parse((await evaluate(folder, "--json", "--ranker", "keyword")).stdout);
  expect(rankers[0]).toMatchObject({ recall1: 1, silence: 0.5 });
  expect((await evaluate(folder, "--ranker", "keyword")).stdout).toContain("nothing");
});

test("measures the ranker that searches use by default, where none is named", async () => {
  const { rankers } = JSON.parse((await evaluate(await place(), "--json")).stdout);
  expect(rankers.map(({ ranker }: { ranker: string }) => ranker)).toEqual([rankerNames[0]]);
});

describe("the option --run", () => {
  test("writes one line a query with what was found, in order, and how long it took", async () => {
    const folder = await place();
    await evaluate(folder, "--run", `${folder}/out.jsonl`, "--limit", "1", "--ranker", "keyword");
    const written = (await readFile(`${folder}/out.jsonl`, "utf8")).trim().split("\n");
    expect(written.map((line) => JSON.parse(line))).toEqual(
      queries.map(({ query }, index) => ({
        query,
        ranked: [["mail/send"], ["files/read_file"], [], []][index],
        ms: expect.any(Number),
      })),
    );
  });

  test("tells the rankers apart where there are several", async () => {
    const folder = await place();
    await evaluate(folder, "--run", `${folder}/out.jsonl`, "--ranker", "simple", "--ranker", "keyword");
    const written = (await readFile(`${folder}/out.jsonl`, "utf8")).trim().split("\n");
    expect(written.map((line) => JSON.parse(line).ranker)).toEqual(
      ["simple", "keyword"].flatMap((name) => queries.map(() => name)),
    );
  });

  test("fails if the file cannot be written", async () => {
    const folder = await place();
    const { code, stderr } = await evaluate(
      folder,
      "--run",
      `${folder}/missing/out.jsonl`,
      "--ranker",
      "tag",
    );
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `${folder}/missing/out.jsonl: cannot be written (ENOENT).\n`,
    });
  });
});

describe("a broken file is named with its line:", () => {
  test.each([
    ["tools.jsonl", 'x{"id":1}', "tools.jsonl:1: this is not JSON."],
    [
      "tools.jsonl",
      `${lines(tools)}\n{"id":"a","server":"b"}`,
      "tools.jsonl:5: name: expected a value, found nothing.",
    ],
    [
      "tools.jsonl",
      lines([...tools, tools[0] ?? {}]),
      'tools.jsonl:4: "mail/send" is listed already, in line 1.',
    ],
    [
      "tools.jsonl",
      '{"id":"","server":"b","name":"c"}',
      "tools.jsonl:1: id: expected a string that is not empty",
    ],
    ["tools.jsonl", "[]", "tools.jsonl:1: name: expected a value, found nothing."],
    ["tools.jsonl", "5", "tools.jsonl:1: the line: expected Object, found 5."],
    ["tools.jsonl", "\n\n", "tools.jsonl: the file is empty."],
    ["queries.jsonl", '{"query":"a","relevant":["b"]}', 'queries.jsonl:1: there is no tool "b".'],
    ["queries.jsonl", '\n{"query":5,"relevant":[]}', "queries.jsonl:2: query: expected string, found 5."],
    [
      "queries.jsonl",
      '{"query":"a","relevant":"b"}',
      "queries.jsonl:1: relevant: expected Array, found a string.",
    ],
  ])("%s %j", async (file, text, message) => {
    const { code, stdout, stderr } = await evaluate(await place({ [file]: text }));
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  test("one that is not there", async () => {
    const { code, stderr } = await runMain(["eval", "--tools", "/nowhere/t.jsonl", "--queries", "q.jsonl"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "/nowhere/t.jsonl: cannot be read (ENOENT).\n" });
  });
});

test("a mark at the beginning and ends of lines of Windows are passed over", async () => {
  const text = `\uFEFF${lines(tools).replaceAll("\n", "\r\n")}`;
  expect((await evaluate(await place({ "tools.jsonl": text }), "--ranker", "tag")).code).toBe(0);
});

test.each([
  [["--ranker", "keywrod"], 'There is no ranker "keywrod"; did you mean "keyword"? See --help.'],
  [["--ranker", "xyzzy"], 'There is no ranker "xyzzy"; there are '],
  [["--ranker="], "The option --ranker needs a value. See --help."],
  [["--limit", "0"], "The option --limit needs a whole number, 1 or more. See --help."],
  [["--limit", "many"], "The option --limit needs a whole number, 1 or more. See --help."],
  [["--run="], "The option --run needs a value. See --help."],
  [["--rankers", "simple"], "There is no option --rankers; did you mean --ranker? See --help."],
])("%j is a wrong command line", async (args, message) => {
  const { code, stdout, stderr } = await evaluate(await place(), ...args);
  expect(stderr).toContain(message);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
});

test.each([
  [[], "tools"],
  [["--tools", "t.jsonl"], "queries"],
])("%j lacks a file", async (args, missing) => {
  const { code, stderr } = await runMain(["eval", ...args]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `The option --${missing} needs a file. See --help.\n`,
  });
});
