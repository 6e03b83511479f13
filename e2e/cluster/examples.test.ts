import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { collectionOf, readObjects, type Written } from './send-manifests.ts';
import { installDefinitions } from './stage.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Kinds of programs that this cluster does not have. */
const FOREIGN =
  /^(argoproj\.io|(kustomize|source|helm)\.toolkit\.fluxcd\.io|kustomize\.config\.k8s\.io|gateway\.networking\.k8s\.io|monitoring\.coreos\.com|kyverno\.io|external-secrets\.io|cert-manager\.io)\//;

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** Returns the YAML texts of a file: the whole file, or the blocks of a page. */
function textsOf(file: string): [place: string, text: string][] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  if (/\.ya?ml$/.test(file)) return [[file, text]];
  if (!file.endsWith('.md')) return [];
  return [...text.matchAll(/^```ya?ml\n(.*?)^```/gms)].map((found): [string, string] => [
    `${file}:${text.slice(0, found.index).split('\n').length}`,
    found[1] ?? '',
  ]);
}

/** Identifies a patch, which the suite of the quickstart applies with its target. */
function isPatch(file: string): boolean {
  const beside = join(ROOT, dirname(file), 'kustomization.yaml');
  return existsSync(beside) && readFileSync(beside, 'utf8').includes(`path: ${basename(file)}\n`);
}

/** Objects of all examples; parts of an object, as pages show them, have no kind. */
const FILES = ['README.md', ...filesBelow('docs'), ...filesBelow('examples')].filter((file) => !isPatch(file));
const OWN = FILES.flatMap((file) =>
  textsOf(file).flatMap(([place, text]) =>
    readObjects(text)
      .filter(({ apiVersion, kind }) => typeof apiVersion === 'string' && typeof kind === 'string')
      .filter(({ apiVersion }) => !FOREIGN.test(apiVersion))
      .map((object) => ({ what: `${object.kind} ${object.metadata.name ?? ''} of ${place}`, object })),
  ),
);

describeWithCluster('examples of pages and folders', (cluster) => {
  let namespace: Namespace;

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await cluster.makeNamespace('examples');
  });
  afterAll(() => namespace.delete());

  it('include at least one object', () => {
    expect(OWN.length).toBeGreaterThan(20);
  });

  it.each(OWN)('include $what, which the API server accepts', async ({ object }) => {
    const sent: Written = { ...object, metadata: { ...object.metadata, namespace: namespace.name } };
    const at = `${collectionOf(sent, namespace.name)}/${sent.metadata.name ?? ''}`;
    const { status, body } = await cluster.apply(`${at}?dryRun=All&fieldValidation=Strict`, sent);
    expect([status, status < 300 ? '' : body.message]).toEqual([expect.any(Number), '']);
  });
});
