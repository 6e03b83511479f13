import { resolve } from 'node:path';
import { Stalled, Waiting } from '#operator/errors';
import { AlreadyRunning } from '#local/lock';
import { mayHaveRuntime, runtimeChildOf } from '#operator/plan/child-names';
import { runFolder, type RunningFolder } from '#local/run-folder';
import type { LocalStatus } from '#local/local-status-file';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { buildOf } from './build-of.ts';
import { loadFolder, printProblem } from './check-folder.ts';
import { printClientLines } from './client-lines.ts';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { openBeside } from './open-beside.ts';
import { liveTable, plainLines, type ShowStatus } from './show-status.ts';
import { leftOut, progressOf, remarksOf, serversOf, shownName } from './summarise-status.ts';

/** Milliseconds that `up` waits for a silent backend before it reports the rest as ready. */
const BACKENDS_COME = 10_000;
/** The same for backends that answer, but whose tools are not listed yet. */
const TOOLS_COME = 8000;

export function checkThereIsAServer(folder: string, { err }: Pick<Context, 'err'>): void {
  const folderContent = loadFolder(folder);
  for (const notice of folderContent.notices) err.write(`${printProblem(notice)}\n`);
  if (folderContent.manifests.some(mayHaveRuntime)) return;
  const problems = folderContent.problems.map((problem) => `\n${printProblem(problem)}`).join('');
  throw new CliError(
    EXIT_CODES.input,
    `${folder} holds no VirtualMCPServer, and no MCPServer by itself, that could be served${problems}`,
  );
}

/** Restarts after which a runtime counts as broken. */
const RESTARTS = 2;

/** `crashing`: a runtime crashes repeatedly; `stuck`: the user has to act. */
export function readiness(localStatus: LocalStatus, waited: number): 'ready' | 'starting' | 'crashing' | 'stuck' {
  const servers = serversOf(localStatus);
  const progress = servers.map(progressOf);
  const runtimes = new Set(servers.map(runtimeChildOf));
  if (
    localStatus.processes.some(
      ({ name, state, restarts }) => runtimes.has(name) && state === 'waiting' && restarts >= RESTARTS,
    )
  ) {
    return 'crashing';
  }
  if (!localStatus.settled || progress.length === 0 || progress.includes('starting')) return 'starting';
  if (progress.every((one) => one === 'stuck')) return 'stuck';
  if (progress.includes('partly')) return waited < BACKENDS_COME ? 'starting' : 'ready';
  return progress.includes('uncounted') && waited < TOOLS_COME ? 'starting' : 'ready';
}

export function nextSteps(localStatus: LocalStatus, context: Pick<Context, 'typed'>): string[] {
  const served = serversOf(localStatus).filter(({ endpoint }) => endpoint !== null);
  return served.flatMap((server) => {
    const { name, endpoint } = server;
    const without = leftOut(server);
    const shown = shownName(server);
    const what = without.length > 0 ? `${shown}, which serves without ${without.join(', ')}` : shown;
    return [`Connect a client to ${what}:`, ...printClientLines(name, endpoint ?? '', context), ''];
  });
}

export function alreadyRunning({ message: running, lock }: AlreadyRunning, context: Context): CliError {
  const { typed } = context;
  const message = lock.build === buildOf(context) ? running : `${running}, as another build than this one`;
  const remedy = `stop it with "${typed('down')}", or give this one a state folder of its own with --state`;
  return new CliError(EXIT_CODES.alreadyRunning, `${message}: ${remedy}`);
}

async function start(folder: string, context: Context, stop: AbortSignal): Promise<RunningFolder> {
  const secrets = new LocalSecrets(context);
  try {
    return await runFolder({
      ...context,
      build: buildOf(context),
      folder: resolve(folder),
      secrets,
      stop,
      beside: (statusFile) => openBeside(statusFile, context, secrets),
      onProblem: ({ kind, name }, problem) => {
        // The state of the endpoint already shows these.
        const isShown = problem instanceof Stalled || problem instanceof Waiting;
        if (isShown && kind === 'VirtualMCPServer') return;
        const text = problem instanceof Error ? problem.message : String(problem);
        context.err.write(`${kind}/${name}: ${text}\n`);
      },
    });
  } catch (problem) {
    if (problem instanceof AlreadyRunning) throw alreadyRunning(problem, context);
    throw problem;
  }
}

/** Only a port can become free without a change. */
export function stuckCode(localStatus: LocalStatus): number {
  const reasons = serversOf(localStatus).flatMap(({ conditions }) => conditions.map(({ reason }) => reason));
  return reasons.includes('PortInUse') ? EXIT_CODES.notRunning : EXIT_CODES.input;
}

function reasonsOf(localStatus: LocalStatus): string[] {
  const reasons = serversOf(localStatus).flatMap((server) => [
    ...remarksOf(server).map(({ reason, message }) => `${shownName(server)}: ${reason}: ${message}`),
    ...server.backends
      .filter(({ phase }) => phase === 'Excluded')
      .map(({ name, message }) => `${shownName(server)}/${name}: ${message}`),
  ]);
  return [...localStatus.problems.map(printProblem), ...reasons];
}

/** Shows the whole status on a terminal or without reasons, else the reasons only. */
export function showStuck(localStatus: LocalStatus, show: ShowStatus, { out }: Pick<Context, 'out'>): void {
  const reasons = out.isTTY ? [] : reasonsOf(localStatus);
  if (reasons.length > 0) out.write(`${reasons.join('\n')}\n`);
  else show(localStatus);
}

function follow({ statusFile }: RunningFolder, show: ShowStatus, context: Context): () => void {
  const since = Date.now();
  let announced = false;
  function look(): void {
    const steps =
      !announced && readiness(statusFile.localStatus, Date.now() - since) === 'ready'
        ? nextSteps(statusFile.localStatus, context)
        : [];
    announced ||= steps.length > 0;
    show(statusFile.localStatus, steps);
  }
  look();
  statusFile.listen(look);
  const timers = [TOOLS_COME, BACKENDS_COME].map((delay) => setTimeout(look, delay));
  return () => {
    for (const timer of timers) clearTimeout(timer);
  };
}

/** Ends with a specific code if nothing can be served. */
export async function up(folder: string, context: Context, stop: AbortSignal): Promise<number> {
  checkThereIsAServer(folder, context);
  const running = await start(folder, context, stop);
  try {
    const show = context.out.isTTY ? liveTable(context.out, context) : plainLines(context.out);
    const { localStatus } = running.statusFile;
    if (readiness(localStatus, 0) === 'stuck') {
      showStuck(localStatus, show, context);
      return stuckCode(localStatus);
    }
    const leave = follow(running, show, context);
    await new Promise<void>((end) => {
      if (stop.aborted) end();
      stop.addEventListener('abort', () => end(), { once: true });
    });
    leave();
    return EXIT_CODES.ok;
  } finally {
    await running.stop();
  }
}
