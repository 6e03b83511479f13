import { parseArgs } from 'node:util';
import { isFault, isPart } from './faults.ts';
import { serveIdentityProvider } from './serve.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    /** Public address, if it is not 127.0.0.1. */
    issuer: { type: 'string' },
    'token-lifetime': { type: 'string', default: '3600' },
    audience: { type: 'string', multiple: true },
    'redirect-uri': { type: 'string', multiple: true },
    /** `part:fail` or `part:hang`, where part is all, discovery, jwks or token. */
    fault: { type: 'string', multiple: true },
    /** File that outlives a restart: keys, sessions, tokens. */
    state: { type: 'string' },
  },
});

const provider = await serveIdentityProvider({
  port: Number(values.port),
  issuer: values.issuer,
  tokenLifetime: Number(values['token-lifetime']),
  ...(values.audience ? { audiences: values.audience } : {}),
  redirectUris: values['redirect-uri'] ?? [],
  ...(values.state === undefined ? {} : { stateFile: values.state }),
});
for (const entry of values.fault ?? []) {
  const [part = '', fault = ''] = entry.split(':');
  if (!isPart(part) || !isFault(fault)) throw new Error(`--fault ${entry}: write part:fail or part:hang`);
  provider.setFault(part, fault);
}
console.log(JSON.stringify({ issuer: provider.issuer, port: provider.port }));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void provider.close().then(() => process.exit(0));
  });
}
