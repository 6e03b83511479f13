import { transportOf } from '#crds/kinds/index';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import type { World } from '../world.ts';
import type { BackendSpec } from './find-group-members.ts';

// What resources may say and this release's runtime does not serve. All of it is refused here and nowhere else, after it
// has been checked in full, so that a refusal goes by removing its lines.

/** Throws `Stalled` for a whole document that the runtime would not serve. */
export function checkServed(document: RunConfigDocument): void {
  if (!document.embedded_auth_server_config) return;
  const message =
    'authServerConfig is valid, but the embedded authorization server is not part of this release: ' +
    'use an issuer of your own in incomingAuth.oidcConfig, and tokenExchange without subjectProviderName';
  throw new Stalled('AuthServerNotServed', message);
}

/** Throws `Stalled` for a backend that cannot be run or reached. */
export function checkBackendServed(name: string, spec: BackendSpec, world: World): void {
  if (world.platform.mode !== 'cluster' || spec.remoteUrl !== undefined || transportOf(spec) !== 'stdio') return;
  const message = `MCPServer "${name}": images on stdio do not run in a cluster in this release: use an image that speaks streamable-http`;
  throw new Stalled('StdioImageNotServed', message);
}

/** Throws `Stalled` for a credential that the runtime cannot make. */
export function checkCredentialServed(auth: RunConfigDocument['backends'][number]['auth'], place: string): void {
  if (auth?.type !== 'aws_sts') return;
  const message = `${place}: type awsSts is not part of this release: use tokenExchange, headerInjection or bearerToken`;
  throw new Stalled('AwsStsNotServed', message);
}
