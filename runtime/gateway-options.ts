import type { Observer } from '#runtime/observer';
import type { ProxySettings } from '#runtime/outgoing/dispatcher';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';

/** What a gateway gets from the process around it. */
export interface GatewayOptions {
  readonly files: SecretFiles;
  readonly log: Log;
  readonly observer: Observer;
  readonly version: string;
  readonly proxy: ProxySettings | undefined;
  /** The environment of this process, read in main.ts. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the public port is bound; the port is the real one. */
  readonly listening: { readonly host: string; readonly port: number };
}

/** What of it each backend gets. */
export function backendDeps({ files, log, version, observer, proxy, environment }: GatewayOptions) {
  const { exchanged: countExchange, policy: policyMetrics } = observer;
  return { files, log, version, proxy, environment, wallClock: Date.now, countExchange, policyMetrics };
}
