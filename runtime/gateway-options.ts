import type { ProxySettings } from '#lib/connections/proxy';
import type { LookUp } from '#runtime/mcp/backends/backend-pods';
import type { Observer } from '#runtime/observer';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';

export interface GatewayOptions {
  readonly files: SecretFiles;
  readonly log: Log;
  readonly observer: Observer;
  readonly version: string;
  readonly proxy: ProxySettings | undefined;
  /** Resolves a host name; absent: the resolver of this machine. */
  readonly lookUp?: LookUp | undefined;
  /** Milliseconds after its opening before which a session is not evicted; absent: one minute. */
  readonly evictableAfter?: number | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Bound address of the public port; the port is the actual one. */
  readonly listening: { readonly host: string; readonly port: number };
}

export function backendDeps({ files, log, version, observer, proxy, environment, lookUp }: GatewayOptions) {
  const { exchanged: countExchange, webhookAsked: countWebhook, policy: policyMetrics, record } = observer;
  const counts = { countExchange, countWebhook, policyMetrics, record };
  return { files, log, version, proxy, environment, lookUp, wallClock: Date.now, ...counts };
}
