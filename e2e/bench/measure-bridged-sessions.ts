import { serveIdentityProvider } from '../fakes/identity-provider/serve.ts';
import { CLIENT_CORE } from './load.ts';
import { callModern, callOnce, openSession } from './mcp-client.ts';
import { measureCost, WARM_UP, type OpenOne, type SessionCost } from './measure-memory.ts';
import { startAnonymousGateway, startBackends, startListing } from './targets.ts';

export interface BridgedSessionCost extends SessionCost {
  readonly title: string;
  /** Highest heap of a session in KiB that the project accepts; absent: none. */
  readonly limit?: number;
}

const LIMIT = 4;
const TO_OLDER = 'client of 2026-07-28, backend of 2025-11-25';

/** Measures the cost of an idle session of each bridge after one call. */
export async function measureBridgedSessions(sessions: number): Promise<BridgedSessionCost[]> {
  const toNewer = await measureToModern(sessions);
  const toOlder = await measureToLegacy(sessions, ['--method', 'GET']);
  const streaming = await measureToLegacy(sessions, []);
  return [
    { title: 'client of 2025-11-25, backend of 2026-07-28', limit: LIMIT, ...toNewer },
    { title: TO_OLDER, limit: LIMIT, ...toOlder },
    // Each such session holds a connection, which alone takes more.
    { title: `${TO_OLDER} that keeps a stream open`, ...streaming },
  ];
}

const startOther = (refuses: string, more: readonly string[] = []) =>
  startBackends(1, 10, CLIENT_CORE, ['--behaviour', 'html', '--method', refuses, ...more]);

async function measureToModern(sessions: number): Promise<SessionCost> {
  const { urls, stop } = await startOther('initialize');
  try {
    return await measureCost(
      sessions,
      (options) => startAnonymousGateway(urls, options),
      ({ url }) => ({ openOne: async (tool) => callOnce(url, await openSession(url), tool) }),
    );
  } finally {
    await stop();
  }
}

/** Sessions of one principal. More would replace each other. */
const OF_PRINCIPAL = 50;

/** Each client of a principal has another version, and so a session at the backend that no other one uses. */
async function measureToLegacy(sessions: number, more: readonly string[]): Promise<SessionCost> {
  const { urls, stop } = await startOther('server/discover', more);
  const identity = await serveIdentityProvider({ audiences: ['backend'] });
  const principals = Math.ceil((sessions + WARM_UP) / OF_PRINCIPAL) + 1;
  try {
    return await measureCost(
      sessions,
      (options) => startListing(urls, identity, { principals, own: 0, withPolicies: false }, options),
      ({ url, tokens = [] }) => {
        const tokenOf = (index: number) => tokens[index % principals] ?? '';
        const openOne: OpenOne = (tool, index) => callModern(url, tokenOf(index), tool, `1.0.${index}`);
        return { token: tokenOf(0), openOne };
      },
      'vmcp_backend_bridged_sessions',
    );
  } finally {
    await identity.close();
    await stop();
  }
}
