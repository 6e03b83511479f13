import { resourceUrlOf, VirtualMCPServer } from '#crds/kinds/index';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest, ResourceKey, World } from '../world.ts';
import { checkChildNames } from './check-child-names.ts';
import { checkReplicas } from './check-replicas.ts';
import { checkServed } from './check-served.ts';
import { runtimeChild } from './child-names.ts';
import { FileList } from './file-list.ts';
import { findGroupMembers, type Member } from './find-group-members.ts';
import type { Outcome, Rendered } from './outcome.ts';
import { readSpec } from './read-resource.ts';
import { type BackendDocument, renderBackend } from './render-backend.ts';
import { renderChildren } from './render-children.ts';
import { endpointOf, keyPrefixOf, renderRunConfig, type ServerSpec } from './render-run-config.ts';
import { resolveAuthServer } from './resolve-auth-server.ts';
import { resolveIncomingAuth } from './resolve-incoming-auth.ts';
import type { OutgoingContext } from './resolve-outgoing-auth.ts';
import { type BackendFinding, type ServerFindings, summariseProblem, summariseServer } from './summarise-status.ts';
import { findWarnings } from './find-warnings.ts';

/** Where a runtime finds its files. */
export function directoriesOf(child: string, world: World): { secret: string; config: string } {
  if (world.platform.mode === 'cluster') return { secret: '/etc/vmcp/credentials', config: '/etc/vmcp/config' };
  const own = `${world.platform.directory}/${child}`;
  return { secret: `${own}/secrets`, config: own };
}

interface TriedBackend {
  finding: BackendFinding;
  entry?: BackendDocument;
}

/** One backend, or why it is left out. The files of one that is left out are not kept. */
function tryBackend(member: Member, context: OutgoingContext, files: FileList): TriedBackend {
  const { name } = member;
  const left = (reason: string, message: string): TriedBackend => ({
    finding: { name, url: '', authType: 'unknown', excluded: { reason, message } },
  });
  if ('problem' in member) return left(member.problem.reason, member.problem.message);
  if (member.spec.suspend) return left('Suspended', 'It is stopped: write suspend: false to start it.');
  const own = files.part();
  try {
    const { entry, url, authType } = renderBackend(name, member.spec, context, own);
    files.add(own);
    return { finding: { name, url, authType }, entry };
  } catch (problem) {
    if (problem instanceof Stalled || problem instanceof Waiting) return left(problem.reason, problem.message);
    throw problem;
  }
}

/** The ordered list: incoming, authorization server, group members with outgoing, run configuration. */
function renderServer(
  manifest: Manifest,
  spec: ServerSpec,
  world: World,
): { rendered: Rendered; findings: ServerFindings } {
  const { name } = manifest.metadata;
  const directories = directoriesOf(runtimeChild(name), world);
  const files = new FileList(world, directories);
  checkReplicas(spec);
  const incoming = resolveIncomingAuth(spec.incomingAuth, spec.authServerConfig !== undefined, world, files);
  const resourceUrl = resourceUrlOf(spec.incomingAuth);
  const authServer =
    spec.authServerConfig &&
    resolveAuthServer(spec.authServerConfig, incoming.incoming, resourceUrl, keyPrefixOf(name, world), files);
  const members = findGroupMembers(
    spec.config.groupRef,
    spec.config.aggregation?.conflictResolutionConfig?.priorityOrder ?? [],
    world,
  );
  const providers = authServer?.document.upstreams.map((upstream) => upstream.name) ?? [];
  const context = { outgoing: spec.outgoingAuth, providers, world };
  const tried = members.map((member) => tryBackend(member, context, files));
  const backends = tried.flatMap(({ entry }) => (entry ? [entry] : []));
  const parts = { manifest, spec, incoming, authServer: authServer?.document, backends };
  const document = renderRunConfig(parts, world, files);
  checkServed(document);
  const findings: ServerFindings = {
    url: endpointOf(name, spec, world),
    ...(authServer ? { redirectUris: authServer.redirectUris } : {}),
    backends: tried.map(({ finding }) => finding),
    warnings: [
      ...incoming.warnings,
      ...findWarnings(
        spec,
        document,
        members.map((member) => member.name),
        world,
      ),
    ],
  };
  const { secretFiles, plainFiles } = files;
  const rendered = {
    document,
    secretFiles,
    plainFiles,
    secretDirectory: directories.secret,
    configDirectory: directories.config,
  };
  return { rendered, findings };
}

/** Whether the runtime serves exactly this document. */
function isDelivered(rendered: Rendered, name: string, world: World): boolean {
  const same = JSON.stringify(world.documents[name]) === JSON.stringify(rendered.document);
  return same && world.observed[name]?.current === true;
}

/** A VirtualMCPServer: its document, its runtime, its status. */
export function planServer(key: ResourceKey, manifest: Manifest, world: World, now: string): Outcome {
  const { name } = key;
  try {
    checkChildNames(key, world);
    const spec = readSpec(VirtualMCPServer, manifest);
    const { rendered, findings } = renderServer(manifest, spec, world);
    const delivered = isDelivered(rendered, name, world);
    const status = summariseServer(findings, manifest, world.observed[name], delivered, now);
    return { key, action: 'apply', rendered, children: renderChildren(manifest, spec, rendered, world), status };
  } catch (problem) {
    if (!(problem instanceof Stalled || problem instanceof Waiting)) throw problem;
    const status = summariseProblem(problem, manifest, world.documents[name] !== undefined, now);
    return { key, action: 'keep', children: [], status };
  }
}
