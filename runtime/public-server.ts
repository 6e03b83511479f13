import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import { ConfigError } from '#runtime/errors';
import type { FollowedRunConfig } from '#runtime/follow-run-config';
import { createListener, type Route } from '#runtime/http/listener';
import type { Log } from '#runtime/telemetry/log';

interface ServerDeps {
  readonly followed: Pick<FollowedRunConfig, 'current' | 'files'>;
  readonly log: Pick<Log, 'error'>;
}

/** @throws ConfigError for a certificate or key that cannot be served */
export function publicServer({ followed, log }: ServerDeps, route: Route): Server {
  const { tls } = followed.current.config.listen;
  const pair = tls && { cert: followed.files.read(tls.cert_file), key: followed.files.read(tls.key_file) };
  try {
    return createListener({
      tls: pair,
      route,
      failed: (error) => log.error('a request failed without an answer', { error }),
    });
  } catch (cause) {
    const files = `${tls?.cert_file ?? ''} and ${tls?.key_file ?? ''}`;
    const remedy = 'write a certificate in PEM form with its chain, and its private key without passphrase';
    throw new ConfigError(`listen.tls: ${files} cannot be served: ${remedy}`, { cause });
  }
}

/** A certificate that was renewed serves the next connections. */
export function renewCertificate(server: Server, { followed, log }: ServerDeps, changed: readonly string[]): void {
  const { current, files } = followed;
  const { tls } = current.config.listen;
  if (!tls || !(server instanceof TlsServer)) return;
  if (!changed.includes(tls.cert_file) && !changed.includes(tls.key_file)) return;
  try {
    server.setSecureContext({ cert: files.read(tls.cert_file), key: files.read(tls.key_file) });
  } catch (error) {
    // A certificate may come a moment before its key.
    log.error('the renewed certificate cannot be served; the former one stays', { error });
  }
}
