import { inspect } from "node:util";
import { describe, expect, expectTypeOf, test } from "vitest";
import { type CoreCode, defineError, type ErrorKind, errorKinds, GatewayError } from "../../core/mod.ts";
import { throwableNames, throwables } from "../support/hooks.ts";

/** The class as another copy of this package would bring it. */
class ForeignError extends Error {
  readonly code = "DENIED";
  readonly kind: ErrorKind = { ...errorKinds.DENIED };
  readonly data = {};
  override get name(): string {
    return "GatewayError";
  }
}

describe("the table of kinds", () => {
  test("each row is kept under its own code", () => {
    for (const [code, row] of Object.entries(errorKinds)) expect(row.code).toBe(code);
    expectTypeOf<keyof typeof errorKinds>().toEqualTypeOf<CoreCode>();
  });

  test("each row has a JSON-RPC code of the reserved range and an exit code that a shell can tell from success", () => {
    for (const { rpc, exit } of Object.values(errorKinds)) {
      expect(rpc).toBeLessThanOrEqual(-32600);
      expect(rpc).toBeGreaterThanOrEqual(-32768);
      expect(exit).toBeGreaterThan(0);
      expect(exit).toBeLessThan(126);
    }
  });

  test("it cannot be changed", () => {
    expect(() => Object.assign(errorKinds, { DENIED: {} })).toThrow(TypeError);
    expect(() => Object.assign(errorKinds.DENIED, { exit: 0 })).toThrow(TypeError);
  });
});

test("a kind that is no row of a table is reported, and ends a command with a code other than 0", () => {
  const error = new GatewayError({ code: "LITERAL" } as never, "It failed.");
  expect(error.message).toContain("is not declared");
  expect([error.code, error.kind.exit]).toEqual(["INTERNAL", 3]);
});

describe("defineError", () => {
  test("a plugin names its own kind, and what it leaves out has a default", () => {
    expect(defineError("QUEUE_FULL", { retry: true })).toEqual({
      code: "QUEUE_FULL",
      spec: "TOOL_EXECUTION_ERROR",
      rpc: -32603,
      exit: 3,
      retry: true,
    });
    expect(Object.isFrozen(defineError("QUEUE_FULL"))).toBe(true);
  });

  test("an error of such a kind carries it", () => {
    const kind = defineError("QUEUE_FULL");
    const error = new GatewayError(kind, "The queue is full.", { data: { size: 5 } });
    expect(error).toMatchObject({
      code: "QUEUE_FULL",
      kind,
      message: "The queue is full.",
      data: { size: 5 },
    });
  });
});

describe("a GatewayError", () => {
  test("it is an Error with a name, and prints under it", () => {
    const error = new GatewayError("DENIED", "Not today.");
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe("GatewayError: Not today.");
    expect(inspect(error)).toMatch(/^GatewayError|^\[GatewayError/);
    expect(Object.keys(error)).not.toContain("name");
  });

  test("it has a cause only where one is given, even if that is undefined", () => {
    expect("cause" in new GatewayError("DENIED", "No.")).toBe(false);
    expect("cause" in new GatewayError("DENIED", "No.", { cause: undefined })).toBe(true);
  });

  test("making one leaves the stacks of other errors as they are", () => {
    const before = Error.stackTraceLimit;
    new GatewayError("DENIED", "No.");
    expect(Error.stackTraceLimit).toBe(before);
    expect(new Error("x").stack).toContain("errors.test");
  });

  test("toJSON leaks neither stack nor cause", () => {
    const error = new GatewayError("INTERNAL", "It failed.", {
      cause: new Error("secret"),
      data: { plugin: "p" },
    });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: "INTERNAL",
      message: "It failed.",
      data: { plugin: "p" },
    });
    expect(JSON.stringify({ error })).not.toMatch(/secret|stack|\.ts/);
  });
});

describe("is", () => {
  test("it knows its own errors and those of another copy of this package", () => {
    class Special extends GatewayError {}
    expect(GatewayError.is(new GatewayError("DENIED", "No."))).toBe(true);
    expect(GatewayError.is(new Special("DENIED", "No."))).toBe(true);
    const foreign = new ForeignError("No.");
    expect(foreign).not.toBeInstanceOf(GatewayError);
    expect(GatewayError.is(foreign)).toBe(true);
    expect(GatewayError.from(foreign)).toBe(foreign);
  });

  test("it takes nothing else for one", () => {
    const named = Object.assign(new Error("x"), { name: "GatewayError" });
    const lookAlike = { name: "GatewayError", kind: errorKinds.DENIED, code: "DENIED", message: "x" };
    const others = throwableNames.filter((name) => name !== "gatewayError").map((name) => throwables[name]());
    for (const value of [named, lookAlike, GatewayError, ...others])
      expect(GatewayError.is(value)).toBe(false);
  });
});

describe("from", () => {
  test("a foreign error is kept as cause and appears nowhere else", () => {
    for (const name of throwableNames) {
      const value = throwables[name]();
      const error = GatewayError.from(value);
      if (name === "gatewayError") {
        expect(error).toBe(value);
        continue;
      }
      expect(error.code).toBe("INTERNAL");
      expect(error.cause).toBe(value);
      expect(`${error} ${JSON.stringify(error)}`).not.toContain("secret");
    }
  });

  test("the message can be given", () => {
    expect(GatewayError.from(new Error("secret"), "The file could not be read.").message).toBe(
      "The file could not be read.",
    );
  });
});
