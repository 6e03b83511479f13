import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { GoldenInput } from '#operator/golden-case';
import { AUTHORITY } from '#operator/plan/testdata/authority';

type Value = Record<string, unknown>;
type Resource = GoldenInput['resources'][number];

const object = (value: unknown): Value => (typeof value === 'object' && value !== null ? (value as Value) : {});
const specOf = (resource: Resource): Value => object('spec' in resource ? resource.spec : undefined);

function read(folder: string, suffix: string): GoldenInput[] {
  const names = readdirSync(join(import.meta.dirname, folder)).filter((name) => name.endsWith(suffix));
  const textOf = (name: string) => readFileSync(join(import.meta.dirname, folder, name), 'utf8');
  return names.map((name) => parse(textOf(name).replace(/\bAUTHORITY\b/, JSON.stringify(AUTHORITY))) as GoldenInput);
}

const serverOf = ({ resources }: GoldenInput) => resources.find(({ kind }) => kind === 'VirtualMCPServer');

function withServer(input: GoldenInput, server: Resource, ...others: Resource[]): GoldenInput {
  const left = input.resources.filter(
    ({ kind, metadata }) => kind !== server.kind || metadata.name !== server.metadata.name,
  );
  return { ...input, resources: [server, ...left, ...others] };
}

/** Returns the input with the settings at their other allowed path. */
function underConfig(input: GoldenInput): GoldenInput[] {
  const server = serverOf(input);
  if (server === undefined) return [];
  const { audit, telemetry, sessionStorage, ...spec } = specOf(server);
  if ([audit, telemetry, sessionStorage].every((one) => one === undefined)) return [];
  const config = { ...object(spec.config), ...defined({ audit, telemetry, sessionStorage }) };
  return [withServer(input, { ...server, spec: { ...spec, config } } as Resource)];
}

const defined = (value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));

/** Returns the other way to name a ConfigMap key with authorities. */
function otherBundles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(otherBundles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (name !== 'caBundleRef') return [name, otherBundles(inner)];
      const { configMapRef, ...plain } = object(inner);
      return [name, configMapRef ?? { configMapRef: plain }];
    }),
  );
}

const OWN_PLATFORM = {
  mode: 'local',
  directory: '/srv/demo/.vmcp',
  ports: { 'MCPServer/demo': { port: 4493, privatePort: 4494 } },
  backendPorts: {},
  uids: { 'MCPServer/demo': '6f0c2f5e-0000-4000-8000-000000000002' },
  loginDirectory: '/srv/demo/.vmcp/logins/default',
} as const;

/** Moves the settings of a VirtualMCPServer to the own endpoint of an MCPServer; returns one input per provider. */
function asOwnEndpoints(input: GoldenInput): GoldenInput[] {
  const server = serverOf(input);
  if (server === undefined) return [];
  const { incomingAuth, sessionStorage, telemetry, audit, rateLimiting, authServerConfig } = specOf(server);
  const { oidcConfig, oidcConfigRef, authzConfig, resourceUrl } = object(incomingAuth);
  const issuer = oidcConfig && defined({ resourceUrl, ...object(oidcConfig) });
  const own = { oidcConfig: issuer, oidcConfigRef, authzConfig, sessionStorage, telemetry, audit, rateLimiting };
  const spec = { remoteUrl: 'https://demo.example/mcp', proxyPort: 9000, ...defined(own) };
  const platform = input.platform?.mode === 'cluster' ? input.platform : OWN_PLATFORM;
  const generated = { 'MCPServer/demo': input.generated?.demo ?? {} };
  const made = { ...input, key: 'MCPServer/default/demo', platform, generated };
  const { upstreamProviders, ...logins } = object(authServerConfig);
  if (!Array.isArray(upstreamProviders)) return [withServer(made, { ...server, kind: 'MCPServer', spec } as Resource)];
  return upstreamProviders.map((provider: Value) => {
    const embeddedAuthServer = {
      ...logins,
      primaryUpstreamProvider: provider.name,
      upstreamProviders: [{ ...provider, required: true }],
    };
    const login = {
      ...server,
      kind: 'MCPExternalAuthConfig',
      metadata: { name: 'login' },
      spec: { type: 'embeddedAuthServer', embeddedAuthServer },
    };
    const named = { ...server, kind: 'MCPServer', spec: { ...spec, externalAuthConfigRef: { name: 'login' } } };
    return withServer(made, named as Resource, login as Resource);
  });
}

/** Returns the snapshots in which fields are tested: the golden inputs, their variants, and a few more. */
export function snapshotsOfFields(): GoldenInput[] {
  const written = [...read('../plan/testdata', '.in.yaml'), ...read('fields', '.yaml')];
  const snapshots = [...written, ...written.flatMap(underConfig), ...written.flatMap(asOwnEndpoints)];
  const withBundles = snapshots.filter((snapshot) => JSON.stringify(snapshot).includes('"caBundleRef"'));
  return [...snapshots, ...withBundles.map((snapshot) => otherBundles(snapshot) as GoldenInput)];
}
