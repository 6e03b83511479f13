import { MCPServer, transportOf } from '#crds/kinds/index';
import type { Status } from '#crds/kinds/status';
import { contentHash, type LocalFacts, type Manifest, type ResourceKey, type World } from '../world.ts';
import { checkChildNames } from './check-child-names.ts';
import { backendChild } from './child-names.ts';
import { secretVariables } from './command-of-backend.ts';
import { FileList, secretDigest } from './file-list.ts';
import { findBackendWarnings } from './find-backend-warnings.ts';
import { findReferences } from './find-references.ts';
import type { BackendSpec } from './find-group-members.ts';
import { keepOutcome } from './keep-outcome.ts';
import type { BackendProcess, Child, Outcome } from './outcome.ts';
import { localCommand, localPort, placeOf, type Reach, reachBackend } from './reach-backend.ts';
import { readSpec } from './read-resource.ts';
import { renderBackendObjects } from './render-backend-objects.ts';
import { datedConditions, type Finding } from './summarise-status.ts';

const RESTARTED_AT = 'restarted-at';

/** When a person asked for a restart, whatever the API group of the annotation. */
function restartedAt(manifest: Manifest): string {
  const entries = Object.entries(manifest.metadata.annotations ?? {});
  return entries.find(([name]) => name.endsWith(`/${RESTARTED_AT}`))?.[1] ?? '';
}

/** The process of a backend that speaks HTTP on this machine. */
function renderProcess(
  manifest: Manifest,
  spec: BackendSpec,
  url: string,
  local: LocalFacts,
  world: World,
): BackendProcess {
  const { name } = manifest.metadata;
  const port = localPort(name, spec, local);
  const command = localCommand(name, spec, port, local);
  const secrets = Object.entries(secretVariables(spec)).map(([variable, reference]) => {
    const digest = secretDigest(world, reference, `MCPServer "${name}" secrets`);
    return [variable, { secret: reference.name, key: reference.key, digest }] as const;
  });
  const what = { ...command, secretEnv: Object.fromEntries(secrets), port };
  const restartToken = contentHash(JSON.stringify([what, restartedAt(manifest)]));
  return { platform: 'local', role: 'backend', name: backendChild(name), ...what, url, restartToken };
}

/** What runs the backend itself: nothing where it is remote, stopped, or a child of each runtime on stdio. */
function renderBackendChildren(manifest: Manifest, spec: BackendSpec, reach: Reach, world: World): Child[] {
  if (spec.remoteUrl !== undefined || spec.suspend || reach.transport === 'stdio') return [];
  if (world.platform.mode === 'local') return [renderProcess(manifest, spec, reach.url, world.platform, world)];
  return renderBackendObjects(manifest, spec, restartedAt(manifest), world);
}

function readyFinding(spec: BackendSpec): Finding {
  const type = 'Ready';
  if (spec.suspend) {
    return { type, status: 'False', reason: 'Suspended', message: 'It is stopped: write suspend: false to start it.' };
  }
  return {
    type,
    status: 'True',
    reason: 'Rendered',
    message: 'A VirtualMCPServer says in its status whether it answers.',
  };
}

function summariseBackend(manifest: Manifest, spec: BackendSpec, reach: Reach, world: World, now: string): Status {
  const findings = [readyFinding(spec), ...findBackendWarnings(spec, world)];
  const { generation } = manifest.metadata;
  return {
    phase: spec.suspend ? 'Pending' : 'Ready',
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    url: placeOf(spec, reach),
    transport: transportOf(spec),
    conditions: datedConditions(findings, manifest, now),
  };
}

/** An MCPServer: what runs it by itself. Which servers offer it, they say. */
export function planBackend(key: ResourceKey, manifest: Manifest, world: World, now: string): Outcome {
  const references = findReferences(key, world);
  try {
    checkChildNames(key, world);
    const spec = readSpec(MCPServer, manifest);
    const reach = reachBackend(key.name, spec, world, new FileList(world, { secret: '', config: '' }));
    const children = renderBackendChildren(manifest, spec, reach, world);
    const status = { ...summariseBackend(manifest, spec, reach, world, now), ...references };
    return { key, action: 'apply', children, status };
  } catch (problem) {
    return keepOutcome(key, problem, manifest, { serving: false, status: references }, now);
  }
}
