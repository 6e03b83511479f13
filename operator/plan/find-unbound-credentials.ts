import { MCPExternalAuthConfig } from '#crds/kinds/index';
import { readValue } from '#crds/parts/read-value';
import { valueAt } from '#crds/parts/rule';
import type { Snapshot } from '../snapshot.ts';
import { ownValue } from './own-value.ts';
import type { ServerSpec } from './server-spec.ts';
import type { Finding } from './finding.ts';

function goesAnywhere(reference: string, snapshot: Snapshot): boolean {
  const manifest = snapshot.mcpExternalAuthConfigs[reference];
  if (!manifest) return false;
  const read = readValue(MCPExternalAuthConfig, manifest);
  return 'data' in read && read.data.spec.type !== 'unauthenticated' && !read.data.spec.allowedHosts;
}

function givenTo({ outgoingAuth }: ServerSpec, members: string[], snapshot: Snapshot): Map<string, string[]> {
  const given = new Map<string, string[]>();
  for (const name of members) {
    const reference = (ownValue(outgoingAuth.backends, name) ?? outgoingAuth.default)?.externalAuthConfigRef?.name;
    if (reference === undefined) continue;
    if (valueAt(snapshot.mcpServers[name]?.spec, ['externalAuthConfigRef', 'name']) === reference) continue;
    given.set(reference, [...(given.get(reference) ?? []), name]);
  }
  return given;
}

/** Finds credentials for backends that do not name them: without a right to them, a writer of the MCPServer decides their destination. */
export function findUnboundCredentials(spec: ServerSpec, members: string[], snapshot: Snapshot): Finding[] {
  if (snapshot.platform.mode === 'local' || spec.outgoingAuth.source !== 'inline') return [];
  const given = givenTo(spec, members, snapshot);
  const anywhere = [...given].filter(([reference]) => goesAnywhere(reference, snapshot));
  if (anywhere.length === 0) return [];
  const list = anywhere.map(([reference, names]) => `MCPExternalAuthConfig "${reference}" to ${names.join(', ')}`);
  const message =
    `outgoingAuth gives ${list.join('; ')}, which do not name it themselves: whoever may write an MCPServer of the group decides where ` +
    `these credentials go. Write allowedHosts on it, or externalAuthConfigRef in those MCPServers.`;
  return [{ type: 'CredentialsUnbound', status: 'True', reason: 'NoAllowedHosts', message }];
}
