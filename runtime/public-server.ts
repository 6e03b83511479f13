import { findTlsProblem } from '#lib/tls/find-tls-problem';
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import type { FollowedRunConfig } from '#runtime/follow-run-config';
import { createListener, type Route } from '#runtime/http/listener';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';

interface ServerDeps {
  readonly followed: Pick<FollowedRunConfig, 'current' | 'files'>;
  readonly log: Pick<Log, 'error'>;
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Reads the certificate of the public port. @throws ConfigError if it is unusable */
export function readCertificate(
  { tls }: RunConfig['listen'],
  { read }: Pick<SecretFiles, 'read'>,
): Certificate | undefined {
  if (!tls) return undefined;
  const certificate = { cert: read(tls.cert_file), key: read(tls.key_file) };
  const problem = findTlsProblem(certificate);
  if (problem === undefined) return certificate;
  throw new ConfigError(`listen.tls: ${tls.cert_file} and ${tls.key_file} cannot be served: ${problem}`);
}

/** @throws ConfigError for an unusable certificate or key */
export function publicServer({ followed, log }: ServerDeps, route: Route): Server {
  const failed = (error: unknown) => log.error('a request failed without an answer', { error });
  return createListener({ tls: readCertificate(followed.current.config.listen, followed.files), route, failed });
}

export function serveCertificate(server: Server, certificate: Certificate | undefined): void {
  if (certificate && server instanceof TlsServer) server.setSecureContext(certificate);
}

export function renewCertificate(server: Server, { followed, log }: ServerDeps, changed: readonly string[]): void {
  const { current, files } = followed;
  const { tls } = current.config.listen;
  if (!tls || (!changed.includes(tls.cert_file) && !changed.includes(tls.key_file))) return;
  try {
    serveCertificate(server, readCertificate(current.config.listen, files));
  } catch (error) {
    // The certificate may change a moment before its key.
    log.error('the renewed certificate cannot be served; the former one stays', { error });
  }
}
