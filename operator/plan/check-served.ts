import { transportOf } from '#crds/kinds/index';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import type { World } from '../world.ts';
import type { BackendSpec } from './find-group-members.ts';

// What resources may say and this release's runtime does not serve. All of it is refused here and nowhere else, after it
// has been checked in full, so that a refusal goes by removing its lines.

/** In a cluster the bridge starts nothing: the image must say what to join its pipes to. */
export function checkStdioImage(name: string, { command }: BackendSpec): void {
  if (command) return;
  const message = `MCPServer "${name}": what an image on stdio starts is not known here: write command (the image's entry point), with args`;
  throw new Stalled('CommandNeeded', message);
}

/** Throws `Stalled` for a backend that the runtime cannot serve as it is written. */
export function checkBackendServed(name: string, spec: BackendSpec, world: World): void {
  const refuse = (reason: string, what: string): never => {
    throw new Stalled(reason, `MCPServer "${name}": ${what}`);
  };
  const transport = transportOf(spec);
  if (transport === 'sse') {
    refuse('SseNotServed', 'transport sse is not part of this release: use its streamable-http endpoint');
  }
  if (spec.webhooks?.validating && spec.webhooks.validating.length > 0) {
    refuse(
      'WebhooksNotServed',
      'webhooks are not part of this release, and it is not called without them: use authzConfig',
    );
  }
  if (world.platform.mode === 'cluster' && spec.remoteUrl === undefined && transport === 'stdio') {
    checkStdioImage(name, spec);
  }
}

/** Settings of a server that are valid and have no effect yet. */
export function findNotServed(document: RunConfigDocument): string[] {
  return [
    ...(document.rate_limiting ? ['rateLimiting'] : []),
    ...(document.telemetry_config?.tracingEnabled ? ['telemetry.tracingEnabled'] : []),
  ];
}
