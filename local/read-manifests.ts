import { z } from 'zod';
import { DEFAULT_API_GROUP, KIND_NAMES, type KindName, OBJECTS, specForOneMachine } from '#crds/kinds/index';
import { explainProblems, type Source } from '#crds/parts/explain';
import { nearest } from '#crds/parts/nearest';
import { ObjectMeta } from '#crds/parts/object-meta';
import { ConfigMap, readSecretContent, Secret } from './core-kinds.ts';
import type { ManifestFile, Problem, Resource } from './resource.ts';
import { readYamlDocuments, type YamlDocument } from './yaml-documents.ts';

const OWN_KINDS = Object.keys(KIND_NAMES) as KindName[];

interface ReadManifests {
  /** Keeps the order of the files. Includes an invalid `spec`, so that its running processes are not ended. */
  resources: Resource[];
  problems: Problem[];
  /** Ignored documents and likely misspelt API groups; they cause no rejection. */
  notices: Problem[];
  /** Sorted groups of vmcp kinds. */
  groups: string[];
}

export interface ParsedFile {
  problems: Problem[];
  documents: { read: Read; document: YamlDocument }[];
}

export function parseFile(file: ManifestFile): ParsedFile {
  const { problems, documents } = readYamlDocuments(file);
  return { problems, documents: documents.map((document) => ({ read: readResource(file.file, document), document })) };
}

/** An unreadable file does not affect the others. The known kinds are accepted with any API group. */
export function parseManifests(files: readonly ManifestFile[], parse = parseFile): ReadManifests {
  const problems: Problem[] = [];
  const notices: Problem[] = [];
  const resources = new Map<string, Resource>();
  for (const file of files) {
    const parsed = parse(file);
    problems.push(...parsed.problems);
    for (const { read, document } of parsed.documents) {
      const { resource, problems: found, notices: passed = [] } = read;
      problems.push(...found);
      notices.push(...passed);
      if (resource === undefined) continue;
      const key = `${resource.kind}/${resource.metadata.namespace ?? 'default'}/${resource.metadata.name}`;
      const first = resources.get(key);
      if (first === undefined) resources.set(key, resource);
      else problems.push(duplicate(resource, first, document));
    }
  }
  const kept = [...resources.values()];
  notices.push(...checkApiGroups(kept));
  const groups = kept.flatMap((resource) =>
    'apiVersion' in resource ? [resource.apiVersion.split('/')[0] ?? ''] : [],
  );
  return { resources: kept, problems, notices, groups: [...new Set(groups)].sort() };
}

interface Read {
  resource?: Resource;
  notices?: Problem[];
  problems: Problem[];
}

function readResource(file: string, document: YamlDocument): Read {
  const kind = kindOf(document.value);
  const own = OWN_KINDS.find((name) => name === kind);
  if (own !== undefined) return readOwn(own, file, document);
  if (kind === 'Secret') return readSecret(file, document);
  if (kind === 'ConfigMap') return readConfigMap(file, document);
  return explainUnknownKind(kind, file, document);
}

const kindOf = (value: unknown) => z.object({ kind: z.string() }).safeParse(value).data?.kind;

/** Omits the status, which only the operator writes. */
function readOwn(kind: KindName, file: string, document: YamlDocument): Read {
  const whole = z.record(z.string(), z.unknown()).parse(document.value);
  const written = Object.fromEntries(Object.entries(whole).filter(([field]) => field !== 'status'));
  const schema = OBJECTS[kind];
  const spec = kind === 'VirtualMCPServer' ? specForOneMachine(written.spec) : written.spec;
  const { error } = schema.safeParse('spec' in written ? { ...written, spec } : written);
  const problems = error === undefined ? [] : explain(error, schema, file, document);
  const head = z.object({ apiVersion: z.string(), metadata: ObjectMeta }).safeParse(written).data;
  if (head === undefined) return { problems };
  const { apiVersion, metadata } = head;
  return {
    resource: { kind, apiVersion, metadata: named(metadata), spec: whole.spec, ...at(file, document) },
    problems,
  };
}

function readSecret(file: string, document: YamlDocument): Read {
  const { data, error } = Secret.safeParse(document.value);
  if (data === undefined) return { problems: explain(error, Secret, file, document) };
  const content = readSecretContent(data);
  return {
    resource: { kind: 'Secret', metadata: named(data.metadata), ...content, ...at(file, document) },
    problems: [],
  };
}

