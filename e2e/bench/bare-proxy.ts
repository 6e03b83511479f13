import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

// Minimum of a reverse proxy on node:http and undici: it streams bodies both ways and parses nothing.
const [origin = ''] = process.argv.slice(2);
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);
const pool = new Pool(origin, { connections: 64, bodyTimeout: 0 });

const endToEnd = (headers: NodeJS.Dict<string | string[]>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));

const server = createServer((request, response) => {
  const { url = '/', method = 'GET', headers } = request;
  const body = method === 'GET' || method === 'DELETE' ? null : request;
  pool
    .stream({ path: url, method, headers: endToEnd(headers), body }, ({ statusCode, headers: received }) => {
      response.writeHead(statusCode, endToEnd(received));
      return response;
    })
    .catch(() => response.destroy());
});
server.keepAliveTimeout = 65_000;
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.once('SIGTERM', () => process.exit(0));
