import type { Backend as BackendConfig } from '#crds/run-config/backend';
import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import { translateApps } from '#runtime/mcp/relay/translate-apps';
import type { BackendCall } from './backend.ts';
import type { BackendParts } from './backend-parts.ts';
import type { Breaker } from './breaker.ts';
import type { Deadlines } from './deadlines.ts';
import type { BackendHealth } from './health.ts';
import type { BufferedBytes } from './buffered-bytes.ts';

/** Sessions on event streams and per-session processes end with this process. */
function losesState(config: BackendConfig): boolean {
  return config.transport === 'sse' || (config.transport === 'stdio' && config.stdio_process === 'perSession');
}

/** Base of all backends: keeps the configuration and shared components for any transport. */
export abstract class ConfiguredBackend<Config extends BackendConfig> {
  readonly name: string;
  readonly config: Config;
  readonly credential: Credential;
  readonly authorizer: Authorizer | undefined;
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly breaker: Breaker;
  readonly deadlines: Deadlines;
  readonly bufferedBytes: BufferedBytes;
  readonly places: BackendParts['concurrency'];
  readonly #apps: BackendParts['apps'];
  readonly sessions = true;
  readonly losesState: boolean;

  constructor(options: BackendParts & { readonly config: Config }) {
    this.name = options.config.name;
    this.config = options.config;
    this.credential = options.credential;
    this.authorizer = options.authorizer;
    this.webhooks = options.webhooks;
    this.health = options.health;
    this.breaker = options.breaker;
    this.deadlines = options.deadlines;
    this.losesState = losesState(options.config);
    this.bufferedBytes = options.bufferedBytes;
    this.places = options.concurrency;
    this.#apps = options.apps;
  }

  /** Returns the call with the backend's own URIs of apps. */
  protected translate(call: BackendCall): BackendCall {
    const aliases = this.#apps?.aliasesOf(this.name);
    return aliases === undefined ? call : translateApps(call, aliases);
  }

  protected async closeParts(): Promise<void> {
    this.credential.close();
    await this.webhooks?.close();
  }
}
