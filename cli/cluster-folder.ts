import type { FolderContent } from '#local/manifest-folder';
import type { Written } from '#operator/kubernetes/gitops/render-objects';
import type { ClusterFacts, Manifest } from '#operator/snapshot';
import { apiGroupOf, loadFolder, printProblem } from './check-folder.ts';
import type { Context } from './context.ts';

export interface ClusterOptions {
  namespace: string;
  runtimeImage: string;
  stdioAttach: boolean;
  allowHostPaths: boolean;
  imagePullSecret: string[];
  podAnnotation?: string[];
  sidecarsOf?: string[];
}

/** Namespace of resources in files that name none. */
const UNNAMED = 'default';

export interface ClusterFolder extends Written {
  manifests: Manifest[];
  configMaps: Map<string, Record<string, string>>;
  apiGroup: string;
  /** The errors are already printed. */
  wrong: boolean;
}

function moved(place: string, namespace: string): string {
  return place.replace(new RegExp(`^${UNNAMED}/`), `${namespace}/`);
}

function inNamespace({ manifests, configMaps }: FolderContent, namespace: string) {
  return {
    manifests: manifests.map((manifest) => {
      const { metadata } = manifest;
      return metadata.namespace === UNNAMED ? { ...manifest, metadata: { ...metadata, namespace } } : manifest;
    }),
    configMaps: new Map([...configMaps].map(([place, texts]) => [moved(place, namespace), texts] as const)),
  };
}

export function readClusterFolder(folder: string, namespace: string, context: Context): ClusterFolder {
  const folderContent = loadFolder(folder);
  for (const problem of folderContent.problems) context.err.write(`${printProblem(problem)}\n`);
  for (const notice of folderContent.notices) context.err.write(`${printProblem(notice)} (warning)\n`);
  const apiGroup = apiGroupOf(folderContent);
  return { ...inNamespace(folderContent, namespace), apiGroup, wrong: folderContent.problems.length > 0 };
}

export function factsOf(options: Omit<ClusterOptions, 'namespace'>): ClusterFacts {
  const { runtimeImage, stdioAttach, allowHostPaths, imagePullSecret: imagePullSecrets } = options;
  const { podAnnotation: podAnnotations, sidecarsOf } = options;
  const given = { ...(podAnnotations && { podAnnotations }), ...(sidecarsOf && { sidecarsOf }) };
  return { mode: 'cluster', runtimeImage, stdioAttach, allowHostPaths, imagePullSecrets, ...given };
}
