import { NAMES_COMMAND } from './name-kinds.ts';
import { type CommandWords, longFlags, type Values } from './words-of.ts';

/** zsh ends a name at a colon, so colons are replaced. */
const quoted = (text: string): string => `'${text.replaceAll("'", '’').replaceAll(':', ' -')}'`;

const additions = ({ choices, names, folder }: Values, more: readonly string[] = []): string =>
  [
    ...([...more, ...choices].length > 0 ? [`compadd -- ${[...more, ...choices].join(' ')}`] : []),
    ...(names ? [`_vmcp_names ${names}`] : []),
    ...(folder ? ['_files -/'] : []),
  ].join('; ') || ':';

function commandCase({ path, options, values, below }: CommandWords): string {
  return `    '${path.join(' ')}') ${additions(values, [...below, ...longFlags(options)])} ;;`;
}

function valueCases({ path, options }: CommandWords): string[] {
  return options.flatMap(({ flags, values }) =>
    values
      ? [`    ${flags.map((flag) => `'${path.join(' ')} ${flag}'`).join('|')}) ${additions(values)}; return ;;`]
      : [],
  );
}

export function zsh(commands: readonly CommandWords[]): string {
  const tops = commands.filter(({ path }) => path.length === 1);
  const parents = tops.filter(({ below }) => below.length > 0).map(({ path }) => path[0] ?? '');
  const entries = tops.map(
    ({ path, description }) => `    ${quoted(path[0] ?? '').slice(0, -1)}:${quoted(description).slice(1)}`,
  );
  return `#compdef vmcp
# vmcp completion for zsh: source <(vmcp completion zsh)
_vmcp_names() {
  local state=.vmcp
  local at=\${words[(i)--state]}
  (( at < CURRENT )) && state=\${words[at+1]}
  compadd -- \${(f)"$(\${words[1]} ${NAMES_COMMAND} $1 $state 2>/dev/null)"}
}
_vmcp() {
  local -a commands
  commands=(
${entries.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=\${words[2]}
  case $command in ${parents.join('|') || '-'}) (( CURRENT > 3 )) && command="$command \${words[3]}" ;; esac
  case "$command \${words[CURRENT-1]}" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case $command in
${commands.map(commandCase).join('\n')}
  esac
}
compdef _vmcp vmcp
`;
}
