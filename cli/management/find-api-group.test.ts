import type { IncomingMessage, ServerResponse } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { FakeApiServer, statusBody } from '#operator/kubernetes/testdata/fake-api-server';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

/** A group with its versions and the resources of v1alpha1. A number is the status of its discovery. */
interface Served {
  versions: string[];
  categories: string[] | number;
}

/** An API server with discovery in the unaggregated form, and without objects. */
class Discovery extends FakeApiServer {
  readonly groups = new Map<string, Served>();
  readonly asked: string[] = [];
  status = 200;

  protected override serve({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const [path = ''] = url.split('?');
    this.asked.push(path);
    const [status, body] = path === '/apis' ? [this.status, this.#all()] : this.#one(path);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #all(): object {
    if (this.status !== 200) return statusBody(this.status, 'Forbidden', 'no discovery for you');
    const groups = [...this.groups].map(([name, { versions }]) => {
      const all = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
      return { name, versions: all, preferredVersion: all[0] };
    });
    return { kind: 'APIGroupList', apiVersion: 'v1', groups };
  }

  #one(path: string): [number, object] {
    const [, , group = '', version = '', ...more] = path.split('/');
    const categories = this.groups.get(group)?.categories ?? 404;
    const items = { apiVersion: `${group}/${version}`, kind: 'MCPGroupList', metadata: {}, items: [] };
    if (typeof categories === 'number') return [categories, statusBody(categories, 'Unavailable', 'not now')];
    if (more.length > 0) return [200, items];
    const kind = { namespaced: true, verbs: ['get', 'list'], shortNames: ['vmcp'] };
    const servers = { ...kind, name: 'virtualmcpservers', kind: 'VirtualMCPServer', categories };
    const status = { namespaced: true, verbs: ['get'], name: 'virtualmcpservers/status', kind: 'VirtualMCPServer' };
    const list = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/${version}` };
    return [200, { ...list, resources: [servers, status] }];
  }
}

const OURS: Served = { versions: ['v1alpha1'], categories: ['mcp'] };
let server: Discovery;
let home: OwnHome;
beforeEach(async () => {
  server = await new Discovery().start();
  server.groups.set('apps', { versions: ['v1'], categories: [] });
  home = makeHome();
  const clusters = [{ name: 'one', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }];
  const contexts = [{ name: 'one', context: { cluster: 'one', user: 'somebody' } }];
  const users = [{ name: 'somebody', user: { token: 'a-token' } }];
  const config = { apiVersion: 'v1', kind: 'Config', clusters, users, contexts, 'current-context': 'one' };
  writeFileSync(join(home.path, 'kubeconfig'), stringify(config));
});
afterEach(async () => {
  home.close();
  await server.close();
});

const vmcp = (...args: string[]) => home.withoutFolder([...args, '--kubeconfig', join(home.path, 'kubeconfig')]);
/** Returns the groups of the requested objects. */
const usedGroups = () => {
  const paths = server.asked.filter((path) => path.startsWith('/apis/') && path.split('/').length > 4);
  return [...new Set(paths.map((path) => path.split('/')[2]))];
};

describe.each([[['group', 'list']], [['purge', 'tools', '--yes']]])('vmcp %j on a cluster', (command) => {
  it.each([
    ['the only installation', { 'mcp.example.com': OURS }, 'mcp.example.com'],
    [
      'ours beside kinds of the same names of another product',
      { 'a.example': { ...OURS, categories: ['others'] }, 'mcp.example.com': OURS },
      'mcp.example.com',
    ],
    [
      'what is there beside a group that is down',
      { 'down.example': { ...OURS, categories: 503 }, 'mcp.example.com': OURS },
      'mcp.example.com',
    ],
    ['the usual group where nothing is installed', { 'b.example': { ...OURS, categories: ['others'] } }, 'vmcp.dev'],
  ])('works with %s', async (_what, groups, used) => {
    for (const [name, served] of Object.entries(groups)) server.groups.set(name, served);
    await vmcp(...command);
    expect(usedGroups()).toEqual([used]);
  });

  it('asks for a group if there are several, and accepts a named one', async () => {
    for (const name of ['vmcp.dev', 'mcp.example.com']) server.groups.set(name, OURS);
    expect(await vmcp(...command)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/several installations: mcp\.example\.com, vmcp\.dev; [^\n]*--api-group/),
    });
    expect(usedGroups()).toEqual([]);
    await vmcp(...command, '--api-group', 'vmcp.dev');
    expect(usedGroups()).toEqual(['vmcp.dev']);
  });

  it('prints the remedy for an account that may not read discovery', async () => {
    server.status = 403;
    expect(await vmcp(...command)).toMatchObject({ code: 8, err: expect.stringContaining('no discovery for you') });
    expect(usedGroups()).toEqual([]);
  });
});

it('rejects a group without a cluster', async () => {
  const told = await home.withoutFolder(['group', 'list', '--api-group', 'mcp.example.com']);
  expect(told).toMatchObject({ code: 1, err: expect.stringContaining('--context') });
});
