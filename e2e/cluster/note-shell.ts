import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Program, startProgram } from '../gateway/start-program.ts';
import { PROGRAM } from '../local/run-vmcp.ts';
import { helm } from './chart.ts';
import { untilForwarded } from './forward-ports.ts';
import { type Finished, runProgram } from './run-program.ts';
import type { Cluster } from './use-cluster.ts';

/** Longer than the timeouts in the notes, so that a command can report its own timeout. */
const DEADLINE_MS = 240_000;

/** Returns the commands that the notes of a release print, verbatim and in order. */
export async function readNotes(cluster: Cluster, release: string, namespace: string): Promise<string[]> {
  const { code, stdout, stderr } = await helm(cluster, ['get', 'notes', release, '-n', namespace]);
  if (code !== 0) throw new Error(`helm get notes ${release}: ${stderr}`);
  return [...stdout.matchAll(/^ {2}(\S.*)$/gm)].map(([, command = '']) => command);
}

/** Fills in the placeholders of a command. @throws if a placeholder is missing */
export function fillIn(command: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places).reduce((text, [place, value]) => {
    if (!text.includes(place)) throw new Error(`no ${place} in ${text}`);
    return text.replace(place, () => value);
  }, command);
}

/**
 * A shell for commands of the notes: a separate folder, the cluster by KUBECONFIG, and this repository's `npx vmcp`.
 */
export interface NoteShell {
  run(command: string, env?: Readonly<Record<string, string>>): Promise<Finished>;
  /** Starts a `kubectl port-forward` in the background. @param ports how many it is to open */
  forward(command: string, ports: number): Promise<Program>;
  close(): Promise<void>;
}

export function openNoteShell(cluster: Cluster): NoteShell {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-notes-'));
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  const npx = `#!/bin/sh\n[ "$1" = vmcp ] || exit 64\nshift\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`;
  writeFileSync(join(programs, 'npx'), npx, { mode: 0o755 });
  const path = [programs, process.env.PATH ?? ''].join(delimiter);
  const own = { KUBECONFIG: cluster.kubeconfig, PATH: path };
  const running: Program[] = [];
  return {
    run: (command, env = {}) =>
      runProgram('sh', ['-c', command], { deadline: DEADLINE_MS, cwd: folder, env: { ...own, ...env } }),
    async forward(command, ports) {
      const program = startProgram('sh', ['-c', `exec ${command}`], { ...process.env, ...own });
      running.push(program);
      return untilForwarded(program, command, ports);
    },
    async close() {
      for (const program of running) await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
