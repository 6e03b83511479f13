export interface DocumentPlaces {
  /** The issuer of boundary 1, e.g. `incomingAuth.oidcConfig.inline`. */
  readonly issuer?: string;
  /** Returns the path of `audit`, `telemetry` or `sessionStorage`, which is under spec or under config. */
  readonly under: (field: 'audit' | 'telemetry' | 'sessionStorage') => string;
}

export interface BackendPlaces {
  readonly name: string;
  /** The source of `auth`, e.g. `MCPExternalAuthConfig "github" tokenExchange`. */
  readonly auth: string;
  readonly url: 'remoteUrl' | 'path';
}

type Places = readonly (readonly [RegExp, string])[];

/** Words with another spelling in a resource. */
const WORDS: Places = [
  [/\b(\w+)Files\b/g, '$1Refs'],
  [/\b(\w+)File\b/g, '$1Ref'],
  [/\buserinfo/g, 'userInfo'],
  [/AllowHttp\b/g, 'AllowHTTP'],
];

function camelCase(path: string): string {
  const text = path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return WORDS.reduce((result, [pattern, word]) => result.replace(pattern, word), text);
}

function replaceFirst(path: string, places: Places): string | undefined {
  const found = places.find(([pattern]) => pattern.test(path));
  return found && camelCase(path.replace(...found));
}

/** Returns the field of a VirtualMCPServer that a path of its document is rendered from; undefined: there is none. */
export function fieldOfDocument(path: string, { issuer, under }: DocumentPlaces): string | undefined {
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

export function fieldOfBackend(path: string, { name, auth, url }: BackendPlaces): string {
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
