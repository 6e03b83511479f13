import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from './errors.ts';
import { followRunConfig } from './follow-run-config.ts';
import { loadRunConfig } from './load-run-config.ts';
import { startRuntime, type RunningRuntime } from './process.ts';
import { createLog } from './telemetry/create-log.ts';

let folder: string;
let file: string;
let closings: (() => Promise<unknown>)[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'process-'));
  file = join(folder, 'run-config.json');
  closings = [];
});
afterEach(async () => {
  for (const close of closings) await close();
  await rm(folder, { recursive: true });
});

/** Counts and closes each incoming connection. */
async function listenAndCount(): Promise<{ port: number; connections: () => number }> {
  let count = 0;
  const server: Server = createServer((socket) => {
    count++;
    socket.on('error', () => undefined).destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closings.push(() => new Promise((resolve) => server.close(resolve)));
  return { port: (server.address() as AddressInfo).port, connections: () => count };
}

const write = (more: object) =>
  writeFile(
    file,
    JSON.stringify({
      schema_version: 'v0.1.0',
      server: { namespace: 'd', name: 'gateway', uid: 'u' },
      listen: { port: 0, private_port: 0 },
      incoming: { type: 'anonymous' },
      backends: [],
      ...more,
    }),
  );

async function start(): Promise<{ runtime: RunningRuntime; check: () => Promise<void>; refused: () => unknown }> {
  const log = createLog('error', new PassThrough().resume());
  const followed = await followRunConfig({ file, log, now: Date.now, interval: 3_600_000, debounce: 3_600_000 });
  const runtime = await startRuntime({
    followed,
    log,
    version: '0.0.0',
    proxy: undefined,
    environment: {},
    auditStream: new PassThrough().resume(),
    drain: 100,
  });
  closings.push(() => runtime.stop());
  return { runtime, check: () => followed.check(), refused: () => followed.refused?.message };
}

/** Returns the open files of this process in the folder. */
async function openFiles(): Promise<string[]> {
  const held: string[] = [];
  for (const fd of await readdir('/proc/self/fd')) {
    const target = await readlink(`/proc/self/fd/${fd}`).catch(() => '');
    if (target.startsWith(`${folder}/`)) held.push(target.slice(folder.length + 1));
  }
  return held.sort();
}

describe('process that cannot start', () => {
  it('leaves no port and no probe of a backend open', async () => {
    const taken = await listenAndCount();
    const backend = await listenAndCount();
    await write({
      listen: { port: 0, private_port: taken.port },
      backends: [{ name: 'a', transport: 'streamable-http', url: `http://127.0.0.1:${backend.port}/mcp` }],
    });
    await expect(start()).rejects.toThrow(/cannot be had/);
    // Wait for pending probes, also on a slow machine.
    await sleep(1_000);
    const probed = backend.connections();
    // An unresponsive backend is probed again after a second.
    await sleep(1_300);
    expect(backend.connections()).toBe(probed);
  });
});

describe('refused run configuration', () => {
  it('leaves its audit file closed', async () => {
    await write({ audit_config: { enabled: true, logFile: join(folder, 'one.log') } });
    const { check, refused } = await start();
    await write({
      audit_config: { enabled: true, logFile: join(folder, 'two.log') },
      authz: { policies: ['this is no policy'] },
    });
    await check();
    expect(refused()).toBeDefined();
    for (let i = 0; i < 6_000 && (await openFiles()).length > 1; i++) await sleep(10);
    expect(await openFiles()).toEqual(['one.log']);
  });
});

describe('gateway that is closed while it applies a run configuration', () => {
  it('refuses the configuration and closes its backends', async () => {
    await write({});
    const { gateway } = (await start()).runtime;
    const backend = await listenAndCount();
    await write({
      authz: { policies: ['permit(principal, action, resource);'] },
      backends: [{ name: 'a', transport: 'streamable-http', url: `http://127.0.0.1:${backend.port}/mcp` }],
    });
    const { config } = await loadRunConfig(file, () => undefined);
    const applied = gateway.apply(config).catch((error: unknown) => error);
    await gateway.close();
    expect(await applied).toBeInstanceOf(ConfigError);
    // Wait for pending probes, also on a slow machine.
    await sleep(1_000);
    const probed = backend.connections();
    await sleep(1_300);
    expect(backend.connections()).toBe(probed);
  });
});

describe('key that is renewed before its certificate', () => {
  it('keeps the former certificate active, while other changed files are applied', async () => {
    const testdata = new URL('incoming/testdata/', import.meta.url);
    const certificate = await readFile(new URL('loopback-cert.pem', testdata), 'utf8');
    await writeFile(join(folder, 'cert'), certificate);
    await writeFile(join(folder, 'key'), await readFile(new URL('loopback-key.pem', testdata), 'utf8'));
    await write({ listen: { port: 0, private_port: 0, tls: { cert_file: 'cert', key_file: 'key' } } });
    const { runtime, check } = await start();
    const { authenticator } = runtime.gateway.services;
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeFile(join(folder, 'key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await check();
    expect(runtime.gateway.services.authenticator).not.toBe(authenticator);
    const socket = connect({ host: '127.0.0.1', port: runtime.address.port, ca: certificate });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    socket.destroy();
  });
});
