import { homedir } from "node:os";
import { expect, test } from "vitest";
import { pathFrom, thisMachine, variable } from "../../../../plugins/lib/server-entry/machine.ts";

test("this machine is the one the process runs on, with its variables as they are now", () => {
  const machine = thisMachine();
  expect(machine).toMatchObject({ platform: process.platform, home: homedir(), project: process.cwd() });
  expect(variable(machine, "PATH")).toBe(process.env["PATH"]);
  expect(variable(machine, "constructor")).toBeUndefined();
});

test("a later change of the environment does not reach a machine that was looked at before", () => {
  const machine = thisMachine();
  process.env["TOOLPIPE_TEST_LATER"] = "1";
  expect(variable(machine, "TOOLPIPE_TEST_LATER")).toBeUndefined();
  expect(variable(thisMachine(), "TOOLPIPE_TEST_LATER")).toBe("1");
  delete process.env["TOOLPIPE_TEST_LATER"];
});

test("a path begins in the home folder, in the project, or at the root", () => {
  const machine = { ...thisMachine("/work"), home: "/home/ada" };
  expect(pathFrom("~/x", machine)).toBe("/home/ada/x");
  expect(pathFrom("~", machine)).toBe("/home/ada");
  expect(pathFrom("./x", machine)).toBe("/work/x");
  expect(pathFrom("/x", machine)).toBe("/x");
  expect(pathFrom("~other/x", machine)).toBe("/work/~other/x");
});
