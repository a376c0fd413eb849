// Completes package-lock.json: npm leaves out the optional packages of platforms that a registry does not serve,
// and `npm ci` then refuses the lock everywhere. To be run after `npm install` where that is so.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const systems = [
  "darwin",
  "linux",
  "win32",
  "android",
  "freebsd",
  "openharmony",
  "openbsd",
  "netbsd",
  "sunos",
  "aix",
];
const processors = ["arm64", "x64", "arm", "ia32", "ppc64", "s390x", "riscv64", "loong64", "wasm32"];

const packages = Object.entries(lock.packages);
for (const [path, { optionalDependencies = {}, dev }] of [...packages]) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (lock.packages[`${path}/node_modules/${name}`] ?? lock.packages[`node_modules/${name}`]) continue;
    const words = name.split(/[/-]/);
    const os = systems.filter((word) => words.includes(word));
    const cpu = processors.filter((word) => words.includes(word));
    if (os.length + cpu.length === 0) throw new Error(`Which platform is ${name} for?`);
    const platform = { ...(cpu.length > 0 && { cpu }), ...(os.length > 0 && { os }) };
    const entry = {
      version: version.replace(/^[\^~]/, ""),
      ...platform,
      ...(dev && { dev }),
      optional: true,
    };
    packages.push([`node_modules/${name}`, entry]);
    lock.packages[`node_modules/${name}`] = entry;
  }
}
packages.sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`);
