import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isRunning, type ProcessIdentity, startOf } from '#operator/local/process-identity';
import type { StateFolder } from '#operator/local/state-folder';
import { readIfThere, writeFileAtomic } from '#operator/local/write-file';

const ISSUER = 'http://127.0.0.1:4480';
const PROGRAM = join(import.meta.dirname, '../../e2e/fakes/identity-provider/main.ts');
const START = 20_000;
const END = 3000;
const Identity = z.object({ pid: z.int().positive(), started: z.string() });

const noteOf = (state: StateFolder): string => join(state.path, 'identity-provider.json');

function readNote(state: StateFolder): ProcessIdentity | undefined {
  const text = readIfThere(noteOf(state));
  const identity = text === undefined ? undefined : Identity.parse(JSON.parse(text));
  return identity && isRunning(identity) ? identity : undefined;
}

async function answers(): Promise<boolean> {
  try {
    const answer = await fetch(`${ISSUER}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(1000) });
    return answer.ok;
  } catch {
    return false;
  }
}

/** Starts the identity provider in the background, unless it runs, and waits until it answers. */
export async function startIdentityProvider(state: StateFolder): Promise<string> {
  if (readNote(state) && (await answers())) return ISSUER;
  if (await answers()) throw new Error(`another program answers at ${ISSUER}: stop it first`);
  const log = openSync(join(state.logs, 'identity-provider.log'), 'a', 0o600);
  const args = [PROGRAM, '--port', new URL(ISSUER).port, '--audience', 'whoami'];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.unref();
  if (child.pid === undefined) throw new Error('the identity provider could not be started');
  writeFileAtomic(noteOf(state), JSON.stringify({ pid: child.pid, started: startOf(child.pid) ?? '' }));
  const deadline = Date.now() + START;
  while (!(await answers())) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error('the identity provider does not answer: see "npx vmcp logs identity-provider"');
    }
    await sleep(50);
  }
  return ISSUER;
}

/** Ends the identity provider that `startIdentityProvider` started. */
export async function stopIdentityProvider(state: StateFolder): Promise<void> {
  const identity = readNote(state);
  if (!identity) return;
  process.kill(identity.pid, 'SIGTERM');
  const deadline = Date.now() + END;
  while (isRunning(identity) && Date.now() < deadline) await sleep(50);
  if (isRunning(identity)) process.kill(identity.pid, 'SIGKILL');
}
