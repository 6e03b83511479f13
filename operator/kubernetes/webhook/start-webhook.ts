import type { Log } from '#lib/log/log';
import type { Manifest, Snapshot } from '#operator/snapshot';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { type Agreed, keepCertificates } from '../certificates/keep-certificates.ts';
import { completeSnapshot, fewAtOnce } from './complete-snapshot.ts';
import { serveWebhook, type WebhookServer } from './serve-webhook.ts';

interface WebhookSettings {
  api: KubeApi;
  apiGroup: string;
  /** Name of the installation: of its ValidatingWebhookConfiguration, and the prefix of Service and Secret. */
  name: string;
  namespace: string;
  port: number;
  observe: (namespace: string) => Promise<Snapshot>;
  /** Receives problems of the webhook itself. None of them stops the operator: without the webhook, conditions report the faults. */
  onProblem: (problem: unknown) => void;
  log?: Log;
}

/** Serves in every replica, with or without the Lease. Returns at once; answers once the API server returned or accepted a certificate. */
export function startWebhook(settings: WebhookSettings): { close(): Promise<void> } {
  const { api, apiGroup, name, namespace, port, observe, onProblem, log } = settings;
  const stop = new AbortController();
  let server: WebhookServer | undefined;
  let path: string | undefined;
  const reader = fewAtOnce(api);
  const snapshotFor = async (manifest: Manifest, signal: AbortSignal) =>
    completeSnapshot(manifest, await observe(manifest.metadata.namespace), reader, signal);
  const service = `${name}-webhook`;
  const kept = keepCertificates(
    {
      api,
      namespace,
      secretName: service,
      serverNames: [`${service}.${namespace}.svc`, `${service}.${namespace}.svc.cluster.local`],
      announce: (agreed) =>
        announceWebhook(agreed, { api, configurationName: name, webhookName: `resources.${apiGroup}` }),
      now: () => Date.now(),
      ...(log && { log }),
    },
    async (agreed) => {
      path = agreed.path;
      if (server) server.use(agreed);
      else server = await serveWebhook(agreed, { port, path: () => path, snapshotFor, onProblem });
    },
    onProblem,
    stop.signal,
  );
  return {
    async close() {
      stop.abort();
      await kept;
      await server?.close();
    },
  };
}

interface WebhookTarget {
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
  { api, configurationName: name, webhookName }: WebhookTarget,
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
