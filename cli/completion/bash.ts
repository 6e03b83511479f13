import { NAMES_COMMAND } from './name-kinds.ts';
import { type CommandWords, longFlags, type Values } from './words-of.ts';

const assignments = ({ choices, names, folder }: Values, more: readonly string[] = []): string =>
  [
    `words="${[...more, ...choices].join(' ')}"`,
    ...(names ? [`names=${names}`] : []),
    ...(folder ? ['folders=yes'] : []),
  ].join(' ');

function commandCase({ path, options, values, below }: CommandWords): string {
  return `    '${path.join(' ')}') ${assignments(values, [...below, ...longFlags(options)])} ;;`;
}

/** Only the value may follow an option with a value. */
function valueCases({ path, options }: CommandWords): string[] {
  return options.flatMap(({ flags, values }) =>
    values ? [`    ${flags.map((flag) => `'${path.join(' ')} ${flag}'`).join('|')}) ${assignments(values)} ;;`] : [],
  );
}

export function bash(commands: readonly CommandWords[]): string {
  const tops = commands.filter(({ path }) => path.length === 1);
  const parents = tops.filter(({ below }) => below.length > 0).map(({ path }) => path[0] ?? '');
  return `# vmcp completion for bash: source <(vmcp completion bash)
_vmcp() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" names="" folders="" state=".vmcp" at=1 i
  local command="\${COMP_WORDS[1]}"
  case "$command" in ${parents.join('|') || '-'}) if [ "$COMP_CWORD" -gt 2 ]; then command="$command \${COMP_WORDS[2]}"; at=2; fi ;; esac
  for ((i = 1; i < COMP_CWORD; i++)); do if [ "\${COMP_WORDS[i]}" = --state ]; then state="\${COMP_WORDS[i+1]}"; fi; done
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${tops.map(({ path }) => path[0] ?? '').join(' ')}"
  else
    case "$command" in
${commands.map(commandCase).join('\n')}
    esac
    if [ "$COMP_CWORD" -gt "$((at + 1))" ]; then case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${commands
  .flatMap(valueCases)
  .map((line) => line.replace(/\) words/, ') names="" folders="" words'))
  .join('\n')}
    esac; fi
  fi
  if [ -n "$names" ] && [ "\${current:0:1}" != - ]; then words="$words $("\${COMP_WORDS[0]}" ${NAMES_COMMAND} "$names" "$state" 2>/dev/null)"; fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
  if [ -n "$folders" ]; then COMPREPLY+=( $(compgen -d -- "$current") ); fi
}
complete -o filenames -F _vmcp vmcp
`;
}
