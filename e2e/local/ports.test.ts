import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { type RunningApi, useApi } from '../management/use-api.ts';
import { connect } from './call-tool.ts';
import { server } from './manifests.ts';
import { eventually, ROOT } from './run-vmcp.ts';

const NAMES = ['f', 'e', 'd', 'c', 'b', 'a'];
const MINUTES = 240_000;
const EVERYTHING = join(ROOT, 'node_modules', '.bin', 'mcp-server-everything');
const FIRST_PRIVATE_PORT = 24_484;

let api: RunningApi;
let demoPort: number;
/** Another program that has the first private port; undefined if a foreign program already has it. */
let occupant: Server | undefined;
const ports = new Map<string, number>();

interface Report {
  status: string;
  status_context: string;
}

function occupy(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const taking = createServer();
    taking.once('error', () => resolve(undefined));
    taking.listen(port, '127.0.0.1', () => resolve(taking));
  });
}

const report = async (name: string) => (await (await api.call('GET', `/workloads/${name}/status`)).json()) as Report;
const edit = async (name: string, proxy_port: number) =>
  expect((await api.call('POST', `/workloads/${name}/edit`, { proxy_port })).status).toBe(200);
const until = (name: string, status: string) =>
  eventually(
    () => report(name),
    (one) => one.status === status,
    MINUTES,
  );
const pidOf = (name: string) =>
  api.place.glance()?.processes.find((one) => one.name === `mcp-${name}-proxy`)?.identity?.pid;
async function countTools(port: number): Promise<number> {
  const client = await connect(`http://127.0.0.1:${port}/mcp`);
  try {
    return (await client.listTools()).tools.length;
  } finally {
    await client.close();
  }
}

beforeAll(async () => {
  occupant = await occupy(FIRST_PRIVATE_PORT);
  demoPort = await findFreePort();
  const demo = server('demo', await findFreePort()).replace('spec:\n', `spec:\n  listen: {port: ${demoPort}}\n`);
  api = await useApi({ 'server.yaml': demo });
}, MINUTES);
afterAll(async () => {
  await api.close();
  occupant?.close();
});

describe('workloads that are added one after the other', () => {
  it(
    'run on separate ports, and a later one restarts none of them',
    async () => {
      const pids = new Map<string, number | undefined>();
      for (const name of NAMES) {
        const proxy_port = await findFreePort();
        ports.set(name, proxy_port);
        const body = { name, transport: 'stdio', proxy_port, command: [process.execPath, EVERYTHING] };
        expect((await api.call('POST', '/workloads', body)).status).toBe(201);
        await until(name, 'running');
        pids.set(name, pidOf(name));
      }
      for (const name of NAMES) {
        expect([name, (await report(name)).status]).toEqual([name, 'running']);
        expect([name, pidOf(name)]).toEqual([name, pids.get(name)]);
      }
    },
    MINUTES,
  );
});

describe('a public port that another program has', () => {
  it(
    'costs the endpoint no session, appears with its field, and serves once it becomes free',
    async () => {
      const former = ports.get('a')!;
      const wanted = await findFreePort();
      const other = await occupy(wanted);
      const client = await connect(`http://127.0.0.1:${former}/mcp`);
      try {
        await edit('a', wanted);
        const { status_context: why } = await eventually(
          () => report('a'),
          (one) => one.status_context.includes('in use'),
          MINUTES,
        );
        expect(why).toContain(`port ${wanted} is in use by another program`);
        expect(why).toContain('spec.proxyPort');
        expect((await client.listTools()).tools.length).toBeGreaterThan(1);
      } finally {
        await client.close();
        await new Promise((resolve) => other?.close(resolve));
      }
      await eventually(
        () => countTools(wanted).catch(() => 0),
        (count) => count > 1,
        MINUTES,
      );
    },
    MINUTES,
  );
});

describe('the address of an endpoint', () => {
  it('appears in vmcp status, for people and for programs', async () => {
    const { stdout } = await api.place.run(['status']);
    expect(stdout).toMatch(/listens on 127\.0\.0\.1:\d+, with health and metrics on 127\.0\.0\.1:\d+\n/);
    const { stdout: json } = await api.place.run(['status', 'demo', '-o', 'json']);
    const { listen } = JSON.parse(json) as { listen: { address: string; privateAddress: string } };
    const health = await fetch(`http://${listen.privateAddress}/healthz`);
    expect([listen.address, health.status]).toEqual([`127.0.0.1:${demoPort}`, 200]);
  });
});
