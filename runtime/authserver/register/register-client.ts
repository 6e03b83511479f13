import { RequestError } from '#runtime/errors';
import type { Audit } from '#runtime/audit/audit';
import { OAuthError } from '../errors.ts';
import { jsonAnswer, type Handler } from '../handler.ts';
import { hashId, newId } from '../ids.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { addressBucket, networkBucket } from '#lib/connections/address-bucket';
import { NEW_CLIENT_LIFESPAN } from './find-client.ts';
import { readClientMetadata, type MetadataRules } from './read-client-metadata.ts';

interface RegistrationSettings extends MetadataRules {
  readonly storage: AuthStorage;
  readonly limits: { readonly registrations_per_minute: number; readonly clients: number };
  readonly record: Audit['record'];
  readonly now: () => number;
  readonly unknownProxy: () => void;
}

const MINUTE = 60_000;
/** Limit of a network, as a multiple of the limit of an address. */
const ADDRESSES_OF_NETWORK = 10;
/** Limit of a proxy, as a multiple of the limit of an address. */
const CLIENTS_OF_PROXY = 10;

/** Registers public clients (RFC 7591), limited per address and in total. A registration never removes another client. */
export function createRegisterClient(settings: RegistrationSettings): Handler {
  const { storage, limits, now, record } = settings;
  return async ({ json, remoteAddress, isProxyAddress }) => {
    const most = limits.registrations_per_minute;
    if (isProxyAddress) settings.unknownProxy();
    // Clients of an unknown proxy share wider limits, which count separately: any program can claim to be a proxy.
    const [as, ofAddress] = isProxyAddress ? ['proxy|', most * CLIENTS_OF_PROXY] : ['', most];
    const buckets = [
      [addressBucket(remoteAddress), ofAddress],
      [networkBucket(remoteAddress), ofAddress * ADDRESSES_OF_NETWORK],
    ] as const;
    for (const [bucket, limit] of buckets)
      if ((await storage.count(`register|${as}${bucket}`, MINUTE)) > limit) throw tooMany();
    const row = { client_id: newId(), ...readClientMetadata(json, settings), registered_at: now() };
    const stored = await storage.put('client', hashId(row.client_id), row, {
      lifespan: NEW_CLIENT_LIFESPAN,
      capacity: limits.clients,
    });
    if (!stored) throw new OAuthError('temporarily_unavailable', 'No more clients can register at the moment');
    const subjects = { client_name: row.client_name };
    record({ type: 'auth_client_registered', outcome: 'success', source: remoteAddress, subjects });
    const { registered_at, scope = settings.scopesSupported.join(' '), ...kept } = row;
    const issued = { scope, client_id_issued_at: Math.floor(registered_at / 1000), token_endpoint_auth_method: 'none' };
    return jsonAnswer({ ...kept, ...issued, response_types: ['code'] }, 201, { Pragma: 'no-cache' });
  };
}

function tooMany(): RequestError {
  return new RequestError({
    status: 429,
    code: 'too_many_registrations',
    text: 'Too many clients register from this address; try again in a minute',
    headers: { 'Retry-After': '60' },
  });
}
