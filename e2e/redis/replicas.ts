import { randomBytes } from 'node:crypto';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { send, type Reply, type SessionClient } from '../gateway/session-client.ts';
import type { ServedGateway, ServeOptions } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import type { configTo } from '../relay/gateway-to.ts';
import { gatewayTo } from '../relay/gateway-to.ts';

type RedisDocument = Extract<NonNullable<RunConfigDocument['session_storage']>, { type: 'redis' }>['redis'];

/** Deadlines for a Redis that will not answer. Other tests use the longer defaults. */
export const SHORT_DEADLINES = { dial_timeout: '1s', read_timeout: '500ms', write_timeout: '500ms' };

/** Settings by which replicas of one server share their sessions. */
export interface Shared {
  readonly settings: Pick<GatewayConfig, 'session_storage' | 'sealing_secret_files'>;
  readonly files: Record<string, string>;
}

/** Returns settings that share sessions in this Redis, sealed with a new secret. */
export function sharedIn(redis: Partial<RedisDocument>): Shared {
  const key_prefix = `vmcp:team/${randomBytes(4).toString('hex')}:`;
  return {
    settings: {
      session_storage: { type: 'redis', redis: { key_prefix, ...redis } },
      sealing_secret_files: ['sealing'],
    },
    files: { sealing: randomBytes(32).toString('hex') },
  };
}

/** Starts one more replica in this process, and closes it after the test. */
export function replicaOf(
  shared: Shared,
  backends: Parameters<typeof configTo>[0],
  more: Partial<GatewayConfig> = {},
  options: ServeOptions = {},
): Promise<ServedGateway> {
  return gatewayTo(backends, { ...shared.settings, ...more }, { ...options, files: shared.files });
}

/** Sends the client's next request to another replica. */
export function requestAt(
  { url }: { readonly url: string },
  client: SessionClient,
  method: string,
  params?: object,
): Promise<Reply> {
  return send(url, 'POST', client.headers, client.message(method, params));
}

export function notifyAt({ url }: { readonly url: string }, client: SessionClient, message: object): Promise<Reply> {
  return send(url, 'POST', client.headers, JSON.stringify({ jsonrpc: '2.0', ...message }));
}

export function deleteAt({ url }: { readonly url: string }, client: SessionClient): Promise<Reply> {
  return send(url, 'DELETE', client.headers);
}
