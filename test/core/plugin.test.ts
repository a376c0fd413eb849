import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  createGateway,
  defineError,
  definePlugin,
  type ErrorKind,
  type Gateway,
  type GatewayError,
  type Plugin,
  type PluginFactory,
} from "../../core/mod.ts";
import { isPlugin, isPluginFactory } from "../../core/plugin.ts";

/** Returns the options that a plugin is set up with in a gateway. */
async function readOptions(make: (seen: unknown[]) => Plugin): Promise<unknown> {
  const seen: unknown[] = [];
  await createGateway({ plugins: [make(seen)] });
  return seen[0];
}

const schema = v.strictObject({
  url: v.string(),
  retries: v.optional(v.number(), 3),
  auth: v.optional(v.strictObject({ token: v.pipe(v.string(), v.minLength(20)) })),
  mode: v.optional(v.picklist(["fast", "safe"]), "safe"),
});

const client = definePlugin({ name: "client", options: schema, setup: () => {} });
const clientSeen = (seen: unknown[]): PluginFactory<"client", v.InferInput<typeof schema>> =>
  definePlugin({ name: "client", options: schema, setup: (_gateway, options) => void seen.push(options) });

function catchError(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error("It did not fail.");
}

describe("definePlugin", () => {
  test("options are checked when the plugin is made, and defaults are applied", async () => {
    expect(await readOptions((seen) => clientSeen(seen)({ url: "u" }))).toEqual({
      url: "u",
      retries: 3,
      mode: "safe",
    });
    expect(await readOptions((seen) => clientSeen(seen)({ url: "u", retries: 0, mode: "fast" }))).toEqual({
      url: "u",
      retries: 0,
      mode: "fast",
    });
  });

  test("a wrong option names the plugin, the path, what was expected and what was found", () => {
    const error = catchError(() => client({ url: "u", retries: null as unknown as number }));
    expect(error).toMatchObject({
      name: "GatewayError",
      code: "PLUGIN_INVALID",
      message: 'The plugin "client" has a wrong option: retries: expected number, found null.',
      data: { plugin: "client" },
    });
    expect(catchError(() => client({ url: "u", mode: "quick" as "fast" })).message).toBe(
      'The plugin "client" has a wrong option: mode: expected ("fast" | "safe"), found "quick".',
    );
  });

  test("a string that may be a secret is nowhere in the error", () => {
    const token = "sk-live-hunter2";
    const attempts = [
      () => client({ url: "u", auth: { token } }),
      () => client({ url: "u", auth: token as unknown as { token: string } }),
      () => client({ url: "u", retries: token as unknown as number }),
      () => client(token as unknown as { url: string }),
    ];
    for (const attempt of attempts) {
      const error = catchError(attempt);
      expect(error.code).toBe("PLUGIN_INVALID");
      expect(`${error} ${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause)}`).not.toContain(
        token,
      );
    }
    expect(catchError(attempts[0] as () => unknown).message).toContain("auth.token: expected");
  });

  test("an option that does not exist is refused", () => {
    expect(catchError(() => client({ url: "u", retry: 1 } as { url: string })).message).toBe(
      'The plugin "client" has a wrong option: retry: there is no such option.',
    );
    const bare = definePlugin({ name: "bare", setup: () => {} });
    expect(catchError(() => bare({ anything: 1 } as Record<never, never>)).message).toBe(
      'The plugin "bare" has a wrong option: anything: there is no such option.',
    );
  });

  test("options that are no object are refused", () => {
    for (const wrong of [null, 5, "text", true]) {
      expect(catchError(() => client(wrong as unknown as { url: string })).message).toContain(
        "its options: expected",
      );
    }
  });

  test("options that must be given and are not are named", () => {
    const none = client as unknown as () => Plugin;
    expect(catchError(() => none()).message).toMatch(
      /^The plugin "client" has a wrong option: url: .+found nothing\.$/,
    );
  });

  test("each error kind stands under its own code", () => {
    const QUEUE_FULL = defineError("QUEUE_FULL");
    expect(definePlugin({ name: "queue", errors: { QUEUE_FULL }, setup: () => {} }).errors).toEqual({
      QUEUE_FULL,
    });
    const error = catchError(() =>
      definePlugin({ name: "queue", errors: { FULL: QUEUE_FULL }, setup: () => {} }),
    );
    expect(error).toMatchObject({ code: "PLUGIN_INVALID", data: { plugin: "queue" } });
    expect(error.message).toBe(
      'The plugin "queue" declares the error code "QUEUE_FULL" under the key "FULL". Use the code as the key.',
    );
    const errors = { FULL: undefined as unknown as ErrorKind };
    expect(catchError(() => definePlugin({ name: "queue", errors, setup: () => {} })).code).toBe(
      "PLUGIN_INVALID",
    );
  });

  test("configure replaces some options, checks them, and leaves the plugin as it was", async () => {
    const seen: unknown[] = [];
    const first = clientSeen(seen)({ url: "u", retries: 1 });
    const second = first.configure?.({ retries: 2 })?.configure?.({ mode: "fast" });
    expect(catchError(() => first.configure?.({ retries: "x" as unknown as number })).code).toBe(
      "PLUGIN_INVALID",
    );
    await createGateway({ plugins: [second as Plugin] });
    await createGateway({ plugins: [first] });
    expect(seen).toEqual([
      { url: "u", retries: 2, mode: "fast" },
      { url: "u", retries: 1, mode: "safe" },
    ]);
  });

  test("order, services, keys and name are passed on, and `this` is the definition", async () => {
    let self: unknown;
    const definition = {
      name: "late",
      order: "post",
      uses: ["clockwork?"],
      provides: ["almanac"],
      keys: ["lateRules"],
      setup(): void {
        self = this;
      },
    } as const;
    const late = definePlugin(definition);
    expect(late()).toMatchObject({ name: "late", order: "post", keys: ["lateRules"] });
    expect(late()).toMatchObject({ uses: ["clockwork?"], provides: ["almanac"] });
    expect(late.provides).toEqual(["almanac"]);
    expect(late.pluginName).toBe("late");
    await createGateway({ plugins: [late(), client({ url: "u" })] });
    expect(self).toBe(definition);
  });

  test("the gateway is given to setup, with nothing of it running yet", async () => {
    let given: Gateway | undefined;
    const look = definePlugin({
      name: "look",
      setup(gateway) {
        given = gateway;
        expect(gateway.catalog.tools()).toEqual([]);
      },
    });
    const gateway = await createGateway({ plugins: [look()] });
    expect(given?.catalog).toBe(gateway.catalog);
    expect(given?.plugins).toBe(gateway.plugins);
  });

  test("a definition without a name or a setup function is refused", () => {
    const wrong = [{ setup() {} }, { name: "", setup() {} }, { name: 5, setup() {} }, { name: "x" }];
    for (const definition of wrong) {
      const error = catchError(() => definePlugin(definition as unknown as { name: string; setup(): void }));
      expect(error.code).toBe("PLUGIN_INVALID");
    }
  });

  test("the types know which options there are, and whether they may be left out", () => {
    const optional = definePlugin({
      name: "optional",
      options: v.strictObject({ ms: v.optional(v.number(), 1) }),
      setup(_gateway, options) {
        expectTypeOf(options).toEqualTypeOf<{ ms: number }>();
      },
    });
    expectTypeOf(optional).parameters.toEqualTypeOf<[options?: { ms?: number | undefined }]>();
    expectTypeOf(client).parameters.toEqualTypeOf<[options: v.InferInput<typeof schema>]>();
    expectTypeOf(client).returns.toEqualTypeOf<Plugin<"client", v.InferInput<typeof schema>>>();
    expectTypeOf(client.pluginName).toEqualTypeOf<"client">();
    expectTypeOf(client({ url: "u" })).toExtend<Plugin>();
    expectTypeOf<Parameters<NonNullable<ReturnType<typeof client>["configure"]>>[0]>().toEqualTypeOf<
      Partial<v.InferInput<typeof schema>>
    >();
    const bare = definePlugin({ name: "bare", setup: () => {} });
    expectTypeOf(bare).toBeCallableWith();
    expect(bare().name).toBe("bare");
  });
});

describe("isPlugin and isPluginFactory", () => {
  const bare = definePlugin({ name: "bare", setup: () => {} });

  test("a plugin is an object with a name and a setup function", () => {
    expect(isPlugin(bare())).toBe(true);
    expect(isPlugin({ name: "x", setup() {} })).toBe(true);
    const others = [
      bare,
      null,
      undefined,
      "bare",
      {},
      { name: "x" },
      { setup() {} },
      { name: 5, setup() {} },
      [],
    ];
    for (const value of others) expect(isPlugin(value)).toBe(false);
  });

  test("a factory is a function that knows the name of its plugins", () => {
    expect(isPluginFactory(bare)).toBe(true);
    for (const value of [bare(), () => {}, null, undefined, { pluginName: "x" }]) {
      expect(isPluginFactory(value)).toBe(false);
    }
  });
});
