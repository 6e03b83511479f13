import type { Argument, Command, Option } from 'commander';
import { isNameKind, type NameKind } from './name-kinds.ts';

/** The permitted values of an argument or option. */
export interface Values {
  choices: readonly string[];
  names: NameKind | undefined;
  folder: boolean;
}

interface OptionWords {
  /** All flags of the option, e.g. `--output` and `-o`. */
  flags: readonly string[];
  description: string;
  /** Undefined for an option without a value. */
  values: Values | undefined;
}

/** Returns the long flags. Word lists offer only these. */
export const longFlags = (options: readonly OptionWords[]): string[] =>
  options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--')));

/** A command or subcommand with its options and arguments. */
export interface CommandWords {
  /** E.g. `['group', 'create']`. */
  path: readonly string[];
  description: string;
  options: readonly OptionWords[];
  values: Values;
  /** Names of its subcommands. */
  below: readonly string[];
}

/** Returns the values of an argument or option by its name in the help: `<workload>`, `[folder]`, `<group>`. */
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

/** Returns all visible commands of a program, parents before their subcommands. */
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
