import { defined } from '#operator/plan/defined';
import { restartOf } from '#operator/plan/object-parts';
import type { ObservedDeployment } from '#operator/snapshot';
import { FIELD_MANAGER } from '../api/resources.ts';
import type { KubeObject } from '../api/object.ts';
import type { ShareTexts } from '../watch/share-texts.ts';
import { stripWeight } from '../watch/strip-weight.ts';

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

interface Template {
  metadata?: { annotations?: Record<string, string> };
  spec?: { volumes?: { configMap?: { name?: string } }[] };
}

interface DeploymentFields {
  spec?: { replicas?: number; template?: Template };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    conditions?: Condition[];
  };
  /** Derived from the managed fields, which are not cached. */
  scaledByOther?: boolean;
}

interface ManagedFields {
  manager?: string;
  fieldsV1?: { 'f:spec'?: { 'f:replicas'?: object } };
}

function isScaledByOther({ metadata }: KubeObject): boolean {
  const fields = (metadata.managedFields ?? []) as ManagedFields[];
  return fields.some(({ manager, fieldsV1 }) => manager !== FIELD_MANAGER && fieldsV1?.['f:spec']?.['f:replicas']);
}

/** Removes the managed fields of a child, and records whether another manager scales a Deployment. Changes its argument. */
export function viewOfChild(object: KubeObject, share?: ShareTexts): KubeObject {
  if (object.kind !== 'Deployment') return stripWeight(object, share);
  const scaledByOther = isScaledByOther(object);
  return Object.assign(stripWeight(object, share), { scaledByOther });
}

function problemOf(conditions: readonly Condition[]): string | undefined {
  const failing = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True');
  const late = conditions.find(({ type, status }) => type === 'Progressing' && status === 'False');
  return (failing ?? late)?.message;
}

/** Returns whether the controller has observed the latest generation, and all pods have it and are available. */
function isComplete({ metadata, spec, status = {} }: KubeObject & DeploymentFields): boolean {
  const seen = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const wanted = spec?.replicas ?? 1;
  return seen && [status.replicas, status.updatedReplicas, status.availableReplicas].every((n = 0) => n === wanted);
}

/** Returns whether a future pod may mount a ConfigMap. After the rollout completes, all pods have the current template. */
export function mayMount(object: KubeObject, configMap: string): boolean {
  const deployment = object as KubeObject & DeploymentFields;
  const volumes = deployment.spec?.template?.spec?.volumes ?? [];
  return !isComplete(deployment) || volumes.some((volume) => volume.configMap?.name === configMap);
}

/** Returns the progress of a Deployment that `viewOfChild` has processed. */
export function observeDeployment(object: KubeObject): ObservedDeployment {
  const deployment = object as KubeObject & DeploymentFields;
  const { replicas = 0, readyReplicas = 0, conditions = [] } = deployment.status ?? {};
  const restart = restartOf(deployment.spec?.template?.metadata?.annotations);
  return defined({
    replicas,
    readyReplicas,
    complete: isComplete(deployment),
    wanted: deployment.spec?.replicas ?? 1,
    scaledByOther: deployment.scaledByOther ?? false,
    problem: problemOf(conditions),
    restartedAt: restart === '' ? undefined : restart,
  });
}
