import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { KubeApi } from '#operator/kubernetes/api/api';
import { connect } from '#operator/kubernetes/api/connection';
import { bringCertificates, type CertificateDeps } from '#operator/kubernetes/certificates/keep-certificates';
import { announceWebhook } from '#operator/kubernetes/webhook/start-webhook';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const DAY = 24 * 60 * 60 * 1000;
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

interface Configuration {
  metadata: { resourceVersion: string };
  webhooks: [{ clientConfig: { caBundle: string; service: { path: string } } }];
}

describeWithCluster('the certificates of the webhook', (cluster) => {
  let namespace: Namespace;
  let api: KubeApi;
  let place: CertificateDeps & { configurationName: string; webhookName: string };

  const configuration = async () =>
    (await cluster.ask('GET', `${CONFIGURATIONS}/${place.configurationName}`)).body as Configuration;
  const secret = async () =>
    (await cluster.ask('GET', `/api/v1/namespaces/${namespace.name}/secrets/${place.secretName}`)).body as {
      metadata: { resourceVersion: string };
      data: Record<string, string>;
    };

  beforeAll(async () => {
    namespace = await cluster.makeNamespace('webhook');
    const { name } = namespace;
    api = new KubeApi(connect(cluster.config));
    place = {
      api,
      namespace: name,
      secretName: 'vmcp-webhook',
      configurationName: name,
      webhookName: `resources.${name}.test`,
      serverNames: [`vmcp-webhook.${name}.svc`],
      announce: (agreed) => announceWebhook(agreed, place),
      now: () => Date.now(),
    };
    const { status } = await cluster.ask('POST', CONFIGURATIONS, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: [
        {
          name: place.webhookName,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          clientConfig: { service: { name: 'vmcp-webhook', namespace: name } },
          rules: [{ apiGroups: [`${name}.test`], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothing'] }],
        },
      ],
    });
    expect(status).toBe(201);
  });

  afterAll(async () => {
    await cluster.ask('DELETE', `${CONFIGURATIONS}/${namespace.name}`);
    await namespace.delete();
    await api.close();
  });

  it('match for all operators that start concurrently, and the API server trusts them', async () => {
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => bringCertificates(place)));
    for (const other of others) expect(other).toEqual(first);
    const { clientConfig } = (await configuration()).webhooks[0];
    expect(Buffer.from(clientConfig.caBundle, 'base64').toString()).toBe(first?.authorities);
    expect(clientConfig.service.path).toBe(first?.path);
    expect(Object.keys((await secret()).data).sort()).toEqual(['ca.crt', 'ca.key', 'path', 'tls.crt', 'tls.key']);
  });

  it('stay unwritten while they are fresh', async () => {
    const before = [(await configuration()).metadata.resourceVersion, (await secret()).metadata.resourceVersion];
    await bringCertificates(place);
    expect([(await configuration()).metadata.resourceVersion, (await secret()).metadata.resourceVersion]).toEqual(
      before,
    );
  });

  it('renew before they expire: first by the same authority, later by one that was announced before', async () => {
    const start = await bringCertificates(place);
    const later = await bringCertificates({ ...place, now: () => Date.now() + 61 * DAY });
    expect([later.authorities === start.authorities, later.certificate === start.certificate]).toEqual([true, false]);
    // In operation there are many renewals in between, as the operator checks each minute.
    const next = await bringCertificates({ ...place, now: () => Date.now() + 100 * DAY });
    const announced = await bringCertificates({ ...place, now: () => Date.now() + 500 * DAY });
    expect(announced.authorities).toContain(next.authorities.trim());
    expect(announced.authorities).not.toBe(next.authorities);
    const { clientConfig } = (await configuration()).webhooks[0];
    expect(Buffer.from(clientConfig.caBundle, 'base64').toString()).toBe(announced.authorities);
    expect(announced.path).toBe(start.path);
  });

  it('return to the configuration after the authority was removed from it', async () => {
    const patch = [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: '' }];
    const { status } = await cluster.ask('PATCH', `${CONFIGURATIONS}/${namespace.name}`, patch, {
      'content-type': 'application/json-patch+json',
    });
    expect(status).toBe(200);
    const { authorities } = await bringCertificates({ ...place, now: () => Date.now() + 501 * DAY });
    const { clientConfig } = (await configuration()).webhooks[0];
    expect(Buffer.from(clientConfig.caBundle, 'base64').toString()).toBe(authorities);
  });
});
