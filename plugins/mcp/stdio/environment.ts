import process from "node:process";

const everywhere = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TERM", "SHELL"];
const onWindows = [
  "PATH",
  "PATHEXT",
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "WINDIR",
  "COMSPEC",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "PROGRAMW6432",
  "USERPROFILE",
  "USERNAME",
  "HOMEDRIVE",
  "HOMEPATH",
  "TEMP",
  "TMP",
  "LANG",
  "TZ",
  "PROCESSOR_ARCHITECTURE",
  "NUMBER_OF_PROCESSORS",
];

/** The part of a server's definition that says which variables its process gets. */
export interface NamedVariables {
  readonly env: Readonly<Record<string, string>>;
  readonly envNames?: readonly string[] | undefined;
}

/** Makes the environment of a process: the variables of its definition, and the few without which nothing starts. */
export function childEnvironment(
  { env, envNames = [] }: NamedVariables,
  own: Readonly<Record<string, string | undefined>> = process.env,
  platform: string = process.platform,
): Record<string, string> {
  // Windows knows one variable by any spelling of its name: two spellings would be one of them, at random.
  const spell = platform === "win32" ? (name: string) => name.toUpperCase() : (name: string) => name;
  const allowed = new Set((platform === "win32" ? onWindows : everywhere).map(spell));
  for (const name of envNames) allowed.add(spell(name));
  const named = new Set(Object.keys(env).map(spell));
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || named.has(spell(name))) continue;
    if (allowed.has(spell(name)) || name.startsWith("LC_")) result[name] = value;
  }
  return { ...result, ...env };
}
