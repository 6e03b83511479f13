import { MCPServer } from '#crds/kinds/index';
import { type LocalFacts, type Manifest, type ResourceKey, runtimeName, type Snapshot } from '../snapshot.ts';
import { contentHash } from '../content-hash.ts';
import { carriedOutRestart, lookAgain } from './carried-out-restart.ts';
import { findProgramProblem } from './check-port.ts';
import { backendChild } from './child-names.ts';
import { containerLabels, secretVariables } from './container-command.ts';
import { defined } from './defined.ts';
import { FileList, secretDigest } from './file-list.ts';
import { findBackendWarnings } from './find-backend-warnings.ts';
import { findReferences } from './find-references.ts';
import type { BackendSpec } from './find-group-members.ts';
import type { BackendProcess, Outcome } from './outcome.ts';
import { checkEmbeddedServer, hasOwnEndpoint } from './own-endpoint.ts';
import { joinStatus, planOwnEndpoint } from './plan-own-endpoint.ts';
import { restartedAt } from './object-parts.ts';
import { localCommand, localPort, shownUrlOf, type Reach, reachBackend } from './reach-backend.ts';
import { readSpec } from './read-resource.ts';
import { renderBackendObjects, type Program } from './render-backend-objects.ts';
import { lookForProviders } from './resolve-auth-server.ts';
import { lookForLists } from './summarise-backends.ts';
import { summariseProgram } from './summarise-program.ts';
import { keepOutcome, summariseProblem } from './summarise-status.ts';

/** Returns the engine and labels with which leftover containers of a process are found. */
function containerOf(name: string, spec: BackendSpec, local: LocalFacts): Pick<BackendProcess, 'container'> {
  const { containerEngine: engine } = local;
  return spec.command || !engine ? {} : { container: { engine, labels: containerLabels(name, local) } };
}

function renderProcess(
  manifest: Manifest,
  spec: BackendSpec,
  url: string,
  local: LocalFacts,
  snapshot: Snapshot,
): BackendProcess {
  const { name } = manifest.metadata;
  const port = localPort(name, spec, local);
  const command = localCommand(name, spec, port, local, snapshot);
  const secrets = Object.entries(secretVariables(spec)).map(([variable, reference]) => {
    const digest = secretDigest(snapshot, reference, `MCPServer "${name}" secrets`);
    return [variable, { secret: reference.name, key: reference.key, digest }] as const;
  });
  const what = { ...command, ...containerOf(name, spec, local), secretEnv: Object.fromEntries(secrets), port };
  const restartToken = contentHash(JSON.stringify([what, restartedAt(manifest)]));
  return { platform: 'local', role: 'backend', name: backendChild(name), ...what, url, restartToken };
}

/** Renders the backend's program; nothing if it is remote, stopped, or a stdio child of each runtime. */
function renderProgram(manifest: Manifest, spec: BackendSpec, reach: Reach, snapshot: Snapshot): Program {
  if (spec.remoteUrl !== undefined || spec.suspend || reach.transport === 'stdio')
    return { children: [], warnings: [] };
  if (snapshot.platform.mode === 'cluster') return renderBackendObjects(manifest, spec, snapshot.platform, snapshot);
  return { children: [renderProcess(manifest, spec, reach.url, snapshot.platform, snapshot)], warnings: [] };
}

/** Plans an MCPServer: its program and its own endpoint. Servers report which backends they offer. */
export function planBackend(key: ResourceKey, manifest: Manifest, snapshot: Snapshot, now: string): Outcome {
  const references = findReferences(key, snapshot);
  try {
    const spec = readSpec(MCPServer, manifest);
    checkEmbeddedServer(key.name, spec, snapshot);
    const reach = reachBackend(key.name, spec, snapshot, new FileList(snapshot, { secret: '', config: '' }));
    const { children, warnings } = renderProgram(manifest, spec, reach, snapshot);
    const found = {
      url: shownUrlOf(spec, reach),
      warnings: [...warnings, ...findBackendWarnings(key.name, spec, snapshot)],
    };
    const restart = defined({ restartedAt: carriedOutRestart(manifest, spec, snapshot) });
    const program = { ...summariseProgram(manifest, spec, found, snapshot, now), ...restart };
    if (spec.suspend) return { key, action: 'apply', children, status: { ...program, ...references } };
    const again = lookAgain(manifest, restart.restartedAt, snapshot);
    if (!hasOwnEndpoint(spec)) {
      return { key, action: 'apply', children, status: { ...program, ...references }, ...again };
    }
    const withheld =
      children.length > 0 && 'url' in reach ? findProgramProblem(key.name, reach.url, snapshot) : undefined;
    if (withheld) {
      const status = { ...summariseProblem(withheld, manifest, false, now), ...references };
      return { key, action: 'apply', children, status, requeueAfter: withheld.retryIn };
    }
    const own = planOwnEndpoint(manifest, spec, snapshot, now);
    const status = { ...joinStatus(program, own.status, manifest), ...references };
    return {
      key,
      action: 'apply',
      rendered: own.rendered,
      children: [...children, ...own.children],
      status,
      ...lookForProviders(own.status),
      ...lookForLists(own.status),
      ...again,
    };
  } catch (problem) {
    const serving = snapshot.documents[runtimeName(key)] !== undefined;
    return keepOutcome(key, problem, manifest, { serving, status: references }, now);
  }
}
