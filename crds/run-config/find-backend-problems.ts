import { urlIsSecure } from '../parts/oidc-config.ts';
import { AddedHeaderName, HEADER_VALUE } from '../parts/primitives.ts';
import type { Backend, HttpBackend } from './backend.ts';
import { type DocumentProblem, httpProblems } from './document-problem.ts';
import type { BackendAuth } from './outgoing.ts';

interface AuthDeps {
  readonly transport: Backend['transport'];
  /** Names of the upstream providers; undefined: the document has no authorization server. */
  readonly providers: readonly string[] | undefined;
}

type AuthByType = { [Type in BackendAuth['type']]: Extract<BackendAuth, { type: Type }> };
type AuthRules = { [Type in keyof AuthByType]: (auth: AuthByType[Type], deps: AuthDeps) => DocumentProblem[] };

const rules: AuthRules = {
  unauthenticated: () => [],
  bearer_token: () => [],
  header_injection: ({ header_name: name }) => headerNameProblems(name, ['header_name']),
  token_exchange: (auth, { providers }) => [
    ...httpProblems(auth.token_url, ['token_url']),
    ...clientProblems(auth, 'client_secret_file', 'client_id'),
    ...headerNameProblems(auth.external_token_header_name ?? 'authorization', ['external_token_header_name']),
    ...(auth.subject_provider_name === undefined
      ? []
      : providerProblems(auth.subject_provider_name, ['subject_provider_name'], providers)),
  ],
  xaa: (auth, { providers }) => [
    ...httpProblems(auth.idp_token_url, ['idp_token_url']),
    ...insecureProblems(auth.idp_token_url, ['idp_token_url'], 'write an https URL'),
    ...httpProblems(auth.target_token_url, ['target_token_url']),
    ...(auth.insecure_target_token_url
      ? []
      : insecureProblems(auth.target_token_url, ['target_token_url'], INSECURE_TARGET)),
    ...clientProblems(auth, 'idp_client_secret_file', 'idp_client_id'),
    ...clientProblems(auth, 'target_client_secret_file', 'target_client_id'),
    ...providerProblems(auth.subject_provider_name, ['subject_provider_name'], providers),
  ],
  client_credentials: (auth) => [
    ...httpProblems(auth.token_url, ['token_url']),
    ...((auth.client_secret_file === undefined) === (auth.private_key_file === undefined)
      ? [{ path: [], message: 'needs one of client_secret_file and private_key_file; write one, remove the other' }]
      : []),
    ...headerNameProblems(auth.external_token_header_name ?? 'authorization', ['external_token_header_name']),
  ],
  upstream_inject: (auth, { providers }) => [
    ...providerProblems(auth.provider_name, ['provider_name'], providers),
    ...customHeaderProblems(auth),
  ],
  aws_sts: (auth, { transport }) => [
    ...httpOnly('aws_sts signs HTTP requests', transport),
    ...(/^[a-z0-9-]{1,64}$/.test(auth.region)
      ? []
      : [{ path: ['region'], message: 'not an AWS region; write one such as eu-central-1' }]),
    ...auth.role_mappings.flatMap(matcherProblems),
  ],
  remote_auth: (auth, { transport }) => [
    ...httpOnly('remote_auth logs in at a remote server', transport),
    ...(['issuer', 'authorize_url', 'token_url', 'resource'] as const).flatMap((field) =>
      httpProblems(auth[field], [field]),
    ),
  ],
};

const INSECURE_TARGET = 'write an https URL, or set insecure_target_token_url to true';

/** Secrets and tokens are sent to these URLs. */
function insecureProblems(url: string, path: DocumentProblem['path'], remedy: string): DocumentProblem[] {
  return urlIsSecure.holds(url) || httpProblems(url, path).length > 0
    ? []
    : [{ path, message: `http is allowed on loopback only; ${remedy}` }];
}

function clientProblems<Field extends string>(
  auth: Partial<Record<Field, unknown>>,
  secret: Field,
  id: Field,
): DocumentProblem[] {
  if (auth[secret] === undefined || auth[id] !== undefined) return [];
  return [{ path: [secret], message: `needs ${id}; write it, or remove ${secret}` }];
}

