import type { ServerConfig } from "../../../core/services/sources.ts";

/** Variables that make a runtime, a shell or a package manager load code, or that decide which program a name means. */
const NAMES = new Set(
  `PATH PATHEXT COMSPEC SHELL ENV BASH_ENV ZDOTDIR PROMPT_COMMAND IFS
  NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE ELECTRON_RUN_AS_NODE BUN_OPTIONS BUN_INSPECT_PRELOAD TS_NODE_PROJECT
  LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT GCONV_PATH GLIBC_TUNABLES
  PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE PYTHONBREAKPOINT PYTHONINSPECT
  PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB LUA_INIT LUA_PATH LUA_CPATH PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER
  JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH DOTNET_STARTUP_HOOKS CORECLR_PROFILER CORECLR_PROFILER_PATH
  GEM_HOME GEM_PATH BUNDLE_GEMFILE GOFLAGS RUSTC_WRAPPER EDITOR VISUAL PAGER BROWSER
  GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PAGER SSH_ASKPASS`.split(/\s+/),
);
const PREFIXES = /^(?:DYLD_|NPM_CONFIG_|YARN_|BUN_CONFIG_|UV_|PIP_|GIT_CONFIG|PNPM_|LD_)/;

/** Whether a variable decides which code a process loads. */
export function isLoaderVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return NAMES.has(upper) || PREFIXES.test(upper);
}

/** Whether a definition is from a file of a project, which a stranger may have written. */
export function isFromProjectFile({ origin }: Pick<ServerConfig, "origin">): boolean {
  return origin.scope === "project" && origin.file !== undefined;
}

/** Formats why a definition with such variables is refused, with the value of each. */
export function refuseLoaderVariables(
  env: Readonly<Record<string, string>>,
  where: string,
): string | undefined {
  const found = Object.entries(env).filter(([name]) => isLoaderVariable(name));
  if (found.length === 0) return undefined;
  const shown = found.map(([name, value]) => `${name}=${JSON.stringify(value.slice(0, 200))}`).join(", ");
  return `${where} sets ${shown}, which decides what code is loaded. A project file must not. Define the server in your own config if you want that.`;
}
