import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { printNames } from './print-names.ts';

let state: string;
let server: Server;
let answer: (url: string, response: ServerResponse) => void;
let asked: (string | undefined)[];
beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'vmcp-names-'));
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    answer(request.url ?? '', response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  writeFileSync(join(state, 'management-address'), `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  writeFileSync(join(state, 'management-token'), 'the-token');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(state, { recursive: true });
});

/** By default, `patience` exceeds any delay of a slow machine. */
async function names(kind: string, patience = 60_000): Promise<string> {
  let printed = '';
  await printNames([kind, state], { write: (text: string) => (printed += text) }, patience);
  return printed;
}

describe('printNames', () => {
  it.each([
    ['workload', '/api/v1beta/workloads?all=true', { workloads: [{ name: 'a' }, { name: 'b' }] }, 'a\nb\n'],
    ['key', '/api/v1beta/secrets/default/keys', { provider_type: 'x', keys: [{ key: 'TOKEN' }] }, 'TOKEN\n'],
    ['skill', '/api/v1beta/skills', { skills: [{ metadata: { name: 's' } }] }, 's\n'],
    ['client', '/api/v1beta/clients', [{ name: 'cursor', groups: ['g'] }], 'cursor\n'],
    [
      'entry',
      '/api/v1beta/registry/default/servers',
      { servers: [{ name: 'io.github.x/y' }], remote_servers: [{ name: 'z' }] },
      'io.github.x/y\nz\n',
    ],
  ])('prints the names from the running API: %s', async (kind, path, body, expected) => {
    answer = (url, response) => response.writeHead(url === path ? 200 : 404).end(JSON.stringify(body));
    expect(await names(kind)).toBe(expected);
    expect(asked).toEqual(['Bearer the-token']);
  });

  it('prints the names of the running endpoints', async () => {
    const resources = [
      { key: { kind: 'VirtualMCPServer', name: 'tools' }, isEndpoint: true },
      { key: { kind: 'MCPServer', name: 'plain' }, isEndpoint: false },
    ];
    writeFileSync(join(state, 'status.json'), JSON.stringify({ problems: [], resources }));
    expect(await names('server')).toBe('tools\n');
  });

  it('prints nothing that a shell would execute', async () => {
    const evil = ['$(touch x)', '`id`', 'a b', '-rf', 'a;b', "a'b", 'ok'].map((name) => ({ name }));
    answer = (_, response) => response.end(JSON.stringify({ workloads: evil }));
    expect(await names('workload')).toBe('ok\n');
  });

  it('prints nothing when the answer is late, refused or invalid', async () => {
    const held: ServerResponse[] = [];
    answer = (_, response) => void held.push(response);
    expect(await names('workload', 50)).toBe('');
    answer = (_, response) => response.writeHead(401).end('{"workloads":[{"name":"a"}]}');
    expect(await names('workload')).toBe('');
    answer = (_, response) => response.end('<html>');
    expect(await names('workload')).toBe('');
    rmSync(join(state, 'management-address'));
    expect([await names('workload'), await names('server'), await names('nonsense')]).toEqual(['', '', '']);
  });
});
