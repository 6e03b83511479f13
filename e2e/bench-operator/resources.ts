import type { KubeObject, Resource } from '#operator/kubernetes/api/object';

const GROUP = 'vmcp.dev';
const VERSION = 'v1alpha1';

const own = (plural: string): Resource => ({ group: GROUP, version: VERSION, plural, namespaced: true });
export const SERVERS = own('virtualmcpservers');
const BACKENDS = own('mcpservers');
const GROUPS = own('mcpgroups');
const AUTH_CONFIGS = own('mcpexternalauthconfigs');
export const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets', namespaced: true };
export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces', namespaced: false };
export const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', namespaced: true };

/** One namespace holds half of all resources, and its servers share one Secret. Ten namespaces hold the rest. */
export const BIG = 'bench-big';
const SMALL = 10;

export interface Entry {
  resource: Resource;
  object: KubeObject;
}

const BACKENDS_OF_GROUP = 25;
const SERVERS_OF_GROUP = 5;

const custom = (kind: string, resource: Resource, namespace: string, name: string, spec: object): Entry => ({
  resource,
  object: { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { namespace, name }, spec },
});

function groupOf(namespace: string, index: number, outgoingAuth: object): Entry[] {
  const groupRef = `group-${index}`;
  const backends = Array.from({ length: BACKENDS_OF_GROUP }, (_, i) => {
    const name = `backend-${index}-${i}`;
    const remoteUrl = `https://${name}.example.com/mcp`;
    return custom('MCPServer', BACKENDS, namespace, name, { remoteUrl, transport: 'streamable-http', groupRef });
  });
  const servers = Array.from({ length: SERVERS_OF_GROUP }, (_, i) => {
    const spec = { config: { groupRef }, incomingAuth: { type: 'anonymous' }, outgoingAuth };
    return custom('VirtualMCPServer', SERVERS, namespace, `server-${index}-${i}`, spec);
  });
  return [custom('MCPGroup', GROUPS, namespace, groupRef, { description: groupRef }), ...backends, ...servers];
}

function namespaceOf(name: string): Entry {
  return { resource: NAMESPACES, object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } };
}

/** Returns the Secret that all servers of the big namespace use through one MCPExternalAuthConfig. */
export function sharedSecret(value: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: BIG, name: 'shared' },
    data: { value: Buffer.from(value).toString('base64') },
  };
}

/**
 * Returns so many groups with 25 MCPServers and 5 VirtualMCPServers each: first the namespaces, then their resources.
 */
export function makeResources(groups: number): { namespaces: Entry[]; entries: Entry[] } {
  const half = Math.ceil(groups / 2);
  const auth = { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'shared' } };
  const shared = custom('MCPExternalAuthConfig', AUTH_CONFIGS, BIG, 'shared', {
    type: 'headerInjection',
    headerInjection: { headerName: 'x-api-key', valueSecretRef: { name: 'shared', key: 'value' } },
  });
  const big = Array.from({ length: half }, (_, i) => groupOf(BIG, i, { source: 'inline', default: auth }));
  const rest = Array.from({ length: groups - half }, (_, i) => groupOf(`bench-${i % SMALL}`, i, {}));
  const names = [BIG, ...Array.from({ length: SMALL }, (_, i) => `bench-${i}`)];
  return {
    namespaces: names.map(namespaceOf),
    entries: [{ resource: SECRETS, object: sharedSecret('first') }, shared, ...big.flat(), ...rest.flat()],
  };
}

/** Copies the object to another namespace, without its owner and without the fields that the API server adds. */
export function moved({ metadata, status, ...object }: KubeObject, namespace: string): KubeObject {
  const { name, labels, annotations } = metadata;
  const kept = { ...(labels && { labels }), ...(annotations && { annotations }) };
  return { ...object, metadata: { name, namespace, ...kept }, ...(status === undefined ? {} : { status }) };
}
