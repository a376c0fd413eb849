// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables stay strings until a server is connected
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type Place, place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";
import { startRegistry, wire } from "../_registry.ts";

const { answers, questions } = vi.hoisted(() => ({ answers: [] as string[], questions: [] as string[] }));

// The person at the terminal.
vi.mock("node:readline/promises", () => ({
  createInterface: () => ({
    async question(text: string) {
      questions.push(text);
      return answers.shift() ?? "";
    },
    close() {},
  }),
}));

const weather = wire("io.github.ann/weather", {
  packages: [
    {
      registryType: "npm",
      identifier: "weather",
      version: "1.2.3",
      packageArguments: [{ type: "positional", valueHint: "folder", isRequired: true }],
      environmentVariables: [
        { name: "KEY", isRequired: true, isSecret: true },
        { name: "CITY", isRequired: true, description: "Where you are" },
      ],
    },
  ],
});

let here: Place;
beforeEach(async () => {
  here = await place();
  questions.length = answers.length = 0;
  const before = Object.getOwnPropertyDescriptor(process.stdin, "isTTY");
  Object.defineProperty(process.stdin, "isTTY", { value: true, configurable: true });
  onTestFinished(() => {
    if (before) Object.defineProperty(process.stdin, "isTTY", before);
    else Reflect.deleteProperty(process.stdin, "isTTY");
  });
});

const add = async () => {
  const registry = await startRegistry([weather]);
  return runMain(["registry", "add", "io.github.ann/weather", "--registry", registry.url]);
};
const config = (): string => join(here.state, "toolpipe.config.json");

test("the user is asked for missing settings but for no secret, and then whether to write", async () => {
  answers.push("", "Bonn", "y");
  const { code, stdout } = await add();
  expect(questions).toEqual([
    "folder (empty to set WEATHER_FOLDER later): ",
    "CITY (empty to set CITY later): ",
    "Add this? [y/N] ",
  ]);
  expect(stdout).toContain("CITY (variable, required): Where you are");
  expect(stdout).toContain("✓ Added");
  expect(code).toBe(0);
  expect(JSON.parse(await readFile(config(), "utf8")).mcpServers.weather).toMatchObject({
    args: ["-y", "weather@1.2.3", "${WEATHER_FOLDER}"],
    env: { KEY: "${KEY}", CITY: "Bonn" },
  });
});

test("a user who does not agree has nothing changed", async () => {
  answers.push("", "", "no");
  const { code, stdout } = await add();
  expect(stdout).toContain("Nothing was changed.\n");
  expect(code).toBe(0);
  await expect(stat(config())).rejects.toThrow("ENOENT");
});
