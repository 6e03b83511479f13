import { parseArgs } from 'node:util';
import { serveWhoami } from './serve.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const server = await serveWhoami(Number(values.port), process.env.HOST);
console.log(JSON.stringify({ url: server.url, port: server.port }));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void server.close().then(() => process.exit(0));
  });
}
