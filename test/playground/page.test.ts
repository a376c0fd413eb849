import { Buffer } from "node:buffer";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Playground, servePlayground } from "../../playground/server.ts";
import { hasChromium, openPage, picture, startBrowser } from "../support/browser.ts";
import { lines } from "./_playground.ts";

const query = "show me what is inside a text file";

/** A machine that does much else at once may take its time. */
const slow = { timeout: 90_000 };

/** Opens the page; it is ready when it knows the catalog. */
async function openReadyPage(...given: Parameters<typeof openPage>): Promise<Page> {
  const page = await openPage(...given);
  await page.locator("#columns .column").first().waitFor({ state: "attached" });
  return page;
}

async function search(page: Page, text: string): Promise<void> {
  await page.fill("#query", text);
  await page.locator(".hit").first().waitFor();
}

/** The ids of what a column shows, best first. */
function listIds(page: Page, column: number): Promise<(string | null)[]> {
  return page
    .locator(`.column:nth-of-type(${column}) .hit`)
    .evaluateAll((hits) => hits.map((hit) => hit.getAttribute("data-tool")));
}

/** Runs the labelled set to its end. */
async function run(page: Page): Promise<void> {
  await page.locator("#start").click();
  await page.locator("#progress").waitFor({ state: "hidden" });
  await page.locator("#metrics tbody tr").first().waitFor();
}

async function slide(page: Page, path: string, value: number): Promise<void> {
  const slider = page.locator(`[data-path="${path}"]`).first();
  if (!(await slider.isVisible())) await page.getByRole("button", { name: "Tune" }).first().click();
  await slider.fill(String(value));
}

/** Chooses a file as a person does, and waits until the page has told of it. */
async function choose(page: Page, name: string, text: string, told: string): Promise<void> {
  await page.locator("#chooser").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  await page.locator("#toast", { hasText: told }).waitFor();
}

