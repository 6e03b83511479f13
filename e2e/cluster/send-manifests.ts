import { parseAllDocuments } from 'yaml';
import { KIND_NAMES } from '#crds/kinds/index';
import type { Answer, Cluster } from './use-cluster.ts';

/** An object as written in a manifest. */
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

/**
 * Returns the path of a kind's collection in a namespace. An unknown kind gets a path that the API server does not
 * know.
 */
export function collectionOf({ apiVersion, kind }: Written, namespace: string): string {
  const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${group}/namespaces/${namespace}/${PLURALS[kind] ?? `${kind.toLowerCase()}s`}`;
}

/** Parses the objects of a file. Throws if the text is no YAML. */
export function readObjects(text: string): Written[] {
  return [parseAllDocuments(text, { merge: true })].flat().flatMap((document) => {
    if (!('contents' in document)) return [];
    const [problem] = document.errors;
    if (problem) throw problem;
    const value = document.toJS() as Written | null;
    return value === null ? [] : [value];
  });
}

/** Ways to send an object to the API server, with full validation and without storing it. */
export const WAYS: Record<string, (cluster: Cluster, object: Written, namespace: string) => Promise<Answer>> = {
  create: (cluster, object, namespace) =>
    cluster.ask('POST', `${collectionOf(object, namespace)}?dryRun=All&fieldValidation=Strict`, object),
  apply: (cluster, object, namespace) =>
    cluster.apply(
      `${collectionOf(object, namespace)}/${object.metadata.name ?? ''}?dryRun=All&fieldValidation=Strict`,
      object,
    ),
};
