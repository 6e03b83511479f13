import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { findFreePort } from '../../e2e/gateway/find-free-port.ts';
import { failureAt } from './failure-at.ts';
import { boundedFetch } from './oauth-client.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

const typed = (command: string) => `vmcp ${command}`;

/** Returns the error for a failed request to this URL. */
async function toldAt(url: string): Promise<[number, string]> {
  const problem: unknown = await fetch(url).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  const { exitCode, message } = failureAt(new URL(url), problem, { typed });
  return [exitCode, message];
}

it('reports a port where nothing listens', async () => {
  const origin = `http://127.0.0.1:${await findFreePort()}`;
  const told = `${origin} does not answer (nothing listens there): start it, or check the URL`;
  expect(await toldAt(`${origin}/mcp`)).toEqual([3, told]);
});

it('reports a server that answers without TLS', async () => {
  server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server?.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const told = `https://127.0.0.1:${port}: it does not speak TLS: try http`;
  expect(await toldAt(`https://127.0.0.1:${port}/mcp`)).toEqual([5, told]);
});

it('reports why a port is blocked', async () => {
  expect(await toldAt('http://127.0.0.1:9/mcp')).toEqual([
    5,
    'fetch failed: bad port ("vmcp doctor http://127.0.0.1:9/mcp" looks closer)',
  ]);
});

it('names the server that failed, if it is another one than the endpoint', async () => {
  const issuer = `http://127.0.0.1:${await findFreePort()}`;
  const endpoint = new URL('https://mcp.example.com/mcp');
  const problem: unknown = await boundedFetch(endpoint)(`${issuer}/token`).catch((failure: unknown) => failure);
  const { message } = failureAt(endpoint, new Error('login', { cause: problem }), { typed });
  expect(message).toBe(`${issuer} does not answer (nothing listens there): start it, or check the URL`);
});
