import { MCPExternalAuthConfig, MCPGroup, MCPOIDCConfig } from '#crds/kinds/index';
import type { Schema } from '#crds/parts/read-value';
import type { Manifest, ResourceKey, Snapshot } from '../snapshot.ts';
import { secretDigest } from './file-list.ts';
import { findReferences, listServers } from './find-references.ts';
import type { Finding } from './finding.ts';
import type { Outcome } from './outcome.ts';
import { readSpec } from './read-resource.ts';
import { datedConditions, keepOutcome } from './summarise-status.ts';

const VALID: Finding = { type: 'Ready', status: 'True', reason: 'Valid', message: 'It can be referred to.' };

interface Reference {
  name: string;
  key: string;
}

function isReference(value: object): value is Reference {
  return 'name' in value && 'key' in value && typeof value.name === 'string' && typeof value.key === 'string';
}

/** Returns all references to Secret keys in a checked value: fields whose names end in SecretRef or SecretRefs. */
function secretReferences(value: unknown, field = ''): [string, Reference][] {
  if (typeof value !== 'object' || value === null) return [];
  if (/SecretRefs?(\[\d+\])?$/.test(field) && isReference(value)) return [[field, value]];
  const under = (key: string) =>
    Array.isArray(value) ? `${field}[${key}]` : `${field === '' ? '' : `${field}.`}${key}`;
  return Object.entries(value).flatMap(([key, inside]) => secretReferences(inside, under(key)));
}

/** Plans a resource without children: its validity, its Secrets and the resources that refer to it. */
function planShared(
  kind: Schema<{ spec: unknown }>,
  key: ResourceKey,
  manifest: Manifest,
  snapshot: Snapshot,
  now: string,
): Outcome {
  const references = findReferences(key, snapshot);
  const { generation } = manifest.metadata;
  try {
    const spec = readSpec(kind, manifest);
    for (const [field, reference] of secretReferences(spec)) secretDigest(snapshot, reference, field);
    const conditions = datedConditions([VALID], manifest, now);
    const observed = generation === undefined ? {} : { observedGeneration: generation };
    return { key, action: 'apply', children: [], status: { phase: 'Ready', ...observed, conditions, ...references } };
  } catch (problem) {
    return keepOutcome(key, problem, manifest, { serving: false, status: references }, now);
  }
}

export function planExternalAuthConfig(key: ResourceKey, manifest: Manifest, snapshot: Snapshot, now: string): Outcome {
  return planShared(MCPExternalAuthConfig, key, manifest, snapshot, now);
}

export function planOidcConfig(key: ResourceKey, manifest: Manifest, snapshot: Snapshot, now: string): Outcome {
  return planShared(MCPOIDCConfig, key, manifest, snapshot, now);
}

export function planGroup(key: ResourceKey, manifest: Manifest, snapshot: Snapshot, now: string): Outcome {
  const outcome = planShared(MCPGroup, key, manifest, snapshot, now);
  return outcome.status ? { ...outcome, status: { ...outcome.status, ...listServers(key.name, snapshot) } } : outcome;
}
