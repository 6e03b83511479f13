import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { WorkloadList, WorkloadReport } from '#management/records/workload';
import { shortHash } from '../fakes/whoami/describe-caller.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool, connect } from '../local/call-tool.ts';
import { server } from '../local/manifests.ts';
import { eventually, WHOAMI } from '../local/run-vmcp.ts';
import { useApi, type RunningApi } from './use-api.ts';

let api: RunningApi;
let [program, moved, own, far] = [0, 0, 0, 0];

beforeAll(async () => {
  [program, moved, own, far] = [await findFreePort(), await findFreePort(), await findFreePort(), await findFreePort()];
  api = await useApi(
    { 'server.yaml': server('demo', await findFreePort()) },
    { VMCP_SECRETS_PASSWORD: 'correct horse' },
  );
  await done('POST', '/secrets', { provider_type: 'encrypted' });
  for (const key of ['variable', 'header', 'token'])
    await done('POST', '/secrets/default/keys', { key, value: `value of ${key}` });
  await done('POST', '/groups', { name: 'apart' });
}, 90_000);
afterAll(() => api.close());

async function done(method: string, path: string, body: unknown): Promise<void> {
  const answer = await api.call(method, path, body);
  expect([path, answer.status, answer.ok ? '' : await answer.text()]).toEqual([path, answer.status, '']);
}
const statusOf = async (name: string) =>
  WorkloadReport.parse(await (await api.call('GET', `/workloads/${name}/status`)).json());
const runs = (name: string) =>
  eventually(
    () => statusOf(name),
    ({ status }) => status === 'running',
  );
const urlOf = (port: number) => `http://127.0.0.1:${port}/mcp`;

it('vmcp starts, calls and shows a program as its record says', async () => {
  await done('POST', '/workloads', {
    ...{ name: 'near', group: 'apart', command: ['node', WHOAMI], cmd_arguments: ['--port', String(program)] },
    ...{ transport: 'streamable-http', target_port: program, proxy_port: own, proxy_mode: 'sse' },
    ...{ tools: ['whoami'], tools_override: { whoami: { name: 'who', description: 'In other words' } } },
    ...{ env_vars: { PLAIN: 'bar' }, secrets: [{ name: 'vmcp-secrets/variable', target: 'HIDDEN' }] },
  });
  await runs('near');
  const client = await eventually(() => connect(urlOf(own)).catch(() => undefined), Boolean);
  const tools = (await client?.listTools())?.tools.map(({ name, description }) => [name, description]);
  await client?.close();
  expect(tools).toEqual([['who', 'In other words']]);
  const stream = await fetch(`http://127.0.0.1:${own}/sse`, { headers: { accept: 'text/event-stream' } });
  expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  await stream.body?.cancel();

  const pidOf = async () =>
    (await api.place.status()).processes.find(({ name }) => name === 'mcp-near')?.identity?.pid ?? 0;
  const read = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  const pid = await pidOf();
  expect(read(pid, 'environ')).toEqual(expect.arrayContaining(['PLAIN=bar', 'HIDDEN=value of variable']));
  expect(read(pid, 'cmdline')).toEqual(expect.arrayContaining(['--port', String(program)]));
  const { workloads } = WorkloadList.parse(await (await api.call('GET', '/workloads?group=apart')).json());
  expect(workloads).toMatchObject([{ name: 'near', port: own, proxy_mode: 'sse', tools: ['whoami'], remote: false }]);

  await done('POST', '/workloads/near/edit', { target_port: moved, cmd_arguments: ['--port', String(moved)] });
  const asked = () => callTool(urlOf(own), 'who').catch(() => undefined);
  await eventually(async () => (await pidOf()) !== pid && (await asked()) !== undefined, Boolean);
  expect(await fetch(urlOf(program)).catch(() => 'nobody')).toBe('nobody');
}, 120_000);

it('a remote server gets the headers and the token of its record, and no answer contains their values', async () => {
  await done('POST', '/workloads', {
    ...{ name: 'far', url: urlOf(moved), transport: 'streamable-http', proxy_port: far },
    oauth_config: { bearer_token: { name: 'vmcp-secrets/token' } },
    header_forward: {
      add_plaintext_headers: { 'X-Plain': 'open' },
      add_headers_from_secret: { 'X-Key': 'vmcp-secrets/header' },
    },
  });
  const asked = () => callTool(urlOf(far), 'whoami').catch(() => undefined);
  expect(await eventually(asked, (caller) => caller !== undefined)).toMatchObject({
    tokenHash: shortHash('value of token'),
    headerHashes: { 'x-plain': shortHash('open'), 'x-key': shortHash('value of header') },
  });
  for (const path of [
    '/workloads/far',
    '/workloads/far/export',
    '/workloads/near',
    '/workloads/near/export',
    '/workloads',
  ])
    expect(await (await api.call('GET', path)).text()).not.toContain('value of');
}, 60_000);
