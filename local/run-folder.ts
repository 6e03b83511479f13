import { rmSync } from 'node:fs';
import { systemClock } from '#operator/queue';
import { reconcile } from '#operator/reconcile';
import { ToldProblems } from '#operator/told-problems';
import type { LocalFacts, ResourceKey } from '#operator/snapshot';
import { endLeftovers } from './children-record.ts';
import { removeNoted } from './containers.ts';
import { dropOldLogins } from './generated-secrets.ts';
import { takeLock } from './lock.ts';
import { boundLog } from './log-file.ts';
import { LocalPlatform } from './platform.ts';
import type { SecretsSource } from './stored-secrets.ts';
import { openState, type StateFolder } from './state-folder.ts';
import { LocalStatusFile } from './local-status-file.ts';
import { writeFileAtomic } from '#lib/files/write-file';

/** Milliseconds for current work before the children are ended. */
const WORK_ENDS = 500;

interface RunOptions {
  folder: string;
  state: StateFolder;
  build: string;
  runtime: string[];
  environment: NodeJS.ProcessEnv;
  containerEngine: LocalFacts['containerEngine'];
  secrets: SecretsSource;
  /** Ends the wait for the first round; the caller must still call `stop` of the returned folder. */
  stop: AbortSignal;
  /** Called once, until the problem changes. */
  onProblem: (key: ResourceKey, problem: unknown) => void;
  /** Called once the state folder is locked and before anything is reported as ready. */
  beside?: (statusFile: LocalStatusFile) => Promise<Closable | undefined>;
}

interface Closable {
  close(): Promise<void>;
}

export interface RunningFolder {
  statusFile: LocalStatusFile;
  /** Takes at most 5 s. */
  stop(): Promise<void>;
}

/** Files that are needed only while vmcp runs, such as secret files. */
function dropRun(state: StateFolder): void {
  for (const path of [state.status, state.run]) rmSync(path, { recursive: true, force: true });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Resolves when every resource has been reconciled once. @throws AlreadyRunning when another process holds the state folder */
export async function runFolder(options: RunOptions): Promise<RunningFolder> {
  const { folder, state } = options;
  openState(state);
  const giveBack = takeLock(state, folder, options.build);
  let beside: Closable | undefined;
  try {
    await clearUp(options);
    const statusFile = new LocalStatusFile(state, folder);
    beside = await options.beside?.(statusFile);
    return await runBeside(beside, statusFile, options, giveBack);
  } catch (problem) {
    await beside?.close();
    giveBack();
    throw problem;
  }
}

async function clearUp({ folder, state, environment }: RunOptions): Promise<void> {
  writeFileAtomic(state.lastFolder, folder);
  endLeftovers(state);
  await removeNoted(state, environment);
  boundLog(state.ownLog);
  dropRun(state);
  dropOldLogins(state, systemClock.now());
}

async function runBeside(
  beside: Closable | undefined,
  statusFile: LocalStatusFile,
  options: RunOptions,
  giveBack: () => void,
): Promise<RunningFolder> {
  const platform = new LocalPlatform({ ...options, statusFile, clock: systemClock });
  const told = new ToldProblems();
  const onProblem: RunOptions['onProblem'] = (key, problem) => {
    if (told.note(key, problem)) options.onProblem(key, problem);
  };
  const reconciling = await reconcile(platform, systemClock, onProblem, {
    onWork: (key, result) => {
      if (result === 'success') told.solved(key);
    },
  });
  await Promise.race([reconciling.idle(), aborted(options.stop)]);
  statusFile.settle();
  return {
    statusFile,
    async stop() {
      await beside?.close();
      const worked = reconciling.stop();
      await Promise.race([worked, new Promise((resolve) => setTimeout(resolve, WORK_ENDS))]);
      await platform.stopChildren();
      await removeNoted(options.state, options.environment);
      await worked;
      dropRun(options.state);
      giveBack();
    },
  };
}
