import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createServer } from 'node:tls';
import { parseArgs } from 'node:util';
import { serveIdentityProvider } from '../identity-provider/serve.ts';
import { serveProtected } from './serve-protected.ts';

/** A remote MCP server and its authorization server, both by https at one host. */
const { values } = parseArgs({
  options: {
    /** Public host of both. */
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8443' },
    'issuer-port': { type: 'string', default: '8444' },
    cert: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
  },
});

const tls = { cert: readFileSync(values.cert, 'utf8'), key: readFileSync(values.key, 'utf8') };
const issuer = `https://${values.host}:${values['issuer-port']}`;
const provider = await serveIdentityProvider({ port: Number(values['issuer-port']), issuer, tls });
const server = await serveProtected({ issuer, url: `https://${values.host}:${values.port}/mcp` });

const front = createServer(tls, (socket) => {
  const inside = connect(server.port, '127.0.0.1');
  socket.on('error', () => inside.destroy()).on('close', () => inside.destroy());
  inside.on('error', () => socket.destroy()).on('close', () => socket.destroy());
  socket.pipe(inside).pipe(socket);
});
front.on('tlsClientError', () => undefined);
front.listen(Number(values.port), '::', () => console.log(JSON.stringify({ url: server.url, issuer })));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    front.close();
    void Promise.all([provider.close(), server.close()]).then(() => process.exit(0));
  });
}
