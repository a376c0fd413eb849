import { spawn } from "node:child_process";

/** Shows an address in the browser of whoever sits here. It is no matter if there is none: the address is printed too. */
export function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", url]
        : ["xdg-open", url];
  spawn(program as string, args, { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