function readConfigMap(file: string, document: YamlDocument): Read {
  const { data, error } = ConfigMap.safeParse(document.value);
  if (data === undefined) return { problems: explain(error, ConfigMap, file, document) };
  const metadata = named(data.metadata);
  return { resource: { kind: 'ConfigMap', metadata, data: data.data, ...at(file, document) }, problems: [] };
}

const at = (file: string, { line, lineOf, positionOf }: YamlDocument) => ({ file, line, lineOf, positionOf });

function named({ name, namespace, creationTimestamp, labels, annotations }: ObjectMeta) {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(typeof creationTimestamp === 'string' && { creationTimestamp }),
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
  };
}

const MOST_PROBLEMS = 100;

function explain(error: z.ZodError, schema: z.ZodType, file: string, document: YamlDocument): Problem[] {
  const source: Source = { file, lineOf: document.lineOf, schema, most: MOST_PROBLEMS + 1 };
  const found = explainProblems(error, source).map((problem) => ({ ...problem, line: problem.line ?? document.line }));
  if (found.length <= MOST_PROBLEMS) return found;
  const more = {
    file,
    line: document.line,
    path: '',
    message: 'more is wrong here; mend what is told, and look again',
  };
  return [...found.slice(0, MOST_PROBLEMS), more];
}

function duplicate(resource: Resource, first: Resource, { lineOf }: YamlDocument): Problem {
  const line = lineOf(['metadata', 'name']) ?? resource.line;
  const what = `${resource.kind} \`${resource.metadata.name}\``;
  const message = `${what} is already written at ${first.file}:${first.line}, which counts; remove one of them`;
  return { file: resource.file, line, path: 'metadata.name', message };
}

const groupOf = (apiVersion: string) => apiVersion.split('/')[0] ?? '';

/** Compares with the default group and with groups that more resources use, to find typos. */
function checkApiGroups(resources: readonly Resource[]): Problem[] {
  const own = resources.flatMap((resource) => ('apiVersion' in resource ? [resource] : []));
  const counts = new Map<string, number>();
  for (const { apiVersion } of own) counts.set(groupOf(apiVersion), (counts.get(groupOf(apiVersion)) ?? 0) + 1);
  return own.flatMap(({ apiVersion, file, line, lineOf }) => {
    const group = groupOf(apiVersion);
    const others = [...counts].filter(
      ([other, count]) => other === DEFAULT_API_GROUP || count > (counts.get(group) ?? 0),
    );
    const meant =
      group === DEFAULT_API_GROUP
        ? undefined
        : nearest(
            group,
            others.map(([other]) => other),
          );
    if (meant === undefined) return [];
    const message = `the API group \`${group}\` differs by a few letters from that of other resources; write \`${meant}/v1alpha1\``;
    return [{ file, line: lineOf(['apiVersion']) ?? line, path: 'apiVersion', message }];
  });
}

const KNOWN_KINDS = [...Object.keys(KIND_NAMES), 'Secret', 'ConfigMap'];
/** No other program of the cluster reads these kinds. */
const OWN_FAMILY = /^(Virtual)?MCP/;

function remedyForKind(kind: string): string {
  if (kind === 'Kustomization') return 'write what `kubectl kustomize` prints into a folder, and name that one';
  if (kind.endsWith('List')) return 'write each of its items as a document of its own, with `---` between them';
  const meant = nearest(kind, KNOWN_KINDS);
  return meant === undefined ? 'move it to another folder' : `did you mean \`${meant}\`?`;
}

/** Another program reads the object, e.g. a Namespace. */
function isForeign(kind: string, value: unknown): boolean {
  if (!z.object({ apiVersion: z.string().min(1) }).safeParse(value).success) return false;
  if (kind === 'Kustomization' || kind === 'List') return false;
  return !OWN_FAMILY.test(kind) && nearest(kind, KNOWN_KINDS) === undefined;
}

/** Returns a notice when vmcp ignores it, a problem when it looks like a mistake. */
function explainUnknownKind(
  kind: string | undefined,
  file: string,
  { line, lineOf, value }: YamlDocument,
): { notices: Problem[]; problems: Problem[] } {
  const place = { file, line: lineOf(['kind']) ?? line, path: 'kind' };
  const known = KNOWN_KINDS.join(', ');
  if (kind === undefined) {
    return { notices: [], problems: [{ ...place, message: `required field is missing; write one of ${known}` }] };
  }
  if (isForeign(kind, value)) {
    return { notices: [{ ...place, message: `\`${kind}\` is passed over, as vmcp does not read it` }], problems: [] };
  }
  const message = `unknown kind \`${kind}\`; known are ${known}; ${remedyForKind(kind)}`;
  return { notices: [], problems: [{ ...place, message }] };
}
