import type { Argument, Command, Option } from 'commander';
import { isNameKind, type NameKind } from './name-kinds.ts';

export interface Values {
  choices: readonly string[];
  names: NameKind | undefined;
  folder: boolean;
}

interface OptionWords {
  flags: readonly string[];
  description: string;
  /** Undefined for an option without a value. */
  values: Values | undefined;
}

/** Word lists offer only long flags. */
export const longFlags = (options: readonly OptionWords[]): string[] =>
  options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--')));

export interface CommandWords {
  /** E.g. `['group', 'create']`. */
  path: readonly string[];
  description: string;
  options: readonly OptionWords[];
  values: Values;
  below: readonly string[];
}

/** The name in the help decides: `<workload>`, `[folder]`, `<group>`. */
function valuesOf(name: string, choices: readonly string[] | undefined): Values {
  const isOpen = choices === undefined;
  return {
    choices: choices ?? [],
    names: isOpen && isNameKind(name) ? name : undefined,
    folder: isOpen && name === 'folder',
  };
}

function argumentValues(args: readonly Argument[]): Values {
  const all = args.map((argument) => valuesOf(argument.name(), argument.argChoices));
  return {
    choices: all.flatMap(({ choices }) => choices),
    names: all.find(({ names }) => names !== undefined)?.names,
    folder: all.some(({ folder }) => folder),
  };
}

function optionWords({ long, short, description, flags, argChoices }: Option): OptionWords {
  const [, value] = /[<[]([\w-]+)/.exec(flags) ?? [];
  return {
    flags: [long, short].flatMap((flag) => flag ?? []),
    description,
    values: value === undefined ? undefined : valuesOf(value, argChoices),
  };
}

export function wordsOf(program: Command, above: readonly string[] = []): CommandWords[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.name() !== 'help')
    .flatMap((command) => {
      const path = [...above, command.name()];
      const below = wordsOf(command, path);
      const own: CommandWords = {
        path,
        description: command.description(),
        options: command.options.filter(({ hidden }) => !hidden).map(optionWords),
        values: argumentValues(command.registeredArguments),
        below: below.filter((one) => one.path.length === path.length + 1).map((one) => one.path.at(-1) ?? ''),
      };
      return [own, ...below];
    });
}
