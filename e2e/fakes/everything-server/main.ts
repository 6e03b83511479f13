import { parseArgs } from 'node:util';
import { serveEverything } from './serve.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, 'refuse-calls': { type: 'boolean', default: false } },
});

const server = await serveEverything({ port: Number(values.port), refusesCalls: values['refuse-calls'] });
console.log(JSON.stringify({ url: server.url, port: server.port }));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void server.close().then(() => process.exit(0));
  });
}
