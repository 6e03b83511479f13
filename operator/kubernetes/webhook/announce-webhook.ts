import type { KubeApi } from '../api/api.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import type { Agreed } from '../certificates/keep-certificates.ts';

interface WebhookPlace {
  api: KubeApi;
  configurationName: string;
  webhookName: string;
}

interface Webhook {
  name: string;
  clientConfig?: { caBundle?: string; service?: { path?: string } };
}

const CONFIGURATIONS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};

const FIELD_MANAGER = 'vmcp-operator-webhook';

/** Publishes the webhook's authorities and path to the API server. Writes only differences. */
export async function announceWebhook(
  { authorities, path }: Agreed,
  { api, configurationName: name, webhookName }: WebhookPlace,
): Promise<void> {
  const caBundle = Buffer.from(authorities).toString('base64');
  const present = (await api.get(CONFIGURATIONS, { name })) as KubeObject & { webhooks?: Webhook[] };
  const known = present.webhooks?.find((webhook) => webhook.name === webhookName);
  if (!known) throw new Error(`ValidatingWebhookConfiguration ${name} has no webhook ${webhookName}`);
  if (known.clientConfig?.caBundle === caBundle && known.clientConfig.service?.path === path) return;
  await api.apply(
    CONFIGURATIONS,
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: [{ name: webhookName, clientConfig: { caBundle, service: { path } } }],
    },
    { fieldManager: FIELD_MANAGER, force: true },
  );
}
