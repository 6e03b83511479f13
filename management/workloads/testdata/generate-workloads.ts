import fc from 'fast-check';
import { MCPServerSpec } from '#crds/kinds/index';

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const envName = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,8}$/);
/** A text of one line. */
export const word = fc.stringMatching(/^[A-Za-z0-9 .:=-]{1,12}$/);
const path = fc.stringMatching(/^\/[a-z]{1,8}$/);
const port = fc.integer({ min: 1, max: 65_535 });
const reference = fc.record({ name, key: envName });
const url = name.map((host) => `https://${host}.example/x`);
/** Present in half of the cases: covers missing fields as often as present ones, and keeps documents short. */
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 1 });
const uniqueBy = <T>(value: fc.Arbitrary<T>, selector: (entry: T) => unknown) =>
  fc.uniqueArray(value, { maxLength: 3, selector });

const published = fc.oneof(
  port.map(String),
  fc.tuple(port, port).map(([here, there]) => `${here}:${there}/udp`),
  fc.tuple(port, port).map(([here, there]) => `192.0.2.7:${here}:${there}`),
  port.map((there) => `[::1]:${there}`),
);
/** Annotations, one of which records fields that mean nothing to an MCPServer. */
export const recorded = fc
  .record({
    registry_url: optional(
      fc.oneof(
        url,
        path.map((at) => `file://${at}`),
      ),
    ),
    registry_api_url: optional(url),
    runtime_config: optional(
      fc.record({ builder_image: optional(word), additional_packages: optional(fc.array(word)) }),
    ),
    container_name: optional(word),
    container_labels: optional(fc.dictionary(name, word, { maxKeys: 3 })),
    ignore_config: optional(fc.record({ loadGlobal: optional(fc.boolean()), printOverlays: optional(fc.boolean()) })),
  })
  .map((value): Record<string, string> => ({ 'vmcp.dev/recorded': JSON.stringify(value), other: 'kept' }));

const common = {
  groupRef: optional(name),
  toolsFilter: optional(fc.array(word, { maxLength: 3 })),
  toolsOverride: optional(fc.dictionary(name, fc.record({ name: optional(name), description: optional(word) }))),
  proxyPort: optional(port),
  proxyMode: optional(fc.constantFrom('sse', 'streamable-http')),
  trustProxyHeaders: optional(fc.boolean()),
  debug: optional(fc.boolean()),
  publish: optional(fc.array(published, { maxLength: 3 })),
  allowDockerGateway: optional(fc.boolean()),
  envFileDir: optional(path),
  suspend: optional(fc.boolean()),
  endpointPrefix: optional(path),
  audit: optional(fc.record({ enabled: fc.boolean() })),
  authzConfig: optional(
    fc.oneof(
      fc.record({
        type: fc.constant('inline'),
        mode: optional(fc.constantFrom('audit', 'enforce')),
        inline: fc.record({ policies: fc.array(word, { maxLength: 2 }), entitiesJson: optional(fc.constant('[]')) }),
      }),
      fc.record({ type: fc.constant('configMap'), configMap: fc.record({ name, key: optional(envName) }) }),
    ),
  ),
  oidcConfig: optional(
    fc.oneof(
      fc.record({
        type: fc.constant('inline'),
        resourceUrl: optional(url),
        inline: fc.record({
          issuer: url,
          audience: optional(word),
          clientId: fc.constant('me'),
          clientSecretRef: optional(reference),
          scopes: optional(fc.array(name, { maxLength: 2 })),
          groupsClaim: optional(name),
        }),
      }),
      fc.record({ type: fc.constant('kubernetes'), kubernetes: optional(fc.record({ audience: word })) }),
    ),
  ),
};
const program = fc.record({
  ...common,
  image: fc.constant('example/search:1'),
  transport: optional(fc.constantFrom('sse', 'streamable-http')),
  args: optional(fc.array(word, { maxLength: 3 })),
  env: optional(uniqueBy(fc.record({ name: envName, value: optional(word) }), (entry) => entry.name)),
  secrets: optional(
    uniqueBy(
      fc.record({ name, key: envName, targetEnvName: optional(envName) }),
      (entry) => `${entry.name}/${entry.key}`,
    ),
  ),
  volumes: optional(
    uniqueBy(
      fc.record({ name, hostPath: path, mountPath: path, readOnly: optional(fc.boolean()) }),
      (entry) => entry.name,
    ),
  ),
  mcpPort: optional(port),
  permissionProfile: optional(
    fc.oneof(
      fc.record({ type: fc.constant('builtin'), name: fc.constantFrom('none', 'network') }),
      fc.record({ type: fc.constant('configmap'), name, key: envName }),
    ),
  ),
});
const remote = fc.record({
  ...common,
  remoteUrl: url,
  headerForward: optional(
    fc.record({
      addPlaintextHeaders: optional(fc.dictionary(name, word)),
      addHeadersFromSecret: optional(fc.dictionary(name, reference)),
    }),
  ),
  remoteAuth: optional(
    fc.record({
      issuer: optional(url),
      clientId: fc.constant('me'),
      clientSecretRef: optional(reference),
      scopes: optional(fc.array(name, { maxLength: 2 })),
      usePkce: optional(fc.boolean()),
      timeout: optional(fc.constant('7m')),
      administrators: optional(fc.array(word, { maxLength: 2 })),
    }),
  ),
});
/** The `spec` of an MCPServer as from a file or an API server: without undefined members. */
export const spec = fc
  .oneof(program, remote)
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>)
  .filter((value) => MCPServerSpec.safeParse(value).success);
