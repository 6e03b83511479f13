import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ClusterFacts, Manifest } from '#operator/world';
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

describe('what the operator would apply', () => {
  it('is listed whole: of a backend, of a server, and the Secrets that are made for it, with placeholders', () => {
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

  it('is that of a server that is called as something that every object has', () => {
    const { outcomes } = render(written((text) => text.replace('name: front', 'name: constructor')));
    expect(outcomes.map(({ action }) => action)).toEqual(['apply', 'apply', 'apply']);
  });

  it('is that of a server that names what every object has, and is not there', () => {
    const { outcomes } = render(
      written((text) => text.replace('config: { groupRef: tools }', 'config: { groupRef: constructor }')),
    );
    expect(JSON.stringify(outcomes)).toContain('MCPGroup \\"constructor\\"');
  });

  it('is the same each time', () => {
    expect(JSON.stringify(render(written()))).toBe(JSON.stringify(render(written())));
  });
});

describe('the differences', () => {
  it('are none for the same resources, nor for a default that is written out', () => {
    expect(compared((text) => text)).toEqual([]);
    expect(
      compared((text) =>
        text.replace('groupRef: tools\n    image', 'groupRef: tools\n    stdioProcess: shared\n    image'),
      ),
    ).toEqual([]);
  });

  it('are told of the resource and of what follows from it, field by field, in a document within a ConfigMap too', () => {
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

  it('tell of entries of a list by their names', () => {
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

  it('tell of objects that come and go', () => {
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

  it('leave out status, versions and what kubectl notes down', () => {
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
