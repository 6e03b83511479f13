import type { Log } from '#lib/log/log';
import type { Manifest, World } from '#operator/world';
import type { KubeApi } from '../api/api.ts';
import { keepCertificates } from '../certificates/keep-certificates.ts';
import { announceWebhook } from './announce-webhook.ts';
import { completeWorld, fewAtOnce } from './complete-world.ts';
import { serveWebhook, type WebhookServer } from './serve-webhook.ts';

interface WebhookSettings {
  api: KubeApi;
  apiGroup: string;
  /** Name of the installation: of its ValidatingWebhookConfiguration, and the first part of Service and Secret. */
  name: string;
  /** Namespace of the operator. */
  namespace: string;
  /** Port that is listened on, all interfaces. */
  port: number;
  /** All of one namespace as it is known now. */
  observe: (namespace: string) => Promise<World>;
  /** Told of what went wrong in the webhook itself. Nothing of it ends the operator: without the webhook its findings are conditions. */
  onProblem: (problem: unknown) => void;
  log?: Log;
}

/**
 * Serves the validating webhook, and makes and renews its certificate, in every operator whether it leads or not. Returns at
 * once; it answers as soon as the API server gave or took a certificate.
 */
export function startWebhook(settings: WebhookSettings): { close(): Promise<void> } {
  const { api, apiGroup, name, namespace, port, observe, onProblem, log } = settings;
  const stop = new AbortController();
  let server: WebhookServer | undefined;
  let path: string | undefined;
  const reader = fewAtOnce(api);
  const worldFor = async (manifest: Manifest, signal: AbortSignal) =>
    completeWorld(manifest, await observe(manifest.metadata.namespace), reader, signal);
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
      else server = await serveWebhook(agreed, { port, path: () => path, worldFor, onProblem });
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
