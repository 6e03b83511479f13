import type { IncomingMessage } from 'node:http';
import type { Answer, Caller, Operation, RawRequest } from './operation.ts';
import { Problem } from './problem.ts';
import type { Rooms } from './rooms.ts';

/** Answer to be written. */
export type Served = Answer<unknown>;

/** Who may come in, and who it is. Two of them: one machine, and a cluster. */
export interface Authority {
  /** Refuses a request by what stands in its head. @throws Problem */
  admit(request: IncomingMessage): void;
  /** @throws Problem `unauthenticated` */
  authenticate(request: IncomingMessage, namespace: string): Promise<Caller>;
  /** Namespace that a request means. @throws Problem `namespace_missing` */
  namespaceOf(query: Record<string, unknown>): string;
}

interface ServingOptions {
  authority: Authority;
  roomsOf: (namespace: string) => Rooms;
  /** Told of each operation that changes something, when it ended. */
  onChange: (change: ChangeEvent) => void;
  /** Told of what failed inside. */
  onFailure: (request: IncomingMessage, problem: Problem) => void;
  /** Milliseconds that an operation may take. */
  deadline?: number;
}

/** What the audit log says of an operation that changes something. */
export interface ChangeEvent {
  type: string;
  operation: string;
  outcome: 'success' | 'denied' | 'failure' | 'error';
  user: string;
  source: string;
  namespace: string;
  params: Record<string, unknown>;
  durationMs: number;
  code?: string;
}

const DEADLINE = 60_000;

/** A request on its way to an operation. */
export class ServedRequest {
  readonly #options: ServingOptions;

  constructor(options: ServingOptions) {
    this.#options = options;
  }

  admit(request: IncomingMessage): void {
    this.#options.authority.admit(request);
  }

  failed(request: IncomingMessage, problem: Problem): void {
    if (problem.status >= 500) this.#options.onFailure(request, problem);
  }

  /** `gone` is aborted when nobody waits for the answer any more. @throws Problem */
  async run(
    operation: Operation,
    raw: Omit<RawRequest, 'caller' | 'signal'>,
    request: IncomingMessage,
    gone: AbortSignal,
  ): Promise<Served> {
    const { authority, roomsOf, deadline = DEADLINE } = this.#options;
    const asked = raw.query as Record<string, unknown>;
    const namespace = authority.namespaceOf(asked);
    const query = Object.fromEntries(Object.entries(asked).filter(([name]) => name !== 'namespace'));
    const caller = await authority.authenticate(request, namespace);
    const startedAt = performance.now();
    const tell = (error?: Problem) => {
      this.#tell({ operation, raw, caller, namespace, request, durationMs: performance.now() - startedAt }, error);
    };
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(deadline), gone]);
      const served = await operation.call({ ...raw, query, caller, signal }, roomsOf(namespace));
      tell();
      return served;
    } catch (error) {
      tell(error instanceof Problem ? error : new Problem('internal', 'it failed inside', { cause: error }));
      throw error;
    }
  }

  #tell(
    of: {
      operation: Operation;
      raw: Omit<RawRequest, 'caller' | 'signal'>;
      caller: Caller;
      namespace: string;
      request: IncomingMessage;
      durationMs: number;
    },
    problem: Problem | undefined,
  ): void {
    const { operation, raw, caller, namespace, request, durationMs } = of;
    if (operation.audit === undefined) return;
    this.#options.onChange({
      type: operation.audit,
      operation: operation.id,
      outcome: outcomeOf(problem),
      user: caller.name,
      source: request.socket.remoteAddress ?? '',
      namespace,
      params: raw.params as Record<string, unknown>,
      durationMs: Math.round(durationMs),
      ...(problem && { code: problem.code }),
    });
  }
}

function outcomeOf(problem: Problem | undefined): ChangeEvent['outcome'] {
  if (!problem) return 'success';
  if (problem.code === 'forbidden') return 'denied';
  return problem.status >= 500 ? 'error' : 'failure';
}
