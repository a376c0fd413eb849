import { describe, expect, test } from "vitest";
import {
  type Gateway,
  type GatewayError,
  localTools,
  type Plugin,
  type ToolResult,
  textResult,
} from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { getError } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";

const text = { type: "string" };
const everything: ToolResult = {
  content: [
    { type: "text", text: "a", annotations: { audience: ["user"] } },
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "audio", data: "AAAA", mimeType: "audio/wav" },
    { type: "resource_link", uri: "file:///a", name: "a" },
  ],
  structuredContent: { a: [1, 2] },
  _meta: { "example.com/trace": "1" },
};

const office: Plugin = localTools("office", { id: "office", description: "Letters and rooms" }, [
  {
    name: "send_letter",
    description: "Sends a letter.",
    inputSchema: {
      type: "object",
      properties: {
        to: {
          type: "object",
          properties: { name: text, floor: { type: "integer", minimum: 0 } },
          required: ["name"],
        },
        pages: {
          type: "array",
          items: { type: "object", properties: { "line/one": text }, required: ["line/one"] },
        },
        copies: { type: "integer", minimum: 1, maximum: 9 },
        colour: { enum: ["black", "blue"] },
        sealed: { $ref: "#/$defs/boolean" },
      },
      required: ["to"],
      additionalProperties: false,
      $defs: { boolean: { type: "boolean" } },
    },
    run: () => textResult("sent"),
  },
  { name: "book_room", description: "Books a room.", inputSchema: {}, run: () => everything },
  {
    name: "burn_letters",
    description: "Burns all letters.",
    inputSchema: {},
    run: () => textResult("ashes"),
  },
  {
    name: "search_tools",
    description: "A name of the gateway's own.",
    inputSchema: {},
    run: () => textResult("mine"),
  },
]);
const attic: Plugin = localTools("attic", { id: "attic" }, [
  { name: "send:letter", inputSchema: {}, run: () => textResult("from the attic") },
  { name: "find_box", description: "Finds a box.", inputSchema: {}, run: () => textResult("box") },
]);

async function openAnygpt(options: object = {}): Promise<Gateway> {
  return openGateway({
    preset: anygpt,
    plugins: [office, attic],
    options: { audit: { sink: memorySink() }, cache: { enabled: false }, ...options },
  });
}

async function execute(args: object, options: object = {}) {
  return (await openAnygpt(options)).run({ tool: "anygpt:execute_tool", args });
}

async function refusal(
  server: string,
  tool: string,
  args: object = {},
  options: object = {},
): Promise<GatewayError> {
  return getError(await execute({ server, tool, arguments: args }, options));
}

test("the answer of a tool is handed on as it is, whatever is in it", async () => {
  const gateway = await openAnygpt();
  const direct = await gateway.run({ tool: "office:book_room" });
  const call = await gateway.run({
    tool: "anygpt:execute_tool",
    args: { server: "office", tool: "book_room", arguments: {} },
  });
  expect(call.result).toBe(direct.result);
  expect(call.result).toEqual(everything);
});

describe("arguments as a JSON string", () => {
  const letter = { server: "office", tool: "send_letter" };

  test("are parsed once, and the metadata of the answer notes it", async () => {
    const call = await execute({ ...letter, arguments: '{"to":{"name":"Ada"}}' });
    expect(call.ok && call.result.content).toEqual([{ type: "text", text: "sent" }]);
    expect(call.ok && call.result._meta).toEqual({
      "toolpipe/arguments": expect.stringContaining("send an object"),
    });
    const kept = await execute({ server: "office", tool: "book_room", arguments: "{}" });
    expect(kept.ok && kept.result).toMatchObject({ ...everything, _meta: everything._meta });
  });

  test("are checked like any others", async () => {
    const error = getError(await execute({ ...letter, arguments: '{"to":{}}' }));
    expect(error.data).toMatchObject({ path: "/to/name" });
  });

  test.each([
    ["twice", JSON.stringify(JSON.stringify({ to: { name: "Ada" } })), "INVALID_ARGUMENTS"],
    ["not at all", "to: Ada", "INVALID_ARGUMENTS"],
    ["a list", "[1]", "INVALID_ARGUMENTS"],
    ["nested without an end", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "ARGUMENTS_TOO_DEEP"],
    ["that reach a prototype", '{"__proto__":{"a":1}}', "FORBIDDEN_KEY"],
  ])("are refused where they are JSON %s", async (_what, given, code) => {
    const call = await execute({ ...letter, arguments: given });
    expect(getError(call).code).toBe(code);
    expect(call.stage).toBe("validate");
  });
});

