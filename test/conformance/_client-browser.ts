/** Does what a browser does with a person who agrees at once: it goes where the login page sends it. */
export async function headlessBrowser(url: string): Promise<void> {
  const page = await fetch(url, { redirect: "manual" });
  const location = page.headers.get("location");
  await page.body?.cancel();
  if (location === null) throw new Error(`The login page answered HTTP ${page.status}.`);
  const back = await fetch(new URL(location, url));
  await back.body?.cancel();
}
