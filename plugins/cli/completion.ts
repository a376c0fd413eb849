import { nearest } from "../../core/nearest.ts";
import { type Command, defineCommand } from "../../core/services/command.ts";
import { usageError } from "../lib/terminal/output.ts";

/** What each shell needs to ask for the words that fit; whatever fails there is not shown. */
const scripts: Readonly<Record<string, string>> = {
  bash: `# For every new shell: toolpipe completion bash >> ~/.bashrc
_toolpipe() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(toolpipe __complete -- "\${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -o default -F _toolpipe toolpipe anygpt
`,
  zsh: `#compdef toolpipe anygpt
# For every new shell: toolpipe completion zsh >> ~/.zshrc, after compinit
_toolpipe() {
  local -a found
  found=(\${(f)"$(toolpipe __complete -- "\${(@)words[1,CURRENT]}" 2>/dev/null)"})
  if (( \${#found} )); then
    compadd -a found
  else
    _files
  fi
}
compdef _toolpipe toolpipe anygpt
`,
  fish: `# For every new shell: toolpipe completion fish > ~/.config/fish/completions/toolpipe.fish
function __toolpipe_complete
  set -l current (commandline -ct)
  toolpipe __complete -- (commandline -opc) "$current" 2>/dev/null
end
complete -c toolpipe -a '(__toolpipe_complete)'
complete -c anygpt -a '(__toolpipe_complete)'
`,
  // Older ones lose an argument that is empty, so there is a space in its place.
  powershell: `# For every new shell: toolpipe completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName toolpipe, anygpt -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += ' ' }
  toolpipe __complete -- @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};

const shells = Object.keys(scripts);

/** Prints what makes a shell complete commands, options, servers and tools. */
export const completion: Command = defineCommand({
  args: { shell: { type: "positional", required: true, description: shells.join(", ") } },
  async run({ shell }) {
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) {
      const hint = nearest(shell, shells);
      throw usageError(`There is no script for "${shell}"${hint ? `; did you mean "${hint}"?` : "."}`);
    }
    process.stdout.write(script);
  },
});