describe.skipIf(!hasChromium)("the page needs Chromium", slow, () => {
  let browser: Browser;
  let playground: Playground;
  let url = "";
  beforeAll(async () => {
    [browser, playground] = await Promise.all([startBrowser(), servePlayground()]);
    url = playground.url;
  }, slow.timeout);
  afterAll(async () => {
    await browser?.close();
    await playground?.close();
  });

  test("shows rankers side by side, and where a score comes from", async () => {
    const page = await openReadyPage(browser, `${url}#r=keyword&r=simple`, { colorScheme: "light" });
    await search(page, query);
    expect(await page.locator(".column").count()).toBe(2);
    expect((await listIds(page, 1)).length).toBeGreaterThan(3);
    expect(await page.locator(".column .meta").first().textContent()).toMatch(
      /^[\d.]+ (µs|ms) · \d+ tokens$/,
    );
    const hit = page.locator(".hit").first();
    await hit.click();
    expect(await hit.getAttribute("aria-expanded")).toBe("true");
    const matrix = page.locator(".matrix").first();
    const heads = await matrix.locator("thead th").allTextContents();
    expect(heads).toEqual(expect.arrayContaining(["word", "name", "sum"]));
    expect(await matrix.locator("tbody th").allTextContents()).toContain("text");
    await picture(page, "search-light");
  });

  test("ranks again while a slider moves, and back when it is reset", async () => {
    const page = await openReadyPage(browser, `${url}#r=keyword&r=keyword`);
    await search(page, query);
    const usual = await listIds(page, 1);
    for (const path of ["name", "summary", "description"]) await slide(page, `keyword.weights.${path}`, 0);
    await expect.poll(() => listIds(page, 1), slow).not.toEqual(usual);
    expect(await listIds(page, 2)).toEqual(usual);
    await picture(page, "search-tuned");
    await page.getByRole("button", { name: "Reset" }).first().click();
    await expect.poll(() => listIds(page, 1), slow).toEqual(usual);
  });

  test("follows the system's dark mode, and stores the user's own choice", async () => {
    const ground = (page: Page): Promise<string> =>
      page.evaluate("getComputedStyle(document.body).backgroundColor");
    const light = await openReadyPage(browser, url, { colorScheme: "light" });
    const bright = await ground(light);
    await light.locator("#theme").click();
    const dark = await openReadyPage(browser, url, { colorScheme: "dark" });
    expect(await ground(dark)).not.toBe(bright);
    expect(await ground(light)).toBe(await ground(dark));
    await light.reload();
    await light.locator(".column").first().waitFor();
    expect(await ground(light)).toBe(await ground(dark));
    await search(dark, query);
    await dark.locator(".hit").nth(1).click();
    await picture(dark, "search-dark");
  });

  test("can be read on a phone: nothing is wider than the screen", async () => {
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
    const page = await openReadyPage(browser, url, phone);
    const width = (): Promise<number> => page.evaluate("document.documentElement.scrollWidth");
    await search(page, query);
    await page.locator(".hit").first().tap();
    expect(await width()).toBe(390);
    await picture(page, "search-phone");
    await page.getByRole("tab", { name: "Evaluate" }).tap();
    await run(page);
    expect(await width()).toBe(390);
    await picture(page, "evaluate-phone");
  });

  test("can be used with the keyboard alone", async () => {
    const page = await openReadyPage(browser, `${url}#r=keyword&r=simple`);
    const { keyboard } = page;
    const focused = (part: string): Promise<unknown> => page.evaluate(`document.activeElement.${part}`);
    const tabTo = async (part: string, value: string): Promise<void> => {
      for (let step = 0; step < 15 && (await focused(part)) !== value; step++) await keyboard.press("Tab");
      expect(await focused(part)).toBe(value);
    };
    await keyboard.press("/");
    // Half-typed queries are answered too; the checks below are about the last answer.
    const last = page.waitForResponse((response) => response.request().postData()?.includes(query) ?? false);
    await keyboard.type(query);
    await (await last).finished();
    for (const column of [1, 2]) await page.locator(`.column:nth-of-type(${column}) .hit`).nth(2).waitFor();
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    await keyboard.press("Enter");
    expect(await page.locator(".breakdown:visible").count()).toBe(1);
    await keyboard.press("ArrowRight");
    expect(await focused('closest(".column").dataset.series')).toBe("2");
    await keyboard.press("ArrowUp");
    await keyboard.press("ArrowUp");
    expect(await focused("id")).toBe("query");
    await tabTo("textContent", "Tune");
    await keyboard.press("Enter");
    await tabTo("type", "range");
    await keyboard.press("Home");
    await expect.poll(() => page.url(), slow).toContain("r=keyword*keyword.weights.name*0&");

    await keyboard.press("r");
    await page.locator("#metrics tbody tr").first().waitFor();
    expect(await page.locator("#evaluate").isVisible()).toBe(true);
    await keyboard.press("p");
    await page.locator("#unpin").waitFor();
    await keyboard.press("?");
    await page.locator("#key-list[open]").waitFor();
    await keyboard.press("Escape");
    await keyboard.press("s");
    expect(await page.locator("#search").isVisible()).toBe(true);
    await keyboard.press("n");
    await page.locator("#wanted").waitFor();
  });

  test("keeps the scroll position when a later answer comes", async () => {
    const page = await openReadyPage(browser, `${url}#r=keyword&r=simple`);
    await search(page, query);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/api\/rank/, async (route) => {
      await held;
      await route.continue();
    });
    await page.fill("#query", `${query} please`);
    await page.locator(".column:nth-of-type(2) .hit").nth(3).focus();
    await page.evaluate("document.activeElement.dataset.old = 'yes'");
    release();
    await page.locator("[data-old]").waitFor({ state: "detached" });
    const hits = page.locator(".column:nth-of-type(2) .hit");
    expect(await hits.nth(3).evaluate((hit) => hit.matches(":focus"))).toBe(true);
  });

  test("escapes all markup in tool definitions", async () => {
    const page = await openReadyPage(browser, `${url}#r=keyword&r=simple`);
    const attack = `<img src=x onerror="pwned=1"><script>pwned=1</script><a href="javascript:pwned=1">go</a>`;
    const evil = { server: `<b>${attack}`, name: `read_file${attack}`, description: `Reads. ${attack}` };
    const queries = [
      { query: `read file ${attack}`, relevant: [attack] },
      { query: "reads", relevant: [] },
    ];
    await choose(page, `${attack.replaceAll("/", "")}.jsonl`, lines([evil]), "1 tool");
    await choose(page, "queries.jsonl", lines(queries), "2 labelled queries");
    await search(page, `read file ${attack}`);
    for (const hit of await page.locator(".hit").all()) await hit.click();
    expect(await page.locator(".description").first().textContent()).toBe(evil.description);
    expect(await page.locator("#wanted code").textContent()).toBe(attack);
    await page.getByRole("tab", { name: "Evaluate" }).click();
    await run(page);
    expect(await page.locator("main img, main a, main b b, main script").count()).toBe(0);
    expect(await page.evaluate("'pwned' in window")).toBe(false);
  });

  test("says in a sentence what is wrong with a file", async () => {
    const page = await openReadyPage(browser, url, { refused: [400] });
    await choose(page, "bad.jsonl", "{}", "bad.jsonl:1: name: expected a value, found nothing.");
    await picture(page, "error");
  });

  test("takes a file that is dropped on it", async () => {
    const page = await openReadyPage(browser, url);
    const text = lines([{ server: "mail", name: "send_mail", description: "Sends a mail." }]);
    await page.evaluate(`{
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([${JSON.stringify(text)}], "dropped.jsonl"));
      dispatchEvent(new DragEvent("drop", { dataTransfer }));
    }`);
    await page.locator("#size", { hasText: "1 tool, 1 server" }).waitFor();
    await search(page, "mail");
    expect(await listIds(page, 1)).toEqual(["mail:send_mail"]);
  });

  test("has everything in its link", async () => {
    const page = await openReadyPage(browser, `${url}#catalog=demo&r=keyword&r=simple`);
    await search(page, query);
    await slide(page, "keyword.weights.name", 0.5);
    await page.getByRole("button", { name: "+ Compare" }).click();
    await page.locator(".ranker").nth(2).selectOption("tag");
    await expect.poll(() => page.url(), slow).toContain("r=tag");

    const other = await openReadyPage(browser, page.url());
    await other.locator(".hit").first().waitFor();
    expect(await other.locator("#query").inputValue()).toBe(query);
    expect(await other.locator("#catalog").inputValue()).toBe("demo");
    for (const [at, name] of ["keyword", "simple", "tag"].entries())
      expect(await other.locator(".ranker").nth(at).inputValue()).toBe(name);
    expect(await other.locator('[data-path="keyword.weights.name"]').inputValue()).toBe("0.5");
    await expect.poll(() => listIds(page, 1), slow).toEqual(await listIds(other, 1));
  });

  test("opens a link that names what is not here", async () => {
    const page = await openReadyPage(
      browser,
      `${url}#r=nope&r=keyword*nope*1*keyword.k1*99&catalog=gone&set=gone`,
    );
    expect(await page.locator(".ranker").count()).toBe(1);
    await search(page, query);
  });

  test("gives an experiment as a config", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const page = await openReadyPage(browser, `${url}#r=keyword*keyword.k1*2`, { permissions });
    await page.getByRole("button", { name: "Config" }).click();
    // The server writes it.
    await page.locator("#snippet-text", { hasText: "search" }).waitFor();
    const text = await page.locator("#snippet-text").textContent();
    expect(text).toContain(`search: { ranker: "keyword", keyword: { k1: 2 } }`);
    await picture(page, "config");
    await page.locator("#snippet-copy").click();
    await page.locator("#toast", { hasText: "The config was copied." }).waitFor({ state: "attached" });
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(text);
  });

  test("draws an evaluation, and lists what got worse than the baseline that was pinned", async () => {
    const page = await openReadyPage(
      browser,
      `${url}#view=evaluate&catalog=demo&set=demo&r=keyword&r=simple`,
    );
    await run(page);
    expect(await page.locator("#metrics tbody tr").count()).toBe(2);
    expect(await page.locator("#metrics thead th").allTextContents()).toEqual(
      expect.arrayContaining(["R@1", "R@5", "R@10", "nDCG@10", "MRR", "Silent", "p50", "p95", "Tokens"]),
    );
    expect(await page.locator(".chart canvas").count()).toBe(4);
    await page.locator("#pin").click();
    expect(await page.locator("#tally").textContent()).toMatch(/^0 worse · 0 better/);

    await page.getByRole("tab", { name: "Search" }).click();
    for (const path of ["name", "summary"]) await slide(page, `keyword.weights.${path}`, 0);
    await page.getByRole("tab", { name: "Evaluate" }).click();
    await run(page);
    expect(await page.locator("#tally").textContent()).toMatch(/^[1-9]\d* worse/);
    expect(await page.locator("#metrics .worse").count()).toBeGreaterThan(0);
    await page.locator("#chart-recall .u-over").hover();
    await picture(page, "evaluate-light");
    await page.locator("#theme").click();
    await picture(page, "evaluate-dark");

    const lost = page.locator("#losses .link").first();
    const text = await lost.textContent();
    await lost.click();
    expect(await page.locator("#query").inputValue()).toBe(text);
    await page.locator("#wanted").waitFor();
  });

  test("tells how far a long evaluation is, stays at hand meanwhile, and cancels it", async () => {
    const page = await openReadyPage(browser, `${url}#view=evaluate&catalog=demo&r=keyword&r=simple`);
    const many = Array.from({ length: 50_000 }, (_, index) => ({ query: `read file ${index}` }));
    await choose(page, "many.jsonl", lines(many), "50,000 labelled queries");
    await page.locator("#start").click();
    const progress = (): Promise<number> => page.evaluate("document.getElementById('progress-bar').value");
    await expect.poll(progress, slow).toBeGreaterThan(0.005);
    expect(await page.locator("#progress-text").textContent()).toMatch(/^keyword [\d,]+ of 50,000$/);
    await picture(page, "evaluate-progress");
    await page.getByRole("tab", { name: "Search" }).click();
    await search(page, query);
    await page.getByRole("tab", { name: "Evaluate" }).click();
    expect(await progress()).toBeLessThan(1);
    await page.locator("#cancel").click();
    await page.locator("#run-note", { hasText: "Cancelled." }).waitFor();
    expect(await page.locator("#start").isVisible()).toBe(true);
    expect(await page.locator("#report").isVisible()).toBe(false);
  });
});
