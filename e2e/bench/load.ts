import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { LoadJob, LoadResult } from './load-job.ts';

/** The load generator, in a separate process on the core of the clients. */
export interface LoadGenerator {
  run(job: LoadJob): Promise<LoadResult>;
  stop(): Promise<void>;
}

/** The cores: one for the server under test, one for load generator and backend. */
export const SERVER_CORE = ['taskset', '-c', '0'];
export const CLIENT_CORE = ['taskset', '-c', '1'];

export function startLoadGenerator(): LoadGenerator {
  const [command = '', ...prefix] = CLIENT_CORE;
  const args = [...prefix, process.execPath, join(import.meta.dirname, 'load-worker.ts')];
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        const deadline = setTimeout(
          () => {
            reject(new Error(`the load generator gave no result for port ${job.port}`));
          },
          job.warmUpMs + job.measureMs + 30_000,
        );
        child.once('message', (message) => {
          clearTimeout(deadline);
          const { result, error } = message as { result?: LoadResult; error?: string };
          if (result) resolve(result);
          else reject(new Error(error ?? 'the load generator failed'));
        });
        child.send(job);
      }),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => {
          resolve();
        });
        child.kill('SIGTERM');
      }),
  };
}
