import { parseAllDocuments } from 'yaml';
import { KIND_NAMES } from '#crds/kinds/index';
import type { Answer, Cluster } from './use-cluster.ts';

/** An object as it is written. */
export interface Written {
  apiVersion: string;
  kind: string;
  metadata: { name?: string; namespace?: string };
  spec?: unknown;
}

const PLURALS: Record<string, string> = {
  ...Object.fromEntries(Object.entries(KIND_NAMES).map(([kind, { plural }]) => [kind, plural])),
  Secret: 'secrets',
  ConfigMap: 'configmaps',
  Service: 'services',
  Ingress: 'ingresses',
  NetworkPolicy: 'networkpolicies',
};

/** Where objects of its kind are, in a namespace. An unknown kind is one that the API server does not know either. */
export function collectionOf({ apiVersion, kind }: Written, namespace: string): string {
  const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${group}/namespaces/${namespace}/${PLURALS[kind] ?? `${kind.toLowerCase()}s`}`;
}

/** The objects of a file. Throws where the text is no YAML. */
export function readObjects(text: string): Written[] {
  return [parseAllDocuments(text, { merge: true })].flat().flatMap((document) => {
    if (!('contents' in document)) return [];
    const [problem] = document.errors;
    if (problem) throw problem;
    const value = document.toJS() as Written | null;
    return value === null ? [] : [value];
  });
}

/** How an object gets to the API server. Nothing is kept of it, all is checked. */
export const WAYS: Record<string, (cluster: Cluster, object: Written, namespace: string) => Promise<Answer>> = {
  create: (cluster, object, namespace) =>
    cluster.ask('POST', `${collectionOf(object, namespace)}?dryRun=All&fieldValidation=Strict`, object),
  apply: (cluster, object, namespace) =>
    cluster.apply(
      `${collectionOf(object, namespace)}/${object.metadata.name ?? ''}?dryRun=All&fieldValidation=Strict`,
      object,
    ),
};
