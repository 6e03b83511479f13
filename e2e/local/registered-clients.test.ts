import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callApi } from '../management/use-api.ts';
import { server, whoami } from './manifests.ts';
import { eventually, makeWorkplace, type Workplace } from './run-vmcp.ts';

let place: Workplace;
let home: string;
let ports: number[];

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const answer = await callApi(place, method, path, body);
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
}

const endpoint = (port: number) => ({ type: 'http', url: `http://127.0.0.1:${port}/mcp` });
const file = (): string => join(home, '.cursor', 'mcp.json');
const servers = (): Promise<Record<string, unknown>> =>
  Promise.resolve(
    (JSON.parse(readFileSync(file(), 'utf8')) as { mcpServers?: Record<string, unknown> }).mcpServers ?? {},
  );

beforeAll(async () => {
  place = makeWorkplace();
  home = join(place.path, 'home');
  ports = [await findFreePort(), await findFreePort(), await findFreePort(), await findFreePort()];
  mkdirSync(join(home, '.cursor'), { recursive: true });
  writeFileSync(file(), '{"mcpServers": {"mine": {"command": "x"}}}\n');
  place.manifest('server.yaml', server('tools', ports[0]!));
  place.manifest('one.yaml', whoami('one', 'tools', ports[1]!));
  const { code, stderr } = await place.run(['up', 'manifests', '--detach'], { HOME: home });
  expect([code, stderr]).toEqual([0, '']);
});
afterAll(() => place.close());

describe('a client that is registered at a running vmcp', () => {
  it('has the endpoint of its group in its file, beside its own entries', async () => {
    const { status, body } = await ask('POST', '/clients', { name: 'cursor', groups: ['tools'] });
    expect([status, body]).toMatchObject([
      200,
      { name: 'cursor', groups: ['tools'], configuration: { written: true } },
    ]);
    expect(await servers()).toEqual({ mine: { command: 'x' }, tools: endpoint(ports[0]!) });
    expect(existsSync(`${file()}.vmcp-backup`)).toBe(true);
  });

  it('follows the endpoint when its URL changes', async () => {
    place.manifest('server.yaml', server('tools', ports[2]!));
    const followed = endpoint(ports[2]!);
    await eventually(servers, ({ tools }) => JSON.stringify(tools) === JSON.stringify(followed));
  });

  it('loses an endpoint that has gone, and gets it back when it returns', async () => {
    place.manifest('other.yaml', server('other', ports[3]!));
    const text = server('tools', ports[2]!);
    place.manifest('server.yaml', text.slice(text.indexOf('---')));
    await eventually(servers, (all) => !('tools' in all));
    expect(await servers()).toEqual({ mine: { command: 'x' } });
    place.manifest('server.yaml', text);
    await eventually(servers, (all) => 'tools' in all);
  });

  it('keeps its entries while vmcp does not run', async () => {
    await place.run(['down']);
    expect(await servers()).toEqual({ mine: { command: 'x' }, tools: endpoint(ports[2]!) });
    expect((await place.run(['up', 'manifests', '--detach'], { HOME: home })).code).toBe(0);
    expect((await ask('GET', '/clients')).body).toEqual({ clients: [{ name: 'cursor', groups: ['tools'] }] });
    expect(await servers()).toEqual({ mine: { command: 'x' }, tools: endpoint(ports[2]!) });
  });

  it('returns to its own entries when it is deleted', async () => {
    expect((await ask('DELETE', '/clients/cursor')).status).toBe(204);
    expect(await servers()).toEqual({ mine: { command: 'x' } });
    expect((await ask('DELETE', '/clients/cursor')).status).toBe(404);
  });

  it('fails to register with an unknown name or group', async () => {
    expect((await ask('POST', '/clients', { name: 'emacs' })).status).toBe(400);
    expect((await ask('POST', '/clients', { name: 'cursor', groups: ['nobody'] })).status).toBe(400);
  });
});
