import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '#lib/log/log';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { SECRETS } from '../api/resources.ts';
import { type Certificates, renewCertificates } from './renew-certificates.ts';

export interface Agreed extends Certificates {
  /** Path of the webhook. It cannot be guessed. */
  path: string;
}

export interface CertificateDeps {
  api: KubeApi;
  namespace: string;
  secretName: string;
  serverNames: readonly string[];
  /** Publishes the trusted authorities and the path to the clients. Writes only differences. */
  announce: (agreed: Agreed) => Promise<void>;
  now: () => number;
  log?: Log;
}

const FIELD_MANAGER = 'vmcp-operator-certificates';

const KEYS = {
  authorities: 'ca.crt',
  authorityKey: 'ca.key',
  certificate: 'tls.crt',
  key: 'tls.key',
  path: 'path',
} as const;

/** Another replica may write at the same time. */
const ATTEMPTS = 5;

type Secret = KubeObject & { data?: Record<string, string> };

function read(secret: Secret | undefined): Agreed | undefined {
  const text = (key: string) => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString();
  if (!secret) return undefined;
  const { authorities, authorityKey, certificate, key, path } = KEYS;
  return {
    authorities: text(authorities),
    authorityKey: text(authorityKey),
    certificate: text(certificate),
    key: text(key),
    path: text(path),
  };
}

async function find(place: CertificateDeps): Promise<Secret | undefined> {
  const { api, namespace, secretName: name } = place;
  try {
    return await api.get(SECRETS, { namespace, name });
  } catch (problem) {
    if (isStatus(problem, 404)) return undefined;
    throw problem;
  }
}

async function store(agreed: Agreed, former: Secret | undefined, place: CertificateDeps): Promise<void> {
  const { api, namespace, secretName: name } = place;
  const data = Object.fromEntries(
    Object.entries(KEYS).map(([field, key]) => [key, Buffer.from(agreed[field as keyof Agreed]).toString('base64')]),
  );
  const kept = former?.metadata ?? { name, namespace, labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' } };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: kept, data };
  if (former) await api.replace(SECRETS, secret, { fieldManager: FIELD_MANAGER });
  else await api.create(SECRETS, secret, { fieldManager: FIELD_MANAGER });
  const reason = former ? 'the certificate has reached its age' : 'it was not there';
  place.log?.info(former ? 'secret rotated' : 'object applied', { object: `Secret ${namespace}/${name}`, reason });
}

/** The API server accepts only lower-case paths. */
const makePath = () => `/review/${randomBytes(24).toString('hex')}`;
const isPath = (path: string | undefined): path is string => /^\/review\/[0-9a-f]{48}$/.test(path ?? '');

/** Returns the shared certificates. Creates and stores missing or expiring ones, and never overwrites those of another replica. */
async function agree(place: CertificateDeps): Promise<Agreed> {
  for (let attempt = 1; ; attempt++) {
    const former = await find(place);
    const stored = read(former);
    const renewed = await renewCertificates(stored, place.serverNames, place.now());
    const path = isPath(stored?.path) ? stored.path : makePath();
    if (stored && renewed === stored && path === stored.path) return stored;
    const agreed = { ...renewed, path };
    try {
      await store(agreed, former, place);
      return agreed;
    } catch (problem) {
      if (!isStatus(problem, 409) || attempt === ATTEMPTS) throw problem;
    }
  }
}

/** Checks once. Returns the certificates to serve, after `announce` has published them. */
export async function bringCertificates(place: CertificateDeps): Promise<Agreed> {
  const agreed = await agree(place);
  await place.announce(agreed);
  return agreed;
}

const LOOK_AGAIN = 60_000;
const TRY_AGAIN = 5000;
/** Spreads the requests of several replicas. */
const JITTER = 0.2;

/** Checks periodically until `signal`. Passes the certificates to `changed`, and problems to `onProblem`. */
export async function keepCertificates(
  place: CertificateDeps,
  changed: (agreed: Agreed) => void | Promise<void>,
  onProblem: (problem: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  let served = '';
  while (!signal.aborted) {
    let pause = LOOK_AGAIN;
    try {
      const agreed = await bringCertificates(place);
      const text = JSON.stringify(agreed);
      if (text !== served) await changed(agreed);
      served = text;
    } catch (problem) {
      pause = TRY_AGAIN;
      onProblem(problem);
    }
    const spread = 1 + JITTER * (Math.random() - 0.5);
    await sleep(pause * spread, undefined, { signal }).catch(() => undefined);
  }
}
