import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { readFlags } from './flags.ts';
import { runManagement } from './run-management.ts';

const silent = { out: () => undefined, err: () => undefined };
let folder: string;
let server: ObjectServer;
let stop: AbortController;
let lines: Record<string, unknown>[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-management-program-'));
  server = await new ObjectServer().start();
  stop = new AbortController();
  lines = [];
  const config = {
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'test', user: { token: 'a-token' } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: 'system' } }],
  };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config));
});
afterEach(async () => {
  stop.abort();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(...args: string[]): Promise<void> {
  const own = ['--bind-address=127.0.0.1', '--port=0', '--health-port=0', '--metrics-port=0'];
  const note = (message: string, fields?: object) => void lines.push({ message, ...fields });
  const log = { debug: note, info: note, warn: note, error: note };
  return runManagement(readFlags([`--kubeconfig=${join(folder, 'kubeconfig')}`, ...own, ...args], '1', silent), {
    ...{ version: '1.2.3', log, audit: new PassThrough(), environment: {}, stop: stop.signal },
  });
}

/** Waits for a line of the log; the first certificate takes seconds on a slow machine. */
async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (let waited = 0; !condition(); waited += 10) {
    if (waited > 20_000) throw new Error(`never: ${what}: ${JSON.stringify(lines)}`);
    await sleep(10);
  }
}

/** Returns the value of a log field as soon as the field appears. */
const told = async (name: string) => {
  await eventually(() => lines.some((line) => name in line), name);
  return String(lines.find((line) => name in line)?.[name]);
};
const statusOf = async (port: string, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;

/** Asks the API without a token, by TLS. */
async function ask(port: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const where = { host: '127.0.0.1', port, path: '/api/v1beta/version', rejectUnauthorized: false, agent: false };
    get(where, (answer) => void text(answer).then(() => resolve(answer.statusCode), reject)).on('error', reject);
  });
}

describe('runManagement', () => {
  it('serves the API by TLS, counts its requests, and ends when it is stopped', async () => {
    const running = run('--name=mine');
    const [port, health, metrics] = [await told('managementPort'), await told('healthPort'), await told('metricsPort')];
    expect(await statusOf(health, '/healthz')).toBe(200);
    expect(await statusOf(health, '/readyz')).toBe(200);
    expect(await ask(port)).toBe(401);
    const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    expect(page).toContain('vmcp_management_info{version="1.2.3"} 1');
    expect(page).toContain('vmcp_management_served 1');
    expect(page).toMatch(/vmcp_management_api_requests_total\{verb="create",resource="secrets",code="201"\} 1/);
    expect(server.at('/api/v1/namespaces/system/configmaps/mine-management-ca')).toBeDefined();
    stop.abort();
    await running;
    await expect(ask(port)).rejects.toThrow('ECONNREFUSED');
    await expect(statusOf(health, '/healthz')).rejects.toThrow();
  }, 60_000);

  it('reports healthy but not ready without a certificate', async () => {
    await server.close();
    const running = run();
    const health = await told('healthPort');
    await eventually(() => lines.some(({ message }) => message === 'the management API has a problem'), 'a problem');
    expect(await statusOf(health, '/healthz')).toBe(200);
    expect(await statusOf(health, '/readyz')).toBe(503);
    stop.abort();
    await running;
  });

  it('rejects an unreadable kubeconfig by name', async () => {
    await expect(run(`--kubeconfig=${join(folder, 'missing')}`)).rejects.toThrow(join(folder, 'missing'));
    expect(lines.map(({ message }) => message)).toEqual(['the management API starts']);
  });

  it('rejects an occupied port with the name of the flag', async () => {
    const running = run();
    const port = await told('healthPort');
    await expect(run(`--health-port=${port}`)).rejects.toThrow(`--health-port=${port}: another program listens there`);
    stop.abort();
    await running;
  });
});
