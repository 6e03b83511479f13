import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callApi } from '../management/use-api.ts';
import { callTool, connect } from './call-tool.ts';
import { headerAuth, server, whoami } from './manifests.ts';
import { eventually, makeWorkplace, type StatusOutput, type Workplace } from './run-vmcp.ts';

const WITH_KEY = '  externalAuthConfigRef: {name: key}\n';
const KEYS = '/secrets/default/keys';
const [FIRST, SECOND] = ['hunter2-the-first-value', 'hunter2-the-second-value'];
const hashOf = (value: string) => createHash('sha256').update(value).digest('hex').slice(0, 16);
const backend = (status: StatusOutput) => status.backends.find(({ name }) => name === 'guarded');
const pidOf = (status: StatusOutput) => status.processes.find(({ name }) => name === 'vmcp-demo')?.identity?.pid;

/** Waits for the status, which changes after the runtime serves. */
const untilSaid = (fits: (status: StatusOutput) => boolean) => place.statusThat(fits);

let place: Workplace;
let endpoint: string;
let environment: NodeJS.ProcessEnv;

const ask = async (method: string, path: string, body?: unknown): Promise<number> =>
  (await callApi(place, method, path, body)).status;

/** Returns the hash of the header that the backend got; undefined while it is not served. */
async function sent(): Promise<string | undefined> {
  const client = await connect(endpoint);
  try {
    const { tools } = await client.listTools();
    if (!tools.some(({ name }) => name === 'guarded_whoami')) return undefined;
    const { headerHashes } = (await callTool(endpoint, 'guarded_whoami')) as { headerHashes: Record<string, string> };
    return headerHashes['x-key'];
  } catch (problem) {
    // The tool may disappear between the list and the call.
    if (problem instanceof Error && problem.message.includes('Unknown tool')) return undefined;
    throw problem;
  } finally {
    await client.close();
  }
}

beforeAll(async () => {
  place = makeWorkplace();
  const ports = [await findFreePort(), await findFreePort(), await findFreePort()] as const;
  endpoint = `http://127.0.0.1:${ports[0]}/mcp`;
  place.manifest('server.yaml', server('demo', ports[0]));
  place.manifest('open.yaml', whoami('open', 'demo', ports[1]));
  place.manifest('guarded.yaml', whoami('guarded', 'demo', ports[2], WITH_KEY));
  place.manifest('key.yaml', headerAuth('key', 'vmcp-secrets', 'API_KEY'));
  writeFileSync(join(place.path, 'password'), 'correct horse battery\n', { mode: 0o600 });
  environment = { VMCP_SECRETS_PASSWORD_FILE: join(place.path, 'password') };
  const { code } = await place.run(['up', 'manifests', '--detach'], environment);
  expect(code).toBe(0);
});
afterAll(() => place.close());

describe('a secret of the management API', () => {
  let pid: number | undefined;

  it('leads to a hint with the command that stores it, if a manifest names it while it is missing', async () => {
    const status = await place.status();
    pid = pidOf(status);
    expect(JSON.stringify(status)).toContain('vmcp secret set API_KEY');
    expect(await sent()).toBeUndefined();
  });

  it('reaches the workload when it is created', async () => {
    expect(await ask('POST', '/secrets', { provider_type: 'encrypted' })).toBe(201);
    expect(await ask('POST', KEYS, { key: 'API_KEY', value: FIRST })).toBe(201);
    await eventually(sent, (hash) => hash === hashOf(FIRST));
    await untilSaid((status) => backend(status)?.phase === 'Ready');
  });

  it('reaches it when it is updated, and nothing is restarted', async () => {
    expect(await ask('PUT', `${KEYS}/API_KEY`, { value: SECOND })).toBe(200);
    await eventually(sent, (hash) => hash === hashOf(SECOND));
    expect(pidOf(await place.status())).toBe(pid);
  });

  it('appears in no log, status or answer, and in no file but the one that the runtime reads', async () => {
    const state = join(place.path, '.vmcp');
    const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const holding = files.filter((entry) =>
      readFileSync(join(entry.parentPath, entry.name), 'latin1').includes('hunter2'),
    );
    // The runtime's own file, and perhaps the former one until the runtime has replaced it.
    const places = holding.map(({ parentPath }) => parentPath.slice(state.length + 1).split('/')[0]);
    expect([...new Set(places)]).toEqual(['run']);
    expect(JSON.stringify(await place.status())).not.toContain('hunter2');
  });

  it('stays out of the environments of runtimes and backends, as does its password', async () => {
    const { processes } = await place.status();
    for (const { identity } of processes) {
      const inherited = readFileSync(`/proc/${identity?.pid ?? 0}/environ`, 'latin1');
      expect(inherited).toContain('PATH=');
      expect(inherited).not.toMatch(/VMCP_SECRET|hunter2/);
    }
  });

  it('returns after a restart with the password', async () => {
    await place.run(['down']);
    expect((await place.run(['up', 'manifests', '--detach'], environment)).code).toBe(0);
    expect(await sent()).toBe(hashOf(SECOND));
  });

  it('stays missing without the password, with the reason in the status, and returns with it', async () => {
    await place.run(['down']);
    expect((await place.run(['up', 'manifests', '--detach'], { HOME: place.path })).code).toBe(0);
    const { problems } = await place.status();
    expect(problems).toEqual([
      expect.objectContaining({ message: expect.stringContaining('is locked, as no password is known here') }),
    ]);
    expect(await sent()).toBeUndefined();
    expect(await ask('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse battery' })).toBe(201);
    await eventually(sent, (hash) => hash === hashOf(SECOND));
    await untilSaid(({ problems: left }) => left.length === 0);
  });

  it('removes its backend when it is deleted, and no call goes there without it', async () => {
    expect(await ask('DELETE', `${KEYS}/API_KEY`)).toBe(204);
    await eventually(sent, (hash) => hash === undefined);
    await untilSaid((status) => JSON.stringify(status).includes('vmcp secret set API_KEY'));
  });
});
