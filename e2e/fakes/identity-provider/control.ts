import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientSecrets } from './client-secrets.ts';
import type { CurrentProvider } from './current-provider.ts';
import { isFault, isPart, type Faults } from './faults.ts';

interface Controlled {
  readonly provider: CurrentProvider;
  readonly faults: Faults;
  readonly secrets: ClientSecrets;
}

async function change(query: URLSearchParams, { provider, faults, secrets }: Controlled): Promise<void> {
  const rotation = query.get('rotate');
  if (rotation !== null) await provider.rotate({ dropOld: rotation === 'drop' });
  const [part = '', fault = ''] = (query.get('fault') ?? '').split(':');
  if (isPart(part)) faults.set(part, isFault(fault) ? fault : undefined);
  const good = query.getAll('client-secret');
  if (good.length > 0) secrets.use(good);
  const lifetime = query.get('token-lifetime');
  if (lifetime !== null) provider.setTokenLifetime(Number(lifetime));
}

/**
 * Answers `POST /control?rotate=drop|keep`, `?fault=jwks:hang`, `?fault=jwks:none`,
 * `?client-secret=<one>&client-secret=<other>`, `?token-lifetime=<seconds>` with the counts.
 */
export async function answerControl(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  controlled: Controlled,
): Promise<void> {
  const { faults, secrets } = controlled;
  if (method === 'POST') await change(new URL(url, 'http://control').searchParams, controlled);
  const [counts, broken] = [Object.fromEntries(faults.counts), Object.fromEntries(faults.broken)];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ counts, faults: broken, secrets: secrets.tries() }));
}
