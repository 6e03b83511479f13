import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { closeAll } from '../relay/gateway-to.ts';
import { startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';

/** The form of its answers. */
export type OldServerKind = 'sse' | 'json' | 'resumable';

/** Starts servers of the SDK's 1.x line, which speak only older revisions, for the tests of a file. Returns the URL of one. */
export function useOldServers(): (kind: OldServerKind) => string {
  let servers: Record<OldServerKind, SdkServer>;
  beforeAll(async () => {
    servers = {
      sse: await startSdkServer('old'),
      json: await startSdkServer('old', { json: true }),
      resumable: await startSdkServer('old', { eventStore: true }),
    };
  }, 120_000);
  afterAll(async () => {
    for (const server of Object.values(servers)) await server.stop();
  });
  afterEach(closeAll);
  return (kind) => servers[kind].url;
}
