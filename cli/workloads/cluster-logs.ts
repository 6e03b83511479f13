import { getWorkloadLogs } from '#management/operations/workloads';
import type { Context } from '../context.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { LogOptions } from '../logs.ts';
import { withApi } from '../management/open-api.ts';
import type { TargetOptions } from '../management/target.ts';
import { writeLog } from '../shown-output.ts';

/** @throws CliError */
export function printClusterLogs(
  name: string,
  options: TargetOptions & LogOptions,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  const { lines, follow } = options;
  return withApi(options, context, stop, async (api) => {
    const query = { lines, follow: follow ? ('true' as const) : ('false' as const) };
    for await (const piece of api.read(getWorkloadLogs, { params: { name }, query })) writeLog(context.out, piece);
    return EXIT_CODES.ok;
  });
}