function headerNameProblems(name: string, path: DocumentProblem['path']): DocumentProblem[] {
  const { error } = AddedHeaderName.safeParse(name);
  return error ? [{ path, message: `"${name}" is ${error.issues[0]?.message ?? 'no header name'}` }] : [];
}

function providerProblems(
  name: string,
  path: DocumentProblem['path'],
  providers: readonly string[] | undefined,
): DocumentProblem[] {
  if (providers === undefined) {
    const message = `needs the stored tokens of provider ${name}, and there is no embedded authorization server; add it`;
    return [{ path, message }];
  }
  if (providers.includes(name)) return [];
  return [{ path, message: `"${name}" is no upstream provider; write one of ${providers.join(', ')}` }];
}

function customHeaderProblems({
  header_strategy: strategy,
  custom_header_name: name,
}: AuthByType['upstream_inject']): DocumentProblem[] {
  if (strategy === 'replace') return [];
  const path = ['custom_header_name'];
  if (name === undefined) return [{ path, message: 'is missing; header_strategy custom needs custom_header_name' }];
  return headerNameProblems(name, path);
}

function httpOnly(what: string, transport: Backend['transport']): DocumentProblem[] {
  if (transport !== 'stdio') return [];
  return [{ path: ['type'], message: `${what}; write another type for a backend of transport stdio` }];
}

/** CEL expressions in a matcher are a common mistake: matchers are texts with wildcards. */
function matcherProblems(
  { claim, matcher }: AuthByType['aws_sts']['role_mappings'][number],
  index: number,
): DocumentProblem[] {
  if (claim !== undefined || matcher === undefined || !/\bclaims\b/.test(matcher)) return [];
  const message = 'expressions are not evaluated; write the claim into claim and its value into matcher';
  return [{ path: ['role_mappings', index, 'matcher'], message }];
}

function headerProblems({ add_plaintext_headers: texts, add_header_files: files }: HttpBackend['header_forward']) {
  const named = (map: object, field: string) =>
    Object.keys(map).flatMap((name) => headerNameProblems(name, ['header_forward', field, name]));
  const values = Object.entries(texts).flatMap(([name, value]) =>
    HEADER_VALUE.test(value)
      ? []
      : [
          {
            path: ['header_forward', 'add_plaintext_headers', name],
            message: 'has control characters; remove line breaks and the like',
          },
        ],
  );
  return [...named(texts, 'add_plaintext_headers'), ...named(files, 'add_header_files'), ...values];
}

/** Rejects NUL characters, which no process accepts. */
function processProblems(backend: Extract<Backend, { transport: 'stdio' }>): DocumentProblem[] {
  const { command, args, env, working_directory: folder } = backend;
  const texts: [DocumentProblem['path'], string | undefined][] = [
    [['command'], command],
    ...args.map((arg, index): [DocumentProblem['path'], string] => [['args', index], arg]),
    ...Object.entries(env).map(([name, value]): [DocumentProblem['path'], string] => [['env', name], value]),
    [['working_directory'], folder],
  ];
  return texts.flatMap(([path, text]) =>
    text?.includes('\0') ? [{ path, message: 'has a NUL character, which no process gets; remove it' }] : [],
  );
}

/** Ignores policies and the content of files. Paths are relative to the backend. `providers`: undefined without an authorization server. */
export function findBackendProblems(backend: Backend, providers: readonly string[] | undefined): DocumentProblem[] {
  const { auth, transport, webhooks } = backend;
  const rule = rules[auth.type] as (auth: BackendAuth, deps: AuthDeps) => DocumentProblem[];
  return [
    ...rule(auth, { transport, providers }).map(({ path, message }) => ({ path: ['auth', ...path], message })),
    ...webhooks.flatMap(({ url }, index) => httpProblems(url, ['webhooks', index, 'url'])),
    ...(backend.transport === 'stdio'
      ? processProblems(backend)
      : [...httpProblems(backend.url, ['url']), ...headerProblems(backend.header_forward)]),
  ];
}
