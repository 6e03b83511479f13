import { NAMES_COMMAND } from './name-kinds.ts';
import type { CommandWords, Values } from './words-of.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`;

/** Shell functions that find the command by word position: `rm` and `secret rm` are different commands. */
const PLACES = `function __vmcp_in
  set -l words (commandline -opc)
  test (count $words) -gt (count $argv); or return 1
  test (count $argv) -gt 0; or return 0
  for at in (seq (count $argv))
    test $words[(math $at + 1)] = $argv[$at]; or return 1
  end
end
function __vmcp_after
  set -l words (commandline -opc)
  test (count $words) -eq (math (count $argv) + 1); and __vmcp_in $argv
end`;

const NAMES = `function __vmcp_names
  set -l words (commandline -opc)
  set -l state .vmcp
  if set -l at (contains -i -- --state $words)
    set state $words[(math $at + 1)]
  end
  $words[1] ${NAMES_COMMAND} $argv[1] $state 2>/dev/null
end`;

function offered({ choices, names, folder }: Values): string {
  const words = choices.length > 0 ? ` -a ${quoted(choices.join(' '))}` : '';
  const asked = names ? ` -a '(__vmcp_names ${names})'` : '';
  return `${words}${asked}${folder ? " -a '(__fish_complete_directories)'" : ''}`;
}

function lines({ path, description, options, values, below }: CommandWords): string[] {
  const above = ['__vmcp_after', ...path.slice(0, -1)].join(' ');
  const here = `complete -c vmcp -n ${quoted(['__vmcp_in', ...path].join(' '))}`;
  const own = offered(values);
  return [
    `complete -c vmcp -n ${quoted(above)} -f -a ${path.at(-1) ?? ''} -d ${quoted(description)}`,
    ...(own === '' || below.length > 0 ? [] : [`${here} -f${own}`]),
    ...options.map(({ flags, description: about, values: taken }) => {
      const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
      return `${here} ${names.join(' ')}${taken ? ` -x${offered(taken)}` : ' -f'} -d ${quoted(about)}`;
    }),
  ];
}

export function fish(commands: readonly CommandWords[]): string {
  return `# vmcp completion for fish: vmcp completion fish | source\n${PLACES}\n${NAMES}\n${commands.flatMap(lines).join('\n')}\n`;
}
