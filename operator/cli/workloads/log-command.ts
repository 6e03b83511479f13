import { contextOf, examples, type Parts, readCount, type StateOptions, stateOption } from '../command-parts.ts';
import { type LogOptions, logs } from '../logs.ts';

/** `vmcp logs`: from the log files, which are there also when nothing runs. */
export function addLogs({ program, around, stop, finish }: Parts): void {
  program
    .command('logs')
    .description('print the logs of a workload, of an endpoint, or of all that vmcp runs here')
    .argument('[workload]', 'name of a workload or of a VirtualMCPServer, or "vmcp" for vmcp itself; default all')
    .option('-f, --follow', 'go on with what is appended', false)
    .option('--lines <number>', 'how many lines of each at first', readCount, 100)
    .addOption(stateOption())
    .addHelpText('after', examples(around, 'vmcp logs -f', 'vmcp logs github --lines 20'))
    .action(async (name: string | undefined, options: StateOptions & LogOptions) =>
      finish(await logs(name, options, contextOf(around, options), stop)),
    );
}
