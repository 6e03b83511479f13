import { NAMES_COMMAND } from './name-kinds.ts';
import type { CommandWords, Values } from './words-of.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`;

const NAMES = `function __vmcp_names
  set -l words (commandline -opc)
  set -l state .vmcp
  if set -l at (contains -i -- --state $words)
    set state $words[(math $at + 1)]
  end
  $words[1] ${NAMES_COMMAND} $argv[1] $state 2>/dev/null
end`;

/** The words that fish offers: of a list, of a command, or folders. */
function offered({ choices, names, folder }: Values): string {
  const words = choices.length > 0 ? ` -a ${quoted(choices.join(' '))}` : '';
  const asked = names ? ` -a '(__vmcp_names ${names})'` : '';
  return `${words}${asked}${folder ? " -a '(__fish_complete_directories)'" : ''}`;
}

function lines({ path, description, options, values, below }: CommandWords): string[] {
  const [top = '', inner] = path;
  const nobodyYet = inner === undefined ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${top}`;
  const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
  const here = `complete -c vmcp -n ${quoted(seen)}`;
  const own = offered(values);
  return [
    `complete -c vmcp -n ${quoted(nobodyYet)} -f -a ${path.at(-1) ?? ''} -d ${quoted(description)}`,
    ...(own === '' || below.length > 0 ? [] : [`${here} -f${own}`]),
    ...options.map(({ flags, description: about, values: taken }) => {
      const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
      return `${here} ${names.join(' ')}${taken ? ` -x${offered(taken)}` : ' -f'} -d ${quoted(about)}`;
    }),
  ];
}

/** The script that completes vmcp in fish. */
export function fish(commands: readonly CommandWords[]): string {
  return `# vmcp completion for fish: vmcp completion fish | source\n${NAMES}\n${commands.flatMap(lines).join('\n')}\n`;
}
