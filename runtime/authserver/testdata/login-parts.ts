import { randomBytes } from 'node:crypto';
import { AuthServer } from '#crds/run-config/auth-server';
import { browserCookie } from '../browser/browser-cookie.ts';
import { createBrowsers } from '../browser/browsers.ts';
import { createRepeatAnswer } from '../browser/repeat-answer.ts';
import { chainOf } from '../chain.ts';
import type { ClientDocuments } from '../register/client-documents.ts';
import { registeredClients } from './registered-clients.ts';
import { createClients } from '../register/find-client.ts';
import { createMemoryStorage } from '../storage/memory.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { authServerUrls } from '../urls.ts';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { FRAME, RESOURCE } from './serve-routes.ts';
import { READS_NOTHING } from '#runtime/policy/policy-reads';

export const PLACE = { namespace: 'default', name: 'vmcp', uid: 'u-1' };

interface PartsOptions {
  /** Members of the configuration, including its upstream providers. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly documents?: ClientDocuments | undefined;
  /** Wraps the storage. */
  readonly wrap?: ((storage: AuthStorage) => AuthStorage) | undefined;
}

/** Returns the parts of the login endpoints at one address. */
export function loginParts(origin: string, { config: more, time, documents, wrap }: PartsOptions) {
  const config = AuthServer.parse({ issuer: origin, ...more });
  const urls = authServerUrls(config);
  const clock = { time };
  const now = () => clock.time;
  const memory = createMemoryStorage({ now });
  const storage = wrap?.(memory) ?? memory;
  const cookie = browserCookie(config.issuer, urls.authorize);
  const chain = chainOf(config);
  const browsers = createBrowsers({ storage, cookie, primary: chain.primary.name, now });
  const clients = createClients({ storage, documents, registered: registeredClients(config, now), now });
  const resources = [RESOURCE] as const;
  const secrets = createSecretRing([], { now, random: randomBytes });
  const sealed = { storage, secrets, place: PLACE };
  const repeatAnswer = createRepeatAnswer({ ...sealed, frame: FRAME, limits: config.limits, now });
  const people = {
    cookie,
    chain,
    browsers,
    clients,
    repeatAnswer,
    sharedLogins: () => [],
    policyReads: () => READS_NOTHING,
    unknownProxy: () => undefined,
  };
  return { config, urls, clock, now, memory, ...sealed, ...people, frame: FRAME, resources };
}
