/** Names that lead out of where they stand, where somebody takes them for paths or options. */
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

/** Paths, as they are written, by which nothing is reached. */
export const NO_PATHS = [
  '/api/v1beta/../../etc/passwd',
  '/api/v1beta/clients/../version',
  '/api/v1beta//version',
  '/./api/v1beta/version',
];

/** As a part of a path. Dots are encoded, too: a server that decoded them before it looks for the route would take them away. */
const part = (name: string) => encodeURIComponent(name).replaceAll('.', '%2e');

/** Every request that takes a name, with this one: in its path, its query or its body. */
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
