import { parseArgs } from 'node:util';
import { BEHAVIOURS, type Behaviour } from './behaviours.ts';
import { serveMisbehaving } from './serve-misbehaving.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    name: { type: 'string', default: 'plain' },
    tools: { type: 'string', default: '10' },
    payload: { type: 'string', default: '100' },
    /** Several backends in one process, on separate ports. */
    count: { type: 'string', default: '1' },
    streams: { type: 'boolean', default: false },
    behaviour: { type: 'string' },
    method: { type: 'string', multiple: true },
    bytes: { type: 'string', default: String(100 * 1024 * 1024) },
    'delay-ms': { type: 'string', default: '1000' },
  },
});

const isBehaviour = (name: string): name is Behaviour => Object.hasOwn(BEHAVIOURS, name);
const { behaviour } = values;
if (behaviour !== undefined && !isBehaviour(behaviour)) {
  throw new Error(`--behaviour ${behaviour}: write one of ${Object.keys(BEHAVIOURS).join(', ')}`);
}

const backends = await Promise.all(
  Array.from({ length: Number(values.count) }, (_, index) =>
    serveMisbehaving(behaviour, {
      port: index === 0 ? Number(values.port) : 0,
      host: process.env.HOST,
      name: values.name,
      tools: Number(values.tools),
      payload: Number(values.payload),
      streams: values.streams,
      bytes: Number(values.bytes),
      delayMs: Number(values['delay-ms']),
      ...(values.method ? { methods: values.method } : {}),
    }),
  ),
);
console.log(JSON.stringify({ url: backends[0]?.url, port: backends[0]?.port, urls: backends.map(({ url }) => url) }));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void Promise.all(backends.map((backend) => backend.close())).then(() => process.exit(0));
  });
}
