import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { millisecondsOf } from '#crds/parts/primitives';
import { locateState } from '#local/state-folder';
import type { Context, RecordFormat } from './context.ts';
import { quoted } from './name-program.ts';

export type CommandDeps = Omit<Context, 'state' | 'typed'>;

export const folderArgument = (): Argument =>
  new Argument('[folder]', 'folder with *.yaml manifests').default('.', 'the working directory');

export const manifestsArgument = (): Argument =>
  new Argument('[path...]', 'folder with *.yaml manifests, file, or - for standard input').default(
    ['.'],
    'the working directory',
  );

export const referencesOption = (): Option =>
  new Option('--references <how>', 'what a Secret or ConfigMap is that no manifest holds')
    .choices(['error', 'warn'])
    .default('error');

export function readDuration(text: string): number {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) throw new InvalidArgumentError('Write a duration such as 30s or 2m.');
  return millisecondsOf(text);
}

/** `usual` is the default with its unit. */
export const timeoutOption = (description: string, usual: string): Option =>
  new Option('--timeout <duration>', description).argParser(readDuration).default(readDuration(usual), usual);

export function readCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Write a number of lines.');
  return Number(text);
}

export const output = (...choices: RecordFormat[]): Option =>
  new Option('-o, --output <format>', 'how to print').choices(choices).default(choices[0]);
export const listOptions = <C extends Command>(command: C): C =>
  command
    .option('-w, --watch', 'go on, and show what changes', false)
    .addOption(output('table', 'json', 'yaml', 'name'));
export const USUAL_STATE = '.vmcp';
export const stateOption = (): Option =>
  new Option('--state <folder>', 'where vmcp keeps what it makes').default(USUAL_STATE, `./${USUAL_STATE}`);

/** Command whose help ends with examples. */
export class ExplainedCommand extends Command {
  readonly #called: string;

  /** `called` is the text that starts vmcp here. */
  constructor(name: string | undefined, called: string) {
    super(name);
    this.#called = called;
  }

  override createCommand(name?: string): ExplainedCommand {
    return new ExplainedCommand(name, this.#called);
  }

  /** Replaces `vmcp` by the text that starts it here. */
  examples(...lines: string[]): this {
    const shown = lines.map((line) => `  $ ${line.replaceAll(/\bvmcp(?= )/g, () => this.#called)}`);
    return this.addHelpText('after', `\nExamples:\n${shown.join('\n')}`);
  }
}

export interface Parts {
  program: ExplainedCommand;
  deps: CommandDeps;
  stop: AbortSignal;
  finish: (code: number) => void;
}

export interface StateOptions {
  state: string;
}

/** A suggested command has to repeat these options. */
interface Where extends StateOptions {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
  apiGroup?: string | undefined;
}

export const contextOf = (deps: CommandDeps, where: Where): Context => ({
  ...deps,
  state: locateState(where.state),
  typed: (command) => [deps.program, command, ...againOf(where)].join(' '),
});

function againOf({ state, kubeconfig, context, namespace, apiGroup }: Where): string[] {
  const place = { kubeconfig, context, 'api-group': apiGroup, namespace };
  const options = { state: state === USUAL_STATE ? undefined : state, ...place };
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, quoted(value)]));
}