describe("arguments of which a part is a string in place of", () => {
  const seen: unknown[] = [];
  const echo = localTools("typed", { id: "typed" }, [
    {
      name: "echo",
      inputSchema: {
        type: "object",
        properties: {
          count: { type: "integer" },
          ratio: { type: "number" },
          to: { type: "object" },
          list: { type: "array" },
          text: { type: "string" },
        },
      },
      run: (args) => {
        seen.push(args);
        return textResult("done");
      },
    },
  ]);
  const run = async (args: object) => {
    const gateway = await openGateway({ preset: anygpt, plugins: [echo] });
    return gateway.run({
      tool: "anygpt:execute_tool",
      args: { server: "typed", tool: "echo", arguments: args },
    });
  };

  test.each([
    ["a whole number", { count: "5" }, { count: 5 }],
    ["a number", { ratio: "-0.5" }, { ratio: -0.5 }],
    ["an object", { to: '{"a":1}' }, { to: { a: 1 } }],
    ["a list", { list: "[1]" }, { list: [1] }],
    ["nothing, where a string is meant", { text: "5" }, { text: "5" }],
  ])("%s reach the tool as its schema says", async (_what, given, args) => {
    await run(given);
    expect(seen.at(-1)).toEqual(args);
  });

  test.each([
    ["a number that would lose digits", { count: "12345678901234567890" }, "INVALID_ARGUMENTS"],
    ["a number with more behind it", { ratio: "5 apples" }, "INVALID_ARGUMENTS"],
    ["part of a whole number", { count: "1.5" }, "INVALID_ARGUMENTS"],
    ["a list for an object", { to: "[1]" }, "INVALID_ARGUMENTS"],
    ["an object that reaches a prototype", { to: '{"__proto__":{"a":1}}' }, "FORBIDDEN_KEY"],
  ])("%s are refused", async (_what, given, code) => {
    expect(getError(await run(given)).code).toBe(code);
  });
});

describe("a wrong argument is answered with the exact path, what was expected and how the tool is called", () => {
  const to = { name: "Ada" };

  test.each([
    ["a missing one", {}, "/to", "{name: string, floor?: number}", "nothing"],
    ["a missing one within", { to: {} }, "/to/name", "string", "nothing"],
    ["another type", { to: { name: 5 } }, "/to/name", "string", "5"],
    [
      "a text in place of an object",
      { to: "Ada" },
      "/to",
      "{name: string, floor?: number}",
      "a string of 3 characters",
    ],
    ["part of a whole number", { to: { name: "A", floor: 1.5 } }, "/to/floor", "integer (minimum 0)", "1.5"],
    ["beyond a limit", { to, copies: 10 }, "/copies", "integer (minimum 1, maximum 9)", "10"],
    ["another word", { to, colour: "red" }, "/colour", "'black' | 'blue'", "a string of 3 characters"],
    ["within a list", { to, pages: [{ "line/one": "a" }, {}] }, "/pages/1/line~1one", "string", "nothing"],
    ["behind a reference", { to, sealed: "yes" }, "/sealed", "boolean", "a string of 3 characters"],
    ["null", { to: null }, "/to", "{name: string, floor?: number}", "null"],
    [
      "a name that is not there",
      { to, colours: "blue" },
      "/colours",
      "one of the names to, pages, copies, colour, sealed",
      'another one (did you mean "colour"?)',
    ],
  ])("%s", async (_what, args, path, expected, found) => {
    const error = await refusal("office", "send_letter", args);
    const call =
      "send_letter(to: {name: string, floor?: number}, pages?: {'line/one': string}[], copies?: number, colour?: 'black' | 'blue', sealed?: boolean)";
    expect(error).toMatchObject({ code: "INVALID_ARGUMENTS", kind: { spec: "TOOL_VALIDATION_ERROR" } });
    expect(error.message).toBe(
      `The arguments of "office:send_letter" are wrong at "${path}": expected ${expected}, found ${found}. Call it as ${call}`,
    );
    expect(error.data).toEqual({
      tool: "office:send_letter",
      server: "office",
      path,
      expected,
      found,
      signature: call,
    });
  });
});

