import { expect, test } from "vitest";
import { createGateway, type Progress } from "../../core/mod.ts";
import { demo } from "../../plugins/demo.ts";
import { getError, readText } from "../support/failure.ts";
import { checkArguments } from "../support/services.ts";

const open = () => createGateway({ plugins: [demo(), checkArguments()] });

test("the catalog gets one server with three tools that only read", async () => {
  const gateway = await open();
  expect(gateway.catalog.servers()).toMatchObject([{ id: "demo" }]);
  const tools = gateway.catalog.tools("demo");
  expect(tools.map(({ name }) => name)).toEqual(["add", "word_count", "countdown"]);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
  await gateway.close();
});

test.each([
  ["add", { a: 2, b: 3.5 }, "5.5"],
  ["add", { a: -2, b: 2 }, "0"],
  ["word_count", { text: "one  pipeline\nfor every\ttool" }, "5"],
  ["word_count", { text: "   " }, "0"],
  ["word_count", { text: "" }, "0"],
])("%s of %j is %s", async (tool, args, answer) => {
  const gateway = await open();
  expect(readText(await gateway.run({ tool: `demo:${tool}`, args }))).toBe(answer);
  await gateway.close();
});

test.each([
  ["add", { a: 1 }],
  ["add", { a: 1, b: "2" }],
  ["add", { a: 1, b: 2, c: 3 }],
  ["word_count", {}],
  ["countdown", { from: 0 }],
  ["countdown", { from: 101 }],
  ["countdown", { from: 1.5 }],
])("%s refuses %j", async (tool, args) => {
  const gateway = await open();
  expect(getError(await gateway.run({ tool: `demo:${tool}`, args })).code).toBe("INVALID_ARGUMENTS");
  await gateway.close();
});

test("countdown reports each step and then answers", async () => {
  const gateway = await open();
  const steps: Progress[] = [];
  const call = await gateway.run({
    tool: "demo:countdown",
    args: { from: 3 },
    onProgress: (progress) => steps.push(progress),
  });
  await gateway.close();
  expect(steps).toEqual([
    { progress: 1, total: 3, message: "2" },
    { progress: 2, total: 3, message: "1" },
    { progress: 3, total: 3, message: "0" },
  ]);
  expect(readText(call)).toBe("Liftoff!");
});

test("countdown stops where it is when the caller gives up", async () => {
  const gateway = await open();
  const controller = new AbortController();
  const steps: number[] = [];
  const call = await gateway.run({
    tool: "demo:countdown",
    args: { from: 100 },
    signal: controller.signal,
    onProgress({ progress }) {
      steps.push(progress);
      if (progress === 2) controller.abort();
    },
  });
  expect(getError(call).code).toBe("CANCELLED");
  expect(steps).toEqual([1, 2]);
  await gateway.close();
  expect(steps).toEqual([1, 2]);
});
