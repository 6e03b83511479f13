import type { RunConfig } from '#crds/run-config/run-config';
import type { AuthServer } from '#runtime/authserver/auth-server';
import type { ReadSource } from '#runtime/http/read-source';
import type { HostOriginCheck } from '#runtime/http/check-host-origin';
import type { Authenticator } from '#runtime/incoming/identity';
import type { Catalogues } from '#runtime/mcp/aggregate/catalogues';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import type { KeptBytes } from '#runtime/mcp/backends/kept-bytes';
import type { Announcer } from '#runtime/mcp/announcer';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { SessionStore } from '#runtime/mcp/sessions/session-store';
import type { StreamQuota } from '#runtime/mcp/sessions/stream-quota';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { RateLimits } from '#runtime/rate-limits/rate-limits';
import type { Log } from '#runtime/telemetry/log';
import type { Trail } from '#runtime/trail';
import type { UnderWay } from '#runtime/under-way';

/** Everything that a request's way leads through, as it is in force now. A reload replaces single rooms. */
export interface Rooms {
  readonly config: RunConfig;
  readonly hostOrigin: HostOriginCheck;
  readonly authenticator: Authenticator;
  /** Undefined: there is none in this process. */
  readonly authServer: AuthServer | undefined;
  readonly authorizer: Authorizer;
  /** Undefined: nothing is limited. */
  readonly rateLimits: RateLimits | undefined;
  readonly backends: BackendSet;
  readonly catalogues: Catalogues;
  readonly sessions: SessionStore;
  readonly streams: StreamQuota;
  readonly readSource: ReadSource;
  readonly keptBytes: KeptBytes;
  readonly announcer: Announcer;
  readonly log: Log;
  readonly version: string;
  /** The rooms in force at the time of the call: what outlives a reload, as a stream does, asks for them. */
  readonly latest: () => Rooms;
  /** Requests and streams under way; draining waits for them. */
  readonly running: UnderWay<Trail>;
  /** Told of each message when it was read: traces. */
  readonly begin: (trail: Trail, message: DecodedMessage) => void;
  /** Told of each request when it is over: audit, metrics, traces. */
  readonly finish: (trail: Trail) => void;
}
