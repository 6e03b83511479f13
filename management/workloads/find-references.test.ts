import { expect, it } from '@jest/globals';
import { referencePermissions } from './find-references.ts';

it('referenceTouches returns each right that the admission policy of a cluster requires, once', () => {
  const named = { name: 'company', key: 'token' };
  const spec = {
    image: 'example/x:1',
    externalAuthConfigRef: { name: 'github' },
    oidcConfigRef: { name: 'staff' },
    secrets: [named, { ...named, key: 'other' }],
    groupRef: 'tools',
    serviceAccount: 'robot',
    podTemplateSpec: { spec: { imagePullSecrets: [{ name: 'registry' }] } },
    headerForward: { addHeadersFromSecret: { 'X-Key': { name: 'header', key: 'value' } } },
  };
  expect(referencePermissions(spec)).toEqual(
    expect.arrayContaining([
      { verb: 'use', resource: 'mcpexternalauthconfigs', name: 'github' },
      { verb: 'get', group: '', resource: 'secrets', name: 'company' },
      { verb: 'get', group: '', resource: 'secrets', name: 'header' },
      { verb: 'get', group: '', resource: 'secrets', name: 'registry' },
      { verb: 'use', resource: 'mcpgroups', name: 'tools' },
      { verb: 'use', group: '', resource: 'serviceaccounts', name: 'robot' },
    ]),
  );
  expect(referencePermissions(spec)).toHaveLength(6);
});

const pods = { verb: 'create', group: '', resource: 'pods' };
const deployments = { verb: 'create', group: 'apps', resource: 'deployments' };
const services = { verb: 'create', group: '', resource: 'services' };

it.each<[string, object, object[]]>([
  ['pods in its template', { podTemplateSpec: { metadata: { labels: { app: 'redis' } } } }, [pods]],
  ['pods of its proxy', { resourceOverrides: { proxyDeployment: { podLabels: { app: 'redis' } } } }, [pods]],
  ['its Deployment', { resourceOverrides: { proxyDeployment: { labels: { team: 'b' } } } }, [deployments]],
  ['its Service', { resourceOverrides: { proxyService: { labels: { team: 'b' } } } }, [services]],
  ['nothing', { podTemplateSpec: { metadata: { labels: {}, annotations: { note: 'a' } } } }, []],
])(
  'referenceTouches requires the right to create objects with labels if a workload labels %s',
  (_what, more, asked) => {
    expect(referencePermissions({ image: 'example/x:1', ...more })).toEqual(asked);
  },
);
