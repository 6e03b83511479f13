import type { Argument, Command, Option } from 'commander';
import { isNameKind, type NameKind } from './name-kinds.ts';

/** What may stand somewhere. */
export interface Values {
  choices: readonly string[];
  names: NameKind | undefined;
  folder: boolean;
}

interface OptionWords {
  /** `--output`, and `-o` where there is one. */
  flags: readonly string[];
  description: string;
  /** Undefined where no value follows. */
  values: Values | undefined;
}

/** The flags of options that have two hyphens: those that are offered in a list of words. */
export const longFlags = (options: readonly OptionWords[]): string[] =>
  options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--')));

/** A command, or one below another, with what may follow it. */
export interface CommandWords {
  /** `['group', 'create']`. */
  path: readonly string[];
  description: string;
  options: readonly OptionWords[];
  values: Values;
  /** Names of the commands below it. */
  below: readonly string[];
}

/** What an argument or the value of an option is follows from the name that it has in the help: `<workload>`, `[folder]`, `<group>`. */
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

/** All commands of a program that its help shows, those above before those below. */
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
