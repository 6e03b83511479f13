// The look-alikes, in the foreground until Ctrl-C: beside `npx vmcp up examples/providers`.
import { startLookAlikes } from './look-alikes.ts';

const ports = { github: 4584, google: 4585, slack: 4586 };
const stop = await startLookAlikes({ ports, issuer: 'http://127.0.0.1:4583' });
for (const [name, port] of Object.entries(ports)) console.log(`${name.padEnd(6)} http://127.0.0.1:${port}`);
console.log(`
users: alice and bob, without passwords. Next, in another terminal:
  npx vmcp up examples/providers --state examples/providers/.vmcp`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void stop().then(() => process.exit(0));
  });
}
