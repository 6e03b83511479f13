import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isPortFree } from '#local/check-port';
import { isRunning, type ProcessIdentity, startOf } from '#local/process-identity';
import type { StateFolder } from '#local/state-folder';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

/** One provider of the chain. Its redirect URI is that of the endpoint in server.yaml. */
interface Provider {
  name: string;
  issuer: string;
  redirectUri: string;
}

export const PROVIDERS: readonly Provider[] = [
  {
    name: 'company',
    issuer: 'http://127.0.0.1:4480',
    redirectUri: 'http://127.0.0.1:4483/oauth/callback/company',
  },
  {
    name: 'partner',
    issuer: 'http://127.0.0.1:4482',
    redirectUri: 'http://127.0.0.1:4483/oauth/callback/partner',
  },
];

const PROGRAM = join(import.meta.dirname, '../../e2e/fakes/identity-provider/main.ts');
const START = 20_000;
const END = 3000;
const Identity = z.object({ pid: z.int().positive(), started: z.string() });

const noteOf = ({ name }: Provider, state: StateFolder): string => join(state.path, `identity-provider-${name}.json`);

function readNote(provider: Provider, state: StateFolder): ProcessIdentity | undefined {
  const text = readIfThere(noteOf(provider, state));
  const identity = text === undefined ? undefined : Identity.parse(JSON.parse(text));
  return identity && isRunning(identity) ? identity : undefined;
}

async function answers({ issuer }: Provider): Promise<boolean> {
  try {
    const answer = await fetch(`${issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(1000) });
    return answer.ok;
  } catch {
    return false;
  }
}

async function start(provider: Provider, state: StateFolder): Promise<void> {
  const { name, issuer, redirectUri } = provider;
  if (readNote(provider, state) && (await answers(provider))) return;
  const { hostname, port } = new URL(issuer);
  if (!(await isPortFree(hostname, Number(port))))
    throw new Error(`port ${port} of the identity provider "${name}" is in use by another program: stop what uses it`);
  const log = openSync(join(state.logs, `identity-provider-${name}.log`), 'a', 0o600);
  const kept = ['--state', join(state.path, `identity-provider-${name}-state.json`)];
  const args = [PROGRAM, '--port', port, '--audience', 'whoami', '--redirect-uri', redirectUri, ...kept];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.unref();
  if (child.pid === undefined) throw new Error(`the identity provider ${name} could not be started`);
  writeFileAtomic(noteOf(provider, state), JSON.stringify({ pid: child.pid, started: startOf(child.pid) ?? '' }));
  const deadline = Date.now() + START;
  while (!(await answers(provider))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`the identity provider does not answer: see "npx vmcp logs identity-provider-${name}"`);
    }
    await sleep(50);
  }
}

/** Starts those identity providers in the background that do not run, and waits until all answer. @throws Error that says what keeps one away */
export async function startIdentityProviders(state: StateFolder, providers = PROVIDERS): Promise<void> {
  await Promise.all(providers.map((provider) => start(provider, state)));
}

/** Ends the identity providers that `startIdentityProviders` started. */
export async function stopIdentityProviders(state: StateFolder): Promise<void> {
  const running = PROVIDERS.flatMap((provider) => readNote(provider, state) ?? []);
  for (const { pid } of running) process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + END;
  while (running.some(isRunning) && Date.now() < deadline) await sleep(50);
  for (const identity of running) if (isRunning(identity)) process.kill(identity.pid, 'SIGKILL');
}
