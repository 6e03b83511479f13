import type { Command } from 'commander';
import type { Output } from './context.ts';
import { EXIT_CODES } from './exit-codes.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Word {
  text: string;
  description: string;
}

interface CommandWords {
  name: string;
  description: string;
  words: Word[];
  /** Whether a folder may follow. */
  folder: boolean;
}

/** Commands with the words that may follow each: its options and the choices of its arguments. */
function wordsOf(program: Command): CommandWords[] {
  return program.commands.map((command) => {
    const options = command.options.map(({ long, description }) => ({ text: long ?? '', description }));
    const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
    const words = [...options, ...choices.map((text) => ({ text, description: '' }))].filter(({ text }) => text !== '');
    const folder = command.registeredArguments.some((argument) => argument.name() === 'folder');
    return { name: command.name(), description: command.description(), words, folder };
  });
}

function bash(commands: CommandWords[]): string {
  const cases = commands.map(
    ({ name, words, folder }) =>
      `    ${name}) words="${words.map(({ text }) => text).join(' ')}"${folder ? ' folders=yes' : ''} ;;`,
  );
  return `# vmcp completion for bash: source <(vmcp completion bash)
_vmcp() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" folders=""
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.map(({ name }) => name).join(' ')}"; fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
  case "\${COMP_WORDS[COMP_CWORD-1]}" in --state) folders=yes ;; esac
  if [ "$COMP_CWORD" -gt 1 ] && [ -n "$folders" ]; then COMPREPLY+=( $(compgen -d -- "$current") ); fi
}
complete -o filenames -F _vmcp vmcp
`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", '’').replaceAll(':', ' -')}'`;

function zsh(commands: CommandWords[]): string {
  const entries = commands.map(
    ({ name, description }) => `    ${quoted(name).slice(0, -1)}:${quoted(description).slice(1)}`,
  );
  const cases = commands.map(
    ({ name, words, folder }) =>
      `    ${name}) compadd -- ${words.map(({ text }) => text).join(' ')}${folder ? '; _files -/' : ''} ;;`,
  );
  return `#compdef vmcp
# vmcp completion for zsh: source <(vmcp completion zsh)
_vmcp() {
  local -a commands
  commands=(
${entries.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "\${words[2]}" in
${cases.join('\n')}
  esac
}
compdef _vmcp vmcp
`;
}

function fish(commands: CommandWords[]): string {
  const lines = commands.flatMap(({ name, description, words }) => [
    `complete -c vmcp -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
    ...words.map(({ text, description: about }) => {
      const word = text.startsWith('--') ? `-l ${text.slice(2)}` : `-f -a ${text}`;
      return `complete -c vmcp -n '__fish_seen_subcommand_from ${name}' ${word} -d ${quoted(about)}`;
    }),
  ]);
  return `# vmcp completion for fish: vmcp completion fish | source\n${lines.join('\n')}\n`;
}

const SCRIPTS: Record<Shell, (commands: CommandWords[]) => string> = { bash, zsh, fish };

/** Prints the script that completes vmcp's commands and options in a shell. */
export function completion(shell: Shell, program: Command, { out }: { out: Output }): number {
  out.write(SCRIPTS[shell](wordsOf(program)));
  return EXIT_CODES.ok;
}
