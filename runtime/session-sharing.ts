import { randomBytes } from 'node:crypto';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import { createSecretRing, type RotatingSecretRing } from '#runtime/keys/create-secret-ring';
import type { SecretRing } from '#runtime/keys/secret-ring';
import { newKeysMayArrive } from '#runtime/keys/key-rotation';
import { sharedSeal, type StateSeal } from '#runtime/mcp/bridge/to-legacy/request-state';
import type { OpenSharing, SharingOptions } from '#runtime/mcp/sessions/open-shared-sessions';
import type { ReplicaEvent } from '#runtime/mcp/sessions/replica-events';
import type { SessionStore } from '#runtime/mcp/sessions/session-store';
import type { SecretFiles } from '#runtime/secret-files';

interface SessionSharingDeps extends Pick<
  SharingOptions,
  'backends' | 'changedSince' | 'onEvent' | 'missed' | 'evicted' | 'now' | 'wallClock' | 'log'
> {
  readonly table: SessionStore;
  readonly files: SecretFiles;
}

export interface PreparedSharing {
  commit(): void;
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

interface ActiveConfig {
  readonly made: string;
  readonly ring: RotatingSecretRing;
  readonly sharing: OpenSharing;
  readonly stateSeal: StateSeal;
}

interface Opened {
  /** undefined: sessions are only in memory. */
  readonly activeConfig: ActiveConfig | undefined;
  readonly warning?: string;
}

type SessionConfig = Pick<RunConfig, 'server' | 'session_storage' | 'sealing_secret_files'>;

/** Storage of a gateway's sessions besides its memory, as configured. */
export class SessionSharing {
  readonly #deps: SessionSharingDeps;
  #activeConfig: ActiveConfig | undefined;
  #sealing: RotatingSecretRing | undefined;

  constructor(deps: SessionSharingDeps) {
    this.#deps = deps;
  }

  /** Seals values that clients keep. Without configured secrets, they end with this process. */
  get sealing(): SecretRing {
    return (this.#sealing ??= createSecretRing([], this.#ringDeps));
  }

  get #ringDeps() {
    return { now: this.#deps.wallClock, random: randomBytes };
  }

  /** Seals the states of calls that wait for input. Undefined: sessions are only in memory. */
  get stateSeal(): StateSeal | undefined {
    return this.#activeConfig?.stateSeal;
  }

  get isShared(): boolean {
    return this.#deps.table.isShared;
  }

  tell(event: ReplicaEvent): void {
    this.#activeConfig?.sharing.tell(event);
  }

  /** Opens the storage if it is not open yet. @throws ConfigError */
  async prepare(config: SessionConfig): Promise<PreparedSharing> {
    const before = this.#activeConfig;
    const made = JSON.stringify(config.session_storage);
    const isSame = before?.made === made;
    const opened: Opened = isSame ? { activeConfig: before } : await this.#open(config, made);
    const next = opened.activeConfig;
    const secrets = this.#readSecrets(config);
    // Checks the secrets now, so that the commit cannot fail.
    const sealing = createSecretRing(secrets, this.#ringDeps);
    return {
      commit: () => {
        if (this.#sealing) this.#sealing.update(secrets);
        else this.#sealing = sealing;
        if (isSame) next?.ring.update(secrets);
        else next?.sharing.sessions.begin(this.#deps.table.all());
        this.#activeConfig = next;
        this.#deps.table.shared = next?.sharing.sessions;
        this.#deps.table.warning = opened.warning;
      },
      finish: async () => {
        if (!isSame) await before?.sharing.close();
      },
      abandon: async () => {
        if (isSame) return;
        this.#activeConfig = before;
        this.#deps.table.shared = before?.sharing.sessions;
        await next?.sharing.close();
      },
    };
  }

  filesChanged(config: SessionConfig): void {
    try {
      const secrets = this.#readSecrets(config);
      this.#sealing?.update(secrets);
      this.#activeConfig?.ring.update(secrets);
    } catch (error) {
      const reason = error instanceof Error ? error.message : '';
      this.#deps.log.error('changed secrets that seal sessions cannot be used; the former stay', { reason });
    }
  }

  async close(): Promise<void> {
    await this.#activeConfig?.sharing.close();
    this.#activeConfig = undefined;
  }

  #readSecrets({ sealing_secret_files: names }: SessionConfig) {
    return names.map((file) => ({ file, content: this.#deps.files.readBytes(file) }));
  }

  async #open(config: SessionConfig, made: string): Promise<Opened> {
    const { session_storage: storage, sealing_secret_files: names, server } = config;
    if (storage.type === 'memory') return { activeConfig: undefined };
    if (names.length === 0)
      throw new ConfigError('sealing_secret_files: stored sessions are sealed; name a file with a secret');
    const { files, wallClock } = this.#deps;
    const ring = createSecretRing(this.#readSecrets(config), this.#ringDeps);
    const stateSeal = sharedSeal(ring, JSON.stringify(server));
    if (storage.type === 'sqlite') return this.#openFile(storage.file, server, { made, ring, stateSeal });
    const { openSharedSessions } = await import('#runtime/mcp/sessions/open-shared-sessions');
    const sharing = await openSharedSessions({
      ...this.#deps,
      ...{ redis: storage.redis, place: server, ring, readSecret: files.read },
      newKeysMayArrive: () => newKeysMayArrive(ring, { kind: storage.type }, wallClock()),
    });
    return { activeConfig: { made, ring, sharing, stateSeal } };
  }

  /** If the file is unusable, sessions are only in memory. */
  async #openFile(file: string, place: RunConfig['server'], by: Omit<ActiveConfig, 'sharing'>): Promise<Opened> {
    const { openStoredSessions } = await import('#runtime/mcp/sessions/open-stored-sessions');
    try {
      const sharing = await openStoredSessions({ ...this.#deps, file, place, ring: by.ring });
      return { activeConfig: { ...by, sharing } };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const warning = `sessions end with this process, as their file cannot be used: ${error.message}`;
      this.#deps.log.warn(warning);
      return { activeConfig: undefined, warning };
    }
  }
}
