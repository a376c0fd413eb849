import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";

/** The path on Debian. */
const program = "/usr/bin/chromium";
/** Not kept in the repository, but kept of a run in CI. */
const pictures = fileURLToPath(new URL("../../coverage/screenshots/", import.meta.url));

/** Whether there is a browser to test in. */
export const hasChromium: boolean = existsSync(program);

/** Starts a browser that has a new and empty profile, and sends no requests by itself. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: program,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/**
 * Opens an address in a window of its own. Once the test is over, nothing in it may have gone wrong or out, but
 * for what the browser itself says of a refusal that was expected.
 */
export async function openPage(
  browser: Browser,
  url: string,
  { refused = [], ...options }: BrowserContextOptions & { readonly refused?: readonly number[] } = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const wrong: string[] = [];
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    if (!refused.some((status) => message.text().includes(`a status of ${status} `)))
      wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith("data:"))
      wrong.push(`asked for ${request.url()}`);
  });
  onTestFinished(async () => {
    await context.close();
    expect(wrong).toEqual([]);
  });
  await page.goto(url);
  return page;
}

/** Keeps a picture of the whole page. */
export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: `${pictures}${name}.png`, fullPage: true, animations: "disabled" });
}
