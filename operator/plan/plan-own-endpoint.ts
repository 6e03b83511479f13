import type { Status } from '#crds/kinds/status';
import { Stalled } from '../errors.ts';
import type { Manifest, Snapshot } from '../snapshot.ts';
import { isAllowedAnnotation } from './allowed-annotation.ts';
import { isAllowedVariable } from './allowed-variable.ts';
import { metricsOf } from './child-names.ts';
import { checkEndpointPort } from './check-port.ts';
import { defined } from './defined.ts';
import type { BackendSpec } from './find-group-members.ts';
import type { Child, ClusterObject, Rendered } from './outcome.ts';
import { nameOwnFields, problemInOwnFields } from './check-document.ts';
import { ownEndpoint } from './own-endpoint.ts';
import { renderBackend } from './render-backend.ts';
import { renderChildren } from './render-children.ts';
import { observeRuntime, type ResolvedRuntime, resolveRuntime } from './resolve-runtime.ts';
import type { ServerSpec } from './server-spec.ts';
import { notYetServed, summariseServer } from './summarise-status.ts';

interface OwnEndpoint {
  rendered: Rendered;
  children: Child[];
  status: Status;
}

type Metadata = ClusterObject['object']['metadata'];

/** Adds the written labels and annotations. Rendered ones win. */
function withTexts(metadata: Metadata, more: { labels?: object | undefined; annotations?: object | undefined } = {}) {
  const { labels, annotations } = metadata;
  return {
    ...metadata,
    ...(more.labels ? { labels: { ...more.labels, ...(labels as object) } } : {}),
    ...(more.annotations ? { annotations: { ...more.annotations, ...(annotations as object | undefined) } } : {}),
  };
}

interface Template {
  metadata: Metadata;
  spec: { containers: { name: string; env?: { name: string }[] }[] };
}

function overrideDeployment(object: ClusterObject['object'], overrides: BackendSpec['resourceOverrides']) {
  const { labels, annotations, podLabels, podAnnotations, env } = overrides?.proxyDeployment ?? {};
  const spec = object.spec as { template: Template };
  const { template } = spec;
  const containers = template.spec.containers.map((container) => {
    const ours = (container.env ?? []).filter(({ name }) => !env?.some((one) => one.name === name));
    return env ? { ...container, env: [...ours, ...env] } : container;
  });
  return {
    ...object,
    metadata: withTexts(object.metadata, { labels, annotations }),
    spec: {
      ...spec,
      template: {
        metadata: withTexts(template.metadata, { labels: podLabels, annotations: podAnnotations }),
        spec: { ...template.spec, containers },
      },
    },
  };
}

function override(
  object: ClusterObject['object'],
  overrides: BackendSpec['resourceOverrides'],
): ClusterObject['object'] {
  if (object.kind === 'Deployment') return overrideDeployment(object, overrides);
  const isPublic = object.kind === 'Service' && !object.metadata.name.startsWith(metricsOf(''));
  return isPublic ? { ...object, metadata: withTexts(object.metadata, overrides?.proxyService) } : object;
}

/** Leaves processes on one machine unchanged: they have no metadata to override. */
function overrideChild(child: Child, overrides: BackendSpec['resourceOverrides']): Child {
  return child.platform === 'cluster' ? { ...child, object: override(child.object, overrides) } : child;
}

/** Rejects variables, as the process knows credentials of others, and annotations, on which controllers act. @throws Stalled */
function checkOverrides(name: string, overrides: BackendSpec['resourceOverrides'], { platform }: Snapshot): void {
  if (platform.mode !== 'cluster') return;
  const refuse = (field: string, why: string): never => {
    const where = `MCPServer "${name}" resourceOverrides.${field}`;
    throw new Stalled('PodTemplateNotAllowed', `${where}: ${why}`);
  };
  const { env = [], annotations, podAnnotations } = overrides?.proxyDeployment ?? {};
  const variable = env.find((one) => !isAllowedVariable(one));
  if (variable) {
    const why = 'may say what runs in a container of ours, where it connects or whom it trusts: remove it';
    refuse(`proxyDeployment.env[${variable.name}]`, why);
  }
  for (const [field, written] of Object.entries({
    'proxyDeployment.annotations': annotations,
    'proxyDeployment.podAnnotations': podAnnotations,
    'proxyService.annotations': overrides?.proxyService?.annotations,
  })) {
    const refused = Object.keys(written ?? {}).find((one) => !isAllowedAnnotation(one, platform.podAnnotations));
    if (refused !== undefined)
      refuse(`${field}[${refused}]`, 'is no annotation that the operator allows (--pod-annotation): remove it');
  }
}

/** Resolves the document of an MCPServer's own runtime, with problems in its own field names. @throws Stalled, Waiting */
function resolveOwn(manifest: Manifest, spec: BackendSpec, server: ServerSpec, snapshot: Snapshot): ResolvedRuntime {
  const { name } = manifest.metadata;
  try {
    const { rendered, findings } = resolveRuntime(
      manifest,
      server,
      (context, files) => {
        const { entry, url, authType } = renderBackend(name, spec, context, files);
        return { entries: [entry], findings: [{ name, url, authType }], members: [name] };
      },
      snapshot,
    );
    return { rendered, findings: { ...findings, warnings: findings.warnings.map(nameOwnFields) } };
  } catch (problem) {
    throw problemInOwnFields(problem);
  }
}

/** Plans the own runtime of an MCPServer. @throws Stalled, Waiting also if its one backend is unusable */
export function planOwnEndpoint(manifest: Manifest, spec: BackendSpec, snapshot: Snapshot, now: string): OwnEndpoint {
  const { name } = manifest.metadata;
  checkOverrides(name, spec.resourceOverrides, snapshot);
  checkEndpointPort(manifest, snapshot);
  const server = ownEndpoint(manifest, spec, snapshot);
  const { rendered, findings } = resolveOwn(manifest, spec, server, snapshot);
  const children = renderChildren(manifest, server, rendered, snapshot);
  const status = summariseServer(findings, manifest, observeRuntime(manifest, rendered, snapshot), now);
  return {
    rendered,
    children: children.map((child) => overrideChild(child, spec.resourceOverrides)),
    status,
  };
}

/** Conditions of a server that have no meaning for a single backend. */
const OF_GROUPS = new Set(['BackendsResolved', 'AllBackendsReady']);

/** Joins the statuses of program and runtime. The result is ready if both are, with the generation that both serve. */
export function joinStatus(program: Status, runtime: Status, manifest: Manifest): Status {
  const ready = (status: Status) => status.conditions.find(({ type }) => type === 'Ready')?.status === 'True';
  const leading = ready(program) ? runtime : program;
  const types = new Set(leading.conditions.map(({ type }) => type));
  const others = (leading === program ? runtime : program).conditions.filter(({ type }) => !types.has(type));
  const { phase, url, toolCount, redirectUris, observedGeneration, replicas, backends } = runtime;
  const status = defined({
    ...program,
    phase: leading === program ? program.phase : phase,
    observedGeneration,
    url,
    toolCount,
    backends,
    redirectUris,
    replicas: program.replicas ?? replicas,
    conditions: [...leading.conditions, ...others].filter(({ type }) => !OF_GROUPS.has(type)),
  });
  return program.observedGeneration === manifest.metadata.generation ? status : notYetServed(status, manifest);
}
