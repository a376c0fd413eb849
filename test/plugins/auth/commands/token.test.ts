import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createGateway } from "../../../../core/mod.ts";
import { type AuthOptions, auth } from "../../../../plugins/auth/mod.ts";
import { runMain } from "../../../support/run-cli.ts";

interface Made {
  readonly token: string;
  readonly config: { readonly auth: AuthOptions };
}

async function made(...args: string[]): Promise<Made> {
  const { code, stdout, stderr } = await runMain(["token", "--json", ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Made;
}

describe("toolpipe token", () => {
  test("makes a token and the lines that let it in, which do not hold it", async () => {
    const { token, config } = await made("--actor", "ann", "--scopes", "tools:read, tools:write");
    expect(token).toMatch(/^tp_[\w-]{43}$/);
    const sha256 = createHash("sha256").update(token).digest("hex");
    expect(config).toEqual({
      auth: { tokens: [{ sha256, actor: "ann", scopes: ["tools:read", "tools:write"] }] },
    });
    const gateway = await createGateway({ plugins: [auth(config.auth)] });
    expect(await gateway.services.auth?.authenticate(`Bearer ${token}`)).toEqual({
      id: "ann",
      scopes: ["tools:read", "tools:write"],
    });
    await gateway.close();
  });

  test("never makes equal tokens, and names the current user by default", async () => {
    const [one, two] = [await made(), await made()];
    expect(one.token).not.toBe(two.token);
    expect(one.config.auth.tokens?.[0]?.actor).toMatch(/./);
  });

  test("makes one that ends", async () => {
    const before = Date.now();
    const { config } = await made("--actor", "ann", "--days", "30");
    const [{ expires = "" } = {}] = config.auth.tokens ?? [];
    const days = (Date.parse(expires) - before) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    expect(() => auth(config.auth)).not.toThrow();
  });

  test("shows it once, beside what is for the config", async () => {
    const { stdout } = await runMain(["token", "--actor", "ann"]);
    const [, token = ""] = /^ {2}(tp_\S+)$/m.exec(stdout) ?? [];
    expect(stdout.split(token)).toHaveLength(2);
    const lines = /^ {2}("auth": [\s\S]*?\] \})$/m.exec(stdout)?.[1];
    const { auth: options } = JSON.parse(`{${lines}}`) as { auth: AuthOptions };
    expect(options.tokens).toEqual([
      { sha256: createHash("sha256").update(token).digest("hex"), actor: "ann" },
    ]);
    expect(stdout).not.toContain("! ");
    expect((await runMain(["token", "--actor", "local"])).stdout).toContain("has every scope unless");
  });

  test.each([
    [["--actor", ""], "The option --actor needs a name."],
    [["--scopes", ","], "The option --scopes needs at least one scope."],
    [["--days", "soon"], "The option --days needs a number between 0 and 36500."],
    [["--days", "0"], "The option --days needs a number between 0 and 36500."],
    [["--actors", "a"], "There is no option --actors; did you mean --actor?"],
  ])("refuses %j", async (args, message) => {
    const stderr = `${message} See --help.\n`;
    expect(await runMain(["token", ...args])).toEqual({ code: 1, stdout: "", stderr });
  });
});
