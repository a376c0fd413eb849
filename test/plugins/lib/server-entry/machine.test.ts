import { homedir } from "node:os";
import { expect, test } from "vitest";
import { getVariable, resolvePath, thisMachine } from "../../../../plugins/lib/server-entry/machine.ts";

test("this machine is the one the process runs on, with its variables as they are now", () => {
  const machine = thisMachine();
  expect(machine).toMatchObject({ platform: process.platform, home: homedir(), project: process.cwd() });
  expect(getVariable(machine, "PATH")).toBe(process.env["PATH"]);
  expect(getVariable(machine, "constructor")).toBeUndefined();
});

test("a later change of the environment does not reach a machine that was looked at before", () => {
  const machine = thisMachine();
  process.env["TOOLPIPE_TEST_LATER"] = "1";
  expect(getVariable(machine, "TOOLPIPE_TEST_LATER")).toBeUndefined();
  expect(getVariable(thisMachine(), "TOOLPIPE_TEST_LATER")).toBe("1");
  delete process.env["TOOLPIPE_TEST_LATER"];
});

test("a path begins in the home folder, in the project, or at the root", () => {
  const machine = { ...thisMachine("/work"), home: "/home/ada" };
  expect(resolvePath("~/x", machine)).toBe("/home/ada/x");
  expect(resolvePath("~", machine)).toBe("/home/ada");
  expect(resolvePath("./x", machine)).toBe("/work/x");
  expect(resolvePath("/x", machine)).toBe("/x");
  expect(resolvePath("~other/x", machine)).toBe("/work/~other/x");
});
