/** Names that lead out of their folder if a program takes them for paths or options. */
export const OUTSIDE = [
  '..',
  '../../etc/passwd',
  '..\\..\\etc\\passwd',
  '/etc/passwd',
  '....//....//etc',
  '.',
  '../management-token',
  'x/../../y',
  '%2e%2e%2f',
  '\u2025/\u2025/x',
  'a\u0000b',
  '-rf',
  '$(id)',
  'C:\\x',
];

/** Paths that reach no route, sent unchanged. */
export const NO_PATHS = [
  '/api/v1beta/../../etc/passwd',
  '/api/v1beta/clients/../version',
  '/api/v1beta//version',
  '/./api/v1beta/version',
];

/** Encodes a path part. It encodes dots, too, because a server that decodes them before routing would remove them. */
const part = (name: string) => encodeURIComponent(name).replaceAll('.', '%2e');

/** Returns every request that takes a name, with this name in its path, query or body. */
export function requestsWith(name: string): [method: string, path: string, body?: object][] {
  const encoded = part(name);
  return [
    ['GET', `/registry/${encoded}`],
    ['GET', `/registry/${encoded}/servers`],
    ['GET', `/registry/default/servers/${encoded}`],
    ['DELETE', `/clients/${encoded}`],
    ['PUT', `/secrets/default/keys/${encoded}`, { value: 'x' }],
    ['DELETE', `/secrets/default/keys/${encoded}`],
    ['POST', '/clients', { name }],
    ['POST', '/clients/register', { names: [name] }],
    ['POST', '/secrets/default/keys', { key: name, value: 'x' }],
    ['GET', `/clients?namespace=${encoded}`],
    ['GET', `/workloads/${encoded}`],
    ...['logs', 'export', 'status'].map((what): [string, string] => ['GET', `/workloads/${encoded}/${what}`]),
    ...['stop', 'restart'].map((what): [string, string] => ['POST', `/workloads/${encoded}/${what}`]),
    ['POST', `/workloads/${encoded}/edit`, { debug: true }],
    ['DELETE', `/workloads/${encoded}`],
    ['POST', '/workloads', { name, image: 'example/x:1' }],
    ['GET', `/groups/${encoded}`],
    ['PUT', `/groups/${encoded}`, { description: 'x' }],
    ['DELETE', `/groups/${encoded}`],
    ['POST', '/groups', { name }],
    ['GET', `/skills/${encoded}`],
    ['DELETE', `/skills/${encoded}`],
    ['GET', `/operations/${encoded}`],
  ];
}
