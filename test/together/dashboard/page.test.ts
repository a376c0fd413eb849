import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auth } from "../../../plugins/auth/mod.ts";
import { hasChromium, openPage, picture, startBrowser } from "../../support/browser.ts";
import { people } from "../_people.ts";
import { markup, openDashboard } from "./_dashboard.ts";

/** A machine that does much else at once may take its time. */
const slow = { timeout: 90_000 };

const rows = (page: Page, id: string): Promise<string[]> => page.locator(`#${id} tr`).allInnerTexts();

describe.skipIf(!hasChromium)("the dashboard needs Chromium", slow, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  }, slow.timeout);
  afterAll(() => browser?.close());

  test("shows servers, pending and finished calls, totals and plots, as they change", async () => {
    const { server, url, release } = await openDashboard();
    const { gateway } = server;
    for (let count = 0; count < 12; count++) await gateway.run({ tool: "local:ok" });
    await gateway.run({ tool: "local:fail" });
    await gateway.run({ tool: "local:missing api_key=canary" });
    const page = await openPage(browser, url, { colorScheme: "light" });
    await page.locator("#calls tr").nth(13).waitFor();
    const servers = await rows(page, "servers");
    expect(servers.find((row) => row.startsWith("broken"))).toMatch(/error/);
    expect(servers.find((row) => row.startsWith("files"))).toMatch(/needs approval/);
    expect(servers.find((row) => row.startsWith("local"))).toMatch(/ready/);
    const totals = await page.locator("#figures > div").allInnerTexts();
    expect(totals.find((text) => text.startsWith("Calls"))).toContain("14");
    expect(totals.find((text) => text.startsWith("Tokens saved"))).toMatch(/[1-9]\d\d\n9\d %/);
    expect(await page.locator("#chart-calls").getAttribute("aria-label")).toContain("14, of which 2 failed");
    expect(await page.locator(".chart canvas").count()).toBe(2);

    const call = gateway.run({ tool: "local:wait" });
    await page.locator("#live th", { hasText: "local:wait" }).waitFor();
    await picture(page, "dashboard-light");
    release();
    await call;
    await page.locator("#calls th", { hasText: "local:wait" }).waitFor();
    await page.locator("#live", { hasText: "Nothing is under way." }).waitFor();
    expect(await page.content()).not.toContain("canary");
  });

  test("filters the calls by words, server and outcome", async () => {
    const { server, url } = await openDashboard();
    for (const tool of ["local:ok", "local:fail", "local:ok", "unknown:tool"])
      await server.gateway.run({ tool });
    const page = await openPage(browser, url);
    await page.locator("#calls tr").nth(3).waitFor();
    await page.selectOption("#filter-outcome", "ok");
    await expect.poll(() => rows(page, "calls"), slow).toHaveLength(2);
    await page.locator("#filter-reset").click();
    await page.fill("#filter-text", "KNOWS resolve");
    await expect.poll(() => rows(page, "calls"), slow).toHaveLength(1);
    await page.fill("#filter-text", "nothing like it");
    expect(await rows(page, "calls")).toEqual(["No call is like that."]);
    await page.fill("#filter-text", "");
    await page.selectOption("#filter-server", "local");
    await expect.poll(() => rows(page, "calls"), slow).toHaveLength(3);
    // Later calls are filtered too.
    await server.gateway.run({ tool: "local:ok" });
    await server.gateway.run({ tool: "unknown:tool" });
    await expect.poll(() => rows(page, "calls"), slow).toHaveLength(4);
    expect(await page.locator("#calls-count").textContent()).toBe("4 of 6");
  });

  test("lets a user grant and refuse what waits, with the keyboard alone", async () => {
    const { server, url } = await openDashboard();
    const page = await openPage(browser, url, { colorScheme: "dark" });
    await page.locator("#pending li").nth(1).waitFor();
    await picture(page, "dashboard-dark");
    const focused = (): Promise<string | null> =>
      page.evaluate("document.activeElement.getAttribute('aria-label')");
    for (let count = 0; count < 30 && (await focused()) !== "Grant the server files"; count++)
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator("#pending li", { hasText: "files" }).waitFor({ state: "detached" });
    // It is connected to without a restart.
    const row = page.locator("#servers tr", { hasText: "files" });
    await row.filter({ hasText: "connected" }).waitFor();
    expect((await server.gateway.run({ tool: "files:echo", args: { text: "yes" } })).ok).toBe(true);
    // The next one to decide on has the focus.
    expect(await focused()).toBe("Grant the server other");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator("#pending-card").waitFor({ state: "hidden" });
    expect(server.gateway.services.servers?.status("other")?.status).toBe("needs-approval");
  });

  test("escapes all markup of servers", async () => {
    const { server, url } = await openDashboard();
    await server.gateway.run({ tool: `x:${markup}`, actor: { id: markup, scopes: [] } });
    const page = await openPage(browser, url);
    await page.locator("#calls tr").first().waitFor();
    await page.locator("#pending li").first().waitFor();
    expect(await page.locator("#calls, #servers, #pending").locator("img, script").count()).toBe(0);
    expect(await page.locator("#calls").textContent()).toContain("<img src=x");
    expect(await page.title()).toBe("toolpipe dashboard");
  });

  test("asks for a token where one is needed, and keeps it for the tab only", async () => {
    const [ann, bob] = people.tokens ?? [];
    if (!ann || !bob) throw new Error("There are no users.");
    const { server, url } = await openDashboard([auth({ tokens: [{ ...ann, scopes: ["admin"] }, bob] })]);
    await server.gateway.run({ tool: "local:ok" });
    const page = await openPage(browser, url, { refused: [401, 403] });
    await page.locator("#sign-in").waitFor();
    expect(await page.locator("#content").isVisible()).toBe(false);
    await picture(page, "dashboard-sign-in");
    const signIn = async (token: string): Promise<void> => {
      await page.fill("#key", token);
      await page.keyboard.press("Enter");
    };
    await signIn("tp_eve");
    await page.locator("#sign-in-why", { hasText: "not known" }).waitFor();
    await signIn("tp_bob");
    await page.locator("#sign-in-why", { hasText: 'the scope "admin"' }).waitFor();
    await signIn("tp_ann");
    await page.locator("#calls th", { hasText: "local:ok" }).waitFor();
    expect(await page.locator("#about").textContent()).toMatch(/^ann/);
    await page.reload();
    await page.locator("#calls th", { hasText: "local:ok" }).waitFor();
    expect(await page.evaluate("JSON.stringify(localStorage) + document.cookie")).not.toContain("tp_ann");
    await page.getByRole("button", { name: "Grant the server files" }).click();
    await page.locator("#toast", { hasText: "files was granted" }).waitFor();
    await page.locator("#leave").click();
    await page.locator("#sign-in").waitFor();
    await page.reload();
    await page.locator("#sign-in").waitFor();
  });

  test("can be read on a phone: nothing is wider than the screen", async () => {
    const { server, url } = await openDashboard();
    await server.gateway.run({ tool: "local:ok" });
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
    const page = await openPage(browser, url, phone);
    await page.locator("#calls th", { hasText: "local:ok" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await picture(page, "dashboard-phone");
  });
});
