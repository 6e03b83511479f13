import { Stalled } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import type { BackendSpec } from './find-group-members.ts';
import { problemInOwnFields } from './name-own-fields.ts';
import { renderKubernetesIssuer } from './render-issuer.ts';
import { resolveIssuer } from './resolve-issuer.ts';
import type { ResolvedAuthz } from './resolve-authz.ts';
import type { OutgoingContext } from './resolve-outgoing-auth.ts';

interface Callers {
  readonly issuer: string;
  readonly groupsClaim: string | undefined;
}

function callersOf({ oidcConfig, oidcConfigRef }: BackendSpec, snapshot: Snapshot): Callers | undefined {
  if (!oidcConfig && !oidcConfigRef) return undefined;
  try {
    const issuer = resolveIssuer({ oidcConfig, oidcConfigRef }, snapshot);
    if (issuer.type === 'inline') return { issuer: issuer.block.issuer, groupsClaim: issuer.block.groupsClaim };
    return { issuer: renderKubernetesIssuer(issuer.block, undefined, snapshot).issuer, groupsClaim: undefined };
  } catch (problem) {
    throw problemInOwnFields(problem);
  }
}

function differenceOf(own: Callers, incoming: OutgoingContext['incoming']): string | undefined {
  if (incoming.type === 'anonymous') return 'the VirtualMCPServer lets in callers without a token';
  if (own.issuer !== incoming.issuer) return `the VirtualMCPServer lets in tokens of ${incoming.issuer}`;
  if (own.groupsClaim === incoming.groups_claim) return undefined;
  const claim = (name: string | undefined) => (name === undefined ? 'the default claims' : `claim ${name}`);
  return `the VirtualMCPServer reads groups from ${claim(incoming.groups_claim)}, oidcConfig from ${claim(own.groupsClaim)}`;
}

function callersWithTokens(name: string, issuer: string): Stalled {
  const message =
    `MCPServer "${name}" authzConfig: its policies name Client::"anonymous", the caller of its own endpoint, but the VirtualMCPServer lets in ` +
    `tokens of ${issuer}: write policies that do not name it, or oidcConfig with this issuer`;
  return new Stalled('OtherCallers', message);
}

/** Rejects policies about callers if issuer or `groupsClaim` differ: the group has other users. @throws Stalled, Waiting */
export function checkSameCallers(
  name: string,
  spec: BackendSpec,
  { namesAnonymous }: Pick<ResolvedAuthz, 'namesAnonymous'>,
  { incoming, snapshot }: OutgoingContext,
): void {
  const own = callersOf(spec, snapshot);
  if (own === undefined && namesAnonymous && incoming.type !== 'anonymous')
    throw callersWithTokens(name, incoming.issuer);
  const difference = own && differenceOf(own, incoming);
  if (own === undefined || difference === undefined) return;
  const message =
    `MCPServer "${name}" authzConfig: its policies read the principal or claims, and oidcConfig has issuer ${own.issuer}, but ${difference}: ` +
    'write the same issuer and groupsClaim in both, or policies that do not read the caller';
  throw new Stalled('OtherCallers', message);
}
