import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseData } from "../../../../core/mod.ts";
import { editJson } from "../../../../plugins/lib/config-file/edit-json.ts";
import { jsoncText } from "../../../support/jsonc-text.ts";

const file = `{
  // what I use
  "mcpServers": {
    "one": { "command": "one" }, // the first
    /* before two */
    "two": {
      "command": "two"
    },
    "three": { "command": "three" }
  },
  "other":   [1,2,  3]
}
`;

describe("an edit of a JSON file", () => {
  test("leaves everything else as it is, byte for byte", async () => {
    const put = { toolpipe: { command: "npx", args: ["-y", "toolpipe"] } };
    expect(await editJson(file, { key: "mcpServers", remove: ["two", "three"], put })).toBe(`{
  // what I use
  "mcpServers": {
    "toolpipe": {
      "command": "npx",
      "args": [
        "-y",
        "toolpipe"
      ]
    },
    "one": { "command": "one" } // the first
    /* before two */
  },
  "other":   [1,2,  3]
}
`);
  });

  test.each([
    ["{}", `{ "m": {"t":1} }`],
    [`{"m":{}}`, `{"m":{ "t": 1 }}`],
    [`{"m": { "a": 1 }, "x":1}`, `{"m": { "t": 1 }, "x":1}`],
    [`{"m":{"b":2,"a":1}}`, `{"m":{ "t": 1,"b":2}}`],
    [`{"m":{"a":1,"b":2,},}`, `{"m":{ "t": 1,"b":2,},}`],
    [`{\r\n\t"m": {\r\n\t\t"a": 1\r\n\t}\r\n}`, `{\r\n\t"m": {\r\n\t\t"t": 1\r\n\t}\r\n}`],
    [`{"m":{"t":{"old":true},"a":1}}`, `{"m":{"t":1}}`],
    [`\uFEFF{"m":{"a":1}}`, `\uFEFF{"m":{ "t": 1}}`],
  ])("turns %j into %j", async (before, after) => {
    expect(await editJson(before, { key: "m", remove: ["a"], put: { t: 1 } })).toBe(after);
  });

  test("is refused where it would not be what was meant", async () => {
    for (const text of ["[]", `{"m":[]}`, "", `{"m":`]) {
      await expect(editJson(text, { key: "m", remove: [], put: { t: 1 } })).rejects.toThrow(
        "cannot be edited",
      );
    }
  });

  const name = fc.oneof(
    fc.constantFrom("a", "b", "toolpipe", "mcpServers", 'with "quotes"', "ключ", ""),
    fc.string({ maxLength: 8 }).filter((text) => text !== "__proto__"),
  );
  const value = fc.oneof(
    fc.constantFrom<unknown>(null, 1, "// no comment", { command: "x", args: ["/* neither */"] }, {}, []),
    fc.record({
      command: fc.string({ maxLength: 10 }),
      env: fc.dictionary(name, fc.string(), { maxKeys: 3 }),
    }),
  );
  const writing = fc.record({
    choices: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 60 }),
    eol: fc.constantFrom("\n" as const, "\r\n" as const),
    trailingCommas: fc.boolean(),
    comments: fc.boolean(),
    mark: fc.boolean(),
  });

  test("keeps every value and every comment that is not part of what goes", async () => {
    const servers = fc.dictionary(name, value, { maxKeys: 5, noNullPrototype: true });
    const others = fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(servers, others, writing, fc.array(fc.nat(4)), async (map, rest, how, gone) => {
        const data = { ...rest, mcpServers: map };
        const remove = Object.keys(map).filter((_, index) => gone.includes(index));
        const put = { toolpipe: { command: "npx", args: ["toolpipe"] } };
        const { text, comments } = jsoncText(data, "mcpServers", how);
        expect(await parseData(text, "x.json")).toEqual(data);
        const edited = await editJson(text, { key: "mcpServers", remove, put });
        const kept = Object.entries(map).filter(([key]) => !remove.includes(key));
        expect(await parseData(edited, "x.json")).toEqual({
          ...data,
          mcpServers: { ...Object.fromEntries(kept), ...put },
        });
        const replaced = [...remove, ...Object.keys(put)];
        for (const { text: words, within } of comments) {
          if (within === undefined || !replaced.includes(within)) expect(edited).toContain(words);
        }
      }),
      { numRuns: 300 },
    );
  });
});
