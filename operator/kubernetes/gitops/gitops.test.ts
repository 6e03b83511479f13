import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ClusterFacts, Manifest } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';
import { compareObjects } from './compare-rendered.ts';
import { renderObjects, type Written } from './render-objects.ts';

const FACTS: ClusterFacts = { mode: 'cluster', runtimeImage: 'vmcp-runtime:1', allowHostPaths: false };

const RESOURCES = `
- kind: MCPGroup
  metadata: { name: tools }
  spec: {}
- kind: MCPServer
  metadata: { name: calendar }
  spec:
    groupRef: tools
    image: registry.example/calendar:1
    secrets: [{ name: calendar, key: token, targetEnvName: TOKEN }]
- kind: VirtualMCPServer
  metadata: { name: front }
  spec:
    config: { groupRef: tools }
    incomingAuth:
      type: oidc
      resourceUrl: https://mcp.example.com/mcp
      oidcConfig:
        type: inline
        inline: { issuer: https://login.example.com, clientId: a, clientSecretRef: { name: login, key: secret } }
`;

function written(change: (text: string) => string = (text) => text): Written {
  const resources = parse(change(RESOURCES)) as Manifest[];
  const manifests = resources.map((resource) => ({
    ...resource,
    apiVersion: 'vmcp.dev/v1alpha1',
    metadata: { ...resource.metadata, namespace: 'team' },
  }));
  return { manifests, configMaps: new Map() };
}

const render = (from: Written) => renderObjects(from, 'vmcp.dev', FACTS);
const all = (from: Written) => [...(from.manifests as unknown as KubeObject[]), ...render(from).objects];
const compared = (change: (text: string) => string) => compareObjects(all(written()), all(written(change)));

describe('renderObjects', () => {
  it('lists all objects of backends and servers, and their generated Secrets with placeholders', () => {
    const { objects, outcomes } = render(written());
    expect(outcomes.map(({ action }) => action)).toEqual(['apply', 'apply', 'apply']);
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    expect(names).toEqual(
      expect.arrayContaining([
        'Deployment team/mcp-calendar',
        'Service team/mcp-calendar',
        'Secret team/vmcp-front-sealing',
        'Secret team/vmcp-front-credentials',
        'ConfigMap team/vmcp-front-v0.1.0',
        'ServiceAccount team/vmcp-front',
        'Deployment team/vmcp-front',
        'Service team/vmcp-front',
      ]),
    );
    const secret = objects.find(({ metadata }) => metadata.name === 'vmcp-front-credentials');
    expect(Object.values(secret?.stringData as object)).toContain('<secret login/secret>');
  });

  it('accepts a server named like a property of Object.prototype', () => {
    const { outcomes } = render(written((text) => text.replace('name: front', 'name: constructor')));
    expect(outcomes.map(({ action }) => action)).toEqual(['apply', 'apply', 'apply']);
  });

  it('reports a missing group that is named like a property of Object.prototype', () => {
    const { outcomes } = render(
      written((text) => text.replace('config: { groupRef: tools }', 'config: { groupRef: constructor }')),
    );
    expect(JSON.stringify(outcomes)).toContain('MCPGroup \\"constructor\\"');
  });

  it('returns the same objects for the same input', () => {
    expect(JSON.stringify(render(written()))).toBe(JSON.stringify(render(written())));
  });
});

describe('compareObjects', () => {
  it('returns no differences for the same resources, or for an explicit default', () => {
    expect(compared((text) => text)).toEqual([]);
    expect(
      compared((text) =>
        text.replace('groupRef: tools\n    image', 'groupRef: tools\n    stdioProcess: shared\n    image'),
      ),
    ).toEqual([]);
  });

  it("lists the differing fields of a resource and of its objects, also inside a ConfigMap's document", () => {
    const changes = compared((text) => text.replace('https://login.example.com', 'https://id.example.com'));
    expect(changes).toEqual([
      {
        sign: '~',
        what: 'VirtualMCPServer team/front',
        differences: [
          {
            path: 'spec.incomingAuth.oidcConfig.inline.issuer',
            before: 'https://login.example.com',
            after: 'https://id.example.com',
          },
        ],
      },
      {
        sign: '~',
        what: 'ConfigMap team/vmcp-front-v0.1.0',
        differences: [
          {
            path: 'data["run-config.yaml"].incoming.issuer',
            before: 'https://login.example.com',
            after: 'https://id.example.com',
          },
        ],
      },
    ]);
  });

  it('names list entries in paths', () => {
    const changes = compared((text) => text.replace('calendar:1', 'calendar:2'));
    const deployment = changes.find(({ what }) => what === 'Deployment team/mcp-calendar');
    expect(deployment?.differences).toEqual([
      {
        path: 'spec.template.spec.containers.mcp.image',
        before: 'registry.example/calendar:1',
        after: 'registry.example/calendar:2',
      },
    ]);
  });

  it('lists added and removed objects', () => {
    const changes = compared((text) =>
      text
        .replace('image: registry.example/calendar:1', 'remoteUrl: https://calendar.example/mcp')
        .replace(/ +secrets: .*\n/, ''),
    );
    expect(changes.map(({ sign, what }) => `${sign} ${what}`)).toEqual(
      expect.arrayContaining([
        '~ MCPServer team/calendar',
        '- Deployment team/mcp-calendar',
        '- Service team/mcp-calendar',
      ]),
    );
  });

  it("ignores the status, versions and kubectl's annotations", () => {
    const [group] = written().manifests as unknown as [KubeObject];
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    const live = {
      ...group,
      metadata: { ...group.metadata, uid: 'u', resourceVersion: '1', annotations },
      status: { phase: 'Ready' },
    };
    expect(compareObjects([live], [group])).toEqual([]);
  });
});
