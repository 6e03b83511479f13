import type { RunConfig } from '#crds/run-config/run-config';
import type { AuthServer } from '#runtime/authserver/auth-server';
import type { ReadSource } from '#runtime/http/read-source';
import type { HostOriginCheck } from '#runtime/http/check-host-origin';
import type { Authenticator } from '#runtime/incoming/identity';
import type { Catalogues } from '#runtime/mcp/aggregate/catalogues';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import type { BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import type { ListChangedNotifier } from '#runtime/mcp/list-changed-notifier';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { SessionStore } from '#runtime/mcp/sessions/session-store';
import type { StreamQuota } from '#runtime/mcp/sessions/stream-quota';
import type { Tasks } from '#runtime/mcp/tasks/tasks';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { RateLimits } from '#runtime/rate-limits/rate-limits';
import type { Log } from '#runtime/telemetry/log';
import type { RequestRecord } from '#runtime/request-record';
import type { InFlight } from '#runtime/in-flight';

/** Active services that handle a request. A reload replaces individual services. */
export interface Services {
  readonly config: RunConfig;
  readonly hostOrigin: HostOriginCheck;
  readonly authenticator: Authenticator;
  readonly authServer: AuthServer | undefined;
  readonly authorizer: Authorizer;
  readonly rateLimits: RateLimits | undefined;
  readonly backends: BackendSet;
  readonly catalogues: Catalogues;
  readonly sessions: SessionStore;
  readonly streams: StreamQuota;
  readonly tasks: Tasks;
  readonly readSource: ReadSource;
  readonly bufferedBytes: BufferedBytes;
  readonly listChangedNotifier: ListChangedNotifier;
  readonly log: Log;
  readonly version: string;
  /** Returns the active services, for code that outlives a reload, such as streams. */
  readonly latest: () => Services;
  /** Pending requests and open streams. Draining waits for them. */
  readonly running: InFlight<RequestRecord>;
  /** Called for each decoded message: traces. */
  readonly begin: (requestRecord: RequestRecord, message: DecodedMessage) => void;
  /** Called at the end of each request: audit, metrics, traces. */
  readonly finish: (requestRecord: RequestRecord) => void;
}
