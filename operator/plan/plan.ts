import { type Kind, type Manifest, manifestOf, type ResourceKey, type Snapshot } from '../snapshot.ts';
import type { Outcome } from './outcome.ts';
import { planBackend } from './plan-backend.ts';
import { planServer } from './plan-server.ts';
import { planExternalAuthConfig, planGroup, planOidcConfig } from './plan-shared.ts';

type PlanOne = (key: ResourceKey, manifest: Manifest, snapshot: Snapshot, now: string) => Outcome;

const plans: Record<Kind, PlanOne> = {
  VirtualMCPServer: planServer,
  MCPServer: planBackend,
  MCPGroup: planGroup,
  MCPExternalAuthConfig: planExternalAuthConfig,
  MCPOIDCConfig: planOidcConfig,
};

/**
 * Plans one resource from a snapshot of its namespace. Pure: equal arguments give equal outcomes. `now`: RFC 3339.
 * Problems that users can fix are in the outcome's status, never thrown.
 */
export function plan(key: ResourceKey, snapshot: Snapshot, now: string): Outcome {
  const manifest = manifestOf(key, snapshot);
  if (!manifest || key.kind === 'Secret' || key.kind === 'ConfigMap') return { key, action: 'remove', children: [] };
  return plans[key.kind](key, manifest, snapshot, now);
}
