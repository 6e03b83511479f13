import { resourceUrlOf, VirtualMCPServer } from '#crds/kinds/index';
import { valueAt } from '#crds/parts/rule';
import { type Manifest, type ResourceKey, runtimeName, type World } from '../world.ts';
import { checkChildNames } from './check-child-names.ts';
import { checkDocument } from './check-document.ts';
import { checkReplicas } from './check-replicas.ts';
import { runtimeChild } from './child-names.ts';
import { FileList } from './file-list.ts';
import { findGroupMembers } from './find-group-members.ts';
import { keepOutcome } from './keep-outcome.ts';
import { childOf, runtimeSelector, selectorText } from './object-parts.ts';
import type { Outcome, Rendered } from './outcome.ts';
import { readSpec } from './read-resource.ts';
import { renderChildren } from './render-children.ts';
import { endpointOf, keyPrefixOf, renderRunConfig, type ServerSpec } from './render-run-config.ts';
import { type AuthServerPlace, resolveAuthServer } from './resolve-auth-server.ts';
import { resolveIncomingAuth } from './resolve-incoming-auth.ts';
import { resolveBackends } from './resolve-backends.ts';
import { type ServerFindings, type ServerObserved, summariseServer } from './summarise-status.ts';
import { findWarnings } from './find-warnings.ts';

/** Where a runtime finds its files. */
function directoriesOf(child: string, world: World): { secret: string; config: string } {
  if (world.platform.mode === 'cluster') return { secret: '/etc/vmcp/credentials', config: '/etc/vmcp/config' };
  const own = `${world.platform.directory}/${child}`;
  return { secret: `${own}/secrets`, config: own };
}

/** On one machine, logins outlive a restart unless another storage is written; its default cannot tell. */
function authServerPlace(manifest: Manifest, spec: ServerSpec, world: World): AuthServerPlace {
  const { name } = manifest.metadata;
  const place = { resourceUrl: resourceUrlOf(spec.incomingAuth), keyPrefix: keyPrefixOf(name, world) };
  const written = valueAt(manifest.spec, ['authServerConfig', 'storage']) !== undefined;
  if (world.platform.mode !== 'local' || written) return place;
  const database = `${world.platform.loginDirectory}/${name}/logins.sqlite`;
  return { ...place, kept: { database, secrets: world.generated[name] ?? {} } };
}

/** The ordered list: incoming, authorization server, group members with outgoing, run configuration. */
function renderServer(
  manifest: Manifest,
  spec: ServerSpec,
  world: World,
): { rendered: Rendered; findings: ServerFindings } {
  const { name } = manifest.metadata;
  const { incomingAuth, authServerConfig, config } = spec;
  const files = new FileList(world, directoriesOf(runtimeChild(name), world));
  checkReplicas(spec);
  const { incoming, authz, warnings } = resolveIncomingAuth(incomingAuth, authServerConfig !== undefined, world, files);
  const authServer =
    authServerConfig && resolveAuthServer(authServerConfig, incoming, authServerPlace(manifest, spec, world), files);
  const priorityOrder = config.aggregation?.conflictResolutionConfig?.priorityOrder ?? [];
  const members = findGroupMembers(config.groupRef, priorityOrder, world);
  const context = {
    outgoing: spec.outgoingAuth,
    providers: authServer?.document.upstreams.map((upstream) => upstream.name) ?? [],
    groupsClaim: incoming.type === 'oidc' ? incoming.groups_claim : undefined,
    world,
  };
  const { entries: backends, findings } = resolveBackends(members, context, files);
  const parts = { manifest, spec, incoming, authz, authServer: authServer?.document, backends };
  const document = renderRunConfig(parts, world, files);
  checkDocument(document);
  const names = members.map((member) => member.name);
  return {
    rendered: files.renderedWith(document),
    findings: {
      url: endpointOf(name, spec, world),
      redirectUris: authServer?.redirectUris,
      backends: findings,
      warnings: [...warnings, ...findWarnings(spec, document, names, world)],
    },
  };
}

/** Whether the runtime serves exactly this document. */
function isDelivered(rendered: Rendered, name: string, world: World): boolean {
  const same = JSON.stringify(world.documents[name]) === JSON.stringify(rendered.document);
  return same && world.observed[name]?.current === true;
}

function observedOf(manifest: Manifest, world: World): Omit<ServerObserved, 'delivered'> {
  const runtime = world.observed[runtimeName({ kind: manifest.kind, name: manifest.metadata.name })];
  if (world.platform.mode === 'local') return { runtime };
  const child = childOf(manifest);
  const selector = selectorText(runtimeSelector(manifest));
  return { runtime, workload: { child, observed: world.deployments?.[child], selector } };
}

/** A VirtualMCPServer: its document, its runtime, its status. */
export function planServer(key: ResourceKey, manifest: Manifest, world: World, now: string): Outcome {
  const { name } = key;
  try {
    checkChildNames(key, world);
    const spec = readSpec(VirtualMCPServer, manifest);
    const { rendered, findings } = renderServer(manifest, spec, world);
    const seen = { ...observedOf(manifest, world), delivered: isDelivered(rendered, name, world) };
    const status = summariseServer(findings, manifest, seen, now);
    return { key, action: 'apply', rendered, children: renderChildren(manifest, spec, rendered, world), status };
  } catch (problem) {
    return keepOutcome(key, problem, manifest, { serving: world.documents[name] !== undefined }, now);
  }
}
