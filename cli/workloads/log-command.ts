import { contextOf, type Parts, readCount } from '../command-parts.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { type LogOptions, logs } from '../logs.ts';
import { addTarget, isCluster, type TargetOptions } from '../management/target.ts';

/** Reads local log files, even if no server runs, or calls the operation of a cluster. */
export function addLogs({ program, deps, stop, finish }: Parts): void {
  const command = program
    .command('logs')
    .description('print the logs of a workload, of an endpoint, or of all that vmcp runs here')
    .argument('[workload]', 'name of a workload or of a VirtualMCPServer, or "vmcp" for vmcp itself; default all')
    .option('-f, --follow', 'follow lines that are appended', false)
    .option('--lines <number>', 'how many lines of each at first', readCount, 100)
    .addHelpText('after', '\nIn a cluster only workloads have logs here, one at a time; those of others kubectl shows.')
    .examples('vmcp logs -f', 'vmcp logs github --lines 20', 'vmcp logs github --context production -n team-a');
  addTarget(command).action(async (name: string | undefined, options: TargetOptions & LogOptions) => {
    const context = contextOf(deps, options);
    finish(
      isCluster(options) ? await ofCluster(name, options, context, stop) : await logs(name, options, context, stop),
    );
  });
}

async function ofCluster(
  name: string | undefined,
  options: TargetOptions & LogOptions,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  if (name === undefined)
    throw new CliError(EXIT_CODES.usage, `in a cluster name a workload: "${context.typed('list')}" shows them`);
  const { printClusterLogs } = await import('./cluster-logs.ts');
  return printClusterLogs(name, options, context, stop);
}
