import type { ProxySettings } from '#lib/connections/proxy';
import type { LookUp } from '#runtime/mcp/backends/backend-pods';
import type { Observer } from '#runtime/observer';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';

/** What a gateway gets from the process around it. */
export interface GatewayOptions {
  readonly files: SecretFiles;
  readonly log: Log;
  readonly observer: Observer;
  readonly version: string;
  readonly proxy: ProxySettings | undefined;
  /** Addresses of a name; absent: as this machine knows them. */
  readonly lookUp?: LookUp | undefined;
  /** Milliseconds after its opening before which a session is not evicted; absent: a minute. */
  readonly evictableAfter?: number | undefined;
  /** The environment of this process, read in main.ts. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the public port is bound; the port is the real one. */
  readonly listening: { readonly host: string; readonly port: number };
}

/** What of it each backend gets. */
export function backendDeps({ files, log, version, observer, proxy, environment, lookUp }: GatewayOptions) {
  const { exchanged: countExchange, webhookAsked: countWebhook, policy: policyMetrics, record } = observer;
  const counts = { countExchange, countWebhook, policyMetrics, record };
  return { files, log, version, proxy, environment, lookUp, wallClock: Date.now, ...counts };
}