test("describes the schema where the arguments are no object", async () => {
  const gateway = await openAnygpt();
  const properties = { id: text, name: text };
  const inputSchema = { type: "object", properties, anyOf: [{ required: ["id"] }, { required: ["name"] }] };
  await gateway.catalog.replace({ id: "desk" }, [{ name: "find", inputSchema }]);
  const args = { server: "desk", tool: "find", arguments: {} };
  const { message } = getError(await gateway.run({ tool: "anygpt:execute_tool", args }));
  expect(message).toMatch(/required property "(id|name)"/);
  expect(message).toMatch(/ Call it as find\(id\?: string, name\?: string\)$/);
});

describe("a tool that is not there", () => {
  test.each([
    ["send_leter", "send_letter"],
    ["sendLetter", "send_letter"],
    ["letter_send", "send_letter"],
    ["find_box", "attic:find_box"],
  ])("%s gets the name that was meant: %s", async (name, meant) => {
    const error = await refusal("office", name);
    expect(error.code).toBe("TOOL_NOT_FOUND");
    expect(error.data["suggestions"]).toContain(meant);
    expect(error.message).toContain(meant);
    expect(error.message).toContain('The tools of "office" are send_letter, book_room');
  });

  test("of a server that is not there gets the servers", async () => {
    expect((await refusal("ofice", "send_letter")).message).toBe(
      'There is no tool "ofice:send_letter". There is no server "ofice"; did you mean "office"? The servers are office, attic.',
    );
  });

  test.each([
    ["anygpt", "search_tools"],
    ["anygpt", "execute_tool"],
  ])("the gateway's own %s:%s is none", async (server, name) => {
    expect((await refusal(server, name)).code).toBe("TOOL_NOT_FOUND");
  });

  test("a server may have a tool of the gateway's name", async () => {
    const call = await execute({ server: "office", tool: "search_tools", arguments: {} });
    expect(call.ok && call.result).toEqual(textResult("mine"));
  });

  test("a colon in a name does not lead to another server's tool", async () => {
    const right = await execute({ server: "attic", tool: "send:letter", arguments: {} });
    expect(right.ok && right.result).toEqual(textResult("from the attic"));
    expect((await refusal("attic:send", "letter")).message).toContain('There is no server "attic:send"');
  });

  test("of a server with very many is answered in few words", async () => {
    const gateway = await openAnygpt();
    const many = Array.from({ length: 2_000 }, (_, index) => ({
      name: `tool_number_${index}`,
      inputSchema: {},
    }));
    await gateway.catalog.replace({ id: "many" }, many);
    const call = await gateway.run({
      tool: "anygpt:execute_tool",
      args: { server: "many", tool: `tool_number_x${"y".repeat(5_000)}`, arguments: {} },
    });
    expect(getError(call).message.length).toBeLessThan(1_200);
    expect(getError(call).message).toMatch(/and \d+ more/);
  });
});

describe("a disabled tool", () => {
  const options = { rules: { toolRules: [{ pattern: ["burn_*"], enabled: false }] } };

  test("called by its exact name reports that it is disabled, and why", async () => {
    const error = await refusal("office", "burn_letters", {}, options);
    expect(error).toMatchObject({ code: "TOOL_DISABLED", kind: { spec: "TOOL_DISABLED", exit: 4 } });
    expect(error.message).toContain("Rule 1");
  });

  test("is not described either", async () => {
    const gateway = await openAnygpt(options);
    const args = { server: "office", tool: "burn_letters" };
    const error = getError(await gateway.run({ tool: "anygpt:get_tool_details", args }));
    expect(error.code).toBe("TOOL_DISABLED");
    expect(error.message).not.toContain("Burns");
  });

  test("is not what a mistyped name meant", async () => {
    const error = await refusal("office", "burn_leters", {}, options);
    expect(JSON.stringify(error)).not.toContain("burn_letters");
  });
});
