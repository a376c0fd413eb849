import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../core/mod.ts";
import { createResourceWatches } from "../../../plugins/serve/changes.ts";
import type { Resources } from "../../../plugins/serve/providers.ts";
import { until } from "./_http.ts";

/** Resources of which only the watching counts. */
function place(fails = false): { resources: Resources; tell: (uri: string) => void; subscribers: number } {
  const listeners = new Set<(uri: string) => void>();
  const seen = {
    subscribers: 0,
    tell: (uri: string) => {
      for (const listener of listeners) listener(uri);
    },
    resources: {
      async watch(_uri: string, { onUpdate }: { onUpdate: (uri: string) => void }) {
        if (fails) throw new GatewayError("INTERNAL", "No.");
        seen.subscribers++;
        listeners.add(onUpdate);
        return () => {
          seen.subscribers--;
          listeners.delete(onUpdate);
        };
      },
    } as unknown as Resources,
  };
  return seen;
}

describe("what several clients watch", () => {
  test("is watched once, for as long as one of them does", async () => {
    const at = place();
    const watching = createResourceWatches(
      () => at.resources,
      () => {},
    );
    const heard: string[] = [];
    const onUpdate = (uri: string): void => void heard.push(uri);
    const [one, two] = await Promise.all([
      watching.watch("a:b", { onUpdate }),
      watching.watch("a:b", { onUpdate }),
    ]);
    expect(at.subscribers).toBe(1);
    at.tell("a:b/c");
    expect(heard).toEqual(["a:b/c", "a:b/c"]);
    one();
    one();
    at.tell("a:b");
    expect(heard).toHaveLength(3);
    two();
    await until(() => at.subscribers === 0);
    await watching.watch("a:b", { onUpdate });
    expect(at.subscribers).toBe(1);
  });

  test("is not mixed with what others may see of it", async () => {
    const at = place();
    const watching = createResourceWatches(
      () => at.resources,
      () => {},
    );
    for (const id of ["ada", "eve"])
      await watching.watch("a:b", { actor: { id, scopes: [] }, onUpdate: () => {} });
    expect(at.subscribers).toBe(2);
  });

  test("is not kept where it could not be begun", async () => {
    let at = place(true);
    const watching = createResourceWatches(
      () => at.resources,
      () => {},
    );
    await expect(watching.watch("a:b", { onUpdate: () => {} })).rejects.toThrow("No.");
    at = place();
    await watching.watch("a:b", { onUpdate: () => {} });
    expect(at.subscribers).toBe(1);
  });

  test("is watched again in the next gateway that has it, though one in between could not", async () => {
    const [first, last] = [place(), place()];
    let at: Resources | undefined = first.resources;
    const errors: string[] = [];
    const watching = createResourceWatches(
      () => at,
      ({ message }) => errors.push(message),
    );
    const heard: string[] = [];
    const stop = await watching.watch("a:b", { onUpdate: (uri) => void heard.push(uri) });
    for (at of [place(true).resources, undefined, last.resources]) {
      watching.renew();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(errors).toEqual(["No."]);
    expect(first.subscribers).toBe(0);
    last.tell("a:b");
    expect(heard).toEqual(["a:b"]);
    stop();
    await until(() => last.subscribers === 0);
  });
});
