import type { Problem } from '#crds/parts/explain';
import { valueAt } from '#crds/parts/rule';
import { checkBackend, readRunConfig } from '#crds/run-config/read-run-config';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled, Waiting } from '../errors.ts';
import type { Finding } from './finding.ts';

/** Absent values have no line, so a message distinguishes a missing value from a wrong one. */
const sourceOf = (document: object) => ({
  file: '',
  lineOf: (path: (string | number)[]) => (valueAt(document, path.map(String)) === undefined ? undefined : 1),
});

function refuse(problems: readonly Pick<Problem, 'path' | 'message'>[], fieldOf: (path: string) => string): void {
  if (problems.length === 0) return;
  const texts = problems.map(({ path, message }) => `${fieldOf(path)}: ${message}`);
  throw new Stalled('InvalidRunConfiguration', texts.join('; '));
}

/** Reads a document as the runtime does, so that the runtime rejects none. `places`: absent if it is not from fields. @throws Stalled */
export function checkDocument(document: RunConfigDocument, places?: DocumentPaths): void {
  const { problems } = readRunConfig(document, sourceOf(document));
  refuse(
    problems,
    (path) => (places && fieldOfDocument(path, places)) ?? `the run configuration would be refused at ${path}`,
  );
}

/** Reads the document of one backend as the runtime does. `providers`: names of the document's upstream providers. @throws Stalled */
export function checkBackendDocument(
  entry: RunConfigDocument['backends'][number],
  providers: readonly string[],
  places: BackendPaths,
): void {
  const problems = checkBackend(entry, providers.length === 0 ? undefined : providers, sourceOf(entry));
  refuse(problems, (path) => fieldOfBackend(path, places));
}

interface DocumentPaths {
  /** The issuer of boundary 1, e.g. `incomingAuth.oidcConfig.inline`. */
  readonly issuer?: string;
  /** Returns the path of `audit`, `telemetry` or `sessionStorage`, which is under spec or under config. */
  readonly under: (field: 'audit' | 'telemetry' | 'sessionStorage') => string;
}

export interface BackendPaths {
  readonly name: string;
  /** The source of `auth`, e.g. `MCPExternalAuthConfig "github" tokenExchange`. */
  readonly auth: string;
  readonly url: 'remoteUrl' | 'path';
}

type Replacements = readonly (readonly [RegExp, string])[];

/** Words with another spelling in a resource. */
const WORDS: Replacements = [
  [/\b(\w+)Files\b/g, '$1Refs'],
  [/\b(\w+)File\b/g, '$1Ref'],
  [/\buserinfo/g, 'userInfo'],
  [/AllowHttp\b/g, 'AllowHTTP'],
];

function camelCase(path: string): string {
  const text = path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return WORDS.reduce((result, [pattern, word]) => result.replace(pattern, word), text);
}

function replaceFirst(path: string, places: Replacements): string | undefined {
  const found = places.find(([pattern]) => pattern.test(path));
  return found && camelCase(path.replace(...found));
}

/** Returns the field of a VirtualMCPServer that a path of its document is rendered from; undefined: there is none. */
function fieldOfDocument(path: string, { issuer, under }: DocumentPaths): string | undefined {
  return replaceFirst(path, [
    [/^(?=resource_url\b|allowed_hosts\b|allowed_origins\b)/, 'incomingAuth.'],
    [/^incoming\.(?=required_typ\b)/, 'incomingAuth.'],
    ...(issuer === undefined ? [] : [[/^incoming(?=\.)/, issuer] as const]),
    [/^authz\b/, 'incomingAuth.authzConfig.inline'],
    [/^embedded_auth_server_config\.upstreams\b/, 'authServerConfig.upstreamProviders'],
    [/^embedded_auth_server_config\b/, 'authServerConfig'],
    [/^(?=aggregation\b|operational\b)/, 'config.'],
    [/^audit_config\b/, under('audit')],
    [/^telemetry_config\b/, under('telemetry')],
    [/^session_storage\b/, under('sessionStorage')],
    [/^sealing_secret_files\b/, `${under('sessionStorage')}.sealingSecretRefs`],
    [/^listen\.tls\b/, 'tls.secretRef'],
    [/^(?=trusted_proxies\b|limits\b|passthrough_headers\b|rate_limiting\b)/, ''],
  ]);
}

function fieldOfBackend(path: string, { name, auth, url }: BackendPaths): string {
  const own = `MCPServer "${name}"`;
  const [, block] = /^auth\.(?!type\b)(.+)$/.exec(path) ?? [];
  if (block !== undefined) return `${auth}.${camelCase(block)}`;
  const field = replaceFirst(path, [
    [/^auth\b.*/, 'transport'],
    [/^url\b/, url],
    [/^webhooks\b/, 'webhooks.validating'],
    [/^authz\b/, 'authzConfig.inline'],
    [/^/, ''],
  ]);
  return `${own} ${field ?? path}`;
}

/** Maps fields of a VirtualMCPServer to those of a single MCPServer. The first match wins. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/\bincomingAuth\.resourceUrl\b/g, 'oidcConfig.resourceUrl'],
  [/\bincomingAuth\.type oidc\b/g, 'oidcConfig'],
  [/\bincomingAuth\.(?=oidcConfig|authzConfig)/g, ''],
  [/\bincomingAuth\b/g, 'oidcConfig'],
  [/\bauthServerConfig\b/g, 'embeddedAuthServer'],
];

function inOwnWords(message: string): string {
  return PLACES.reduce((text, [field, own]) => text.replaceAll(field, own), message);
}

export function nameOwnFields(finding: Finding): Finding {
  return { ...finding, message: inOwnWords(finding.message) };
}

export function problemInOwnFields(problem: unknown): unknown {
  if (problem instanceof Stalled) return new Stalled(problem.reason, inOwnWords(problem.message), { cause: problem });
  if (!(problem instanceof Waiting)) return problem;
  const { reason, message, retryIn } = problem;
  return new Waiting(reason, inOwnWords(message), { retryIn, cause: problem });
}
