import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { readTracesUrl } from '#crds/parts/otlp-endpoint';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import type { SecretFiles } from '#runtime/secret-files';
import { checkAuthorities } from '#runtime/http/check-authorities';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import { createDispatcher } from '#runtime/outgoing/dispatcher';
import type { RequestRecord, RequestTrace, TraceStep } from '#runtime/request-record';
import type { ProxySettings } from '#lib/connections/proxy';
import { describeRequest, nameOf } from './describe-request.ts';
import { SpanQueue } from './span-queue.ts';
import { SpanSender } from './span-sender.ts';
import { contextHeaders, readContext, replaceContext } from './trace-context.ts';
import type { Log } from '../log.ts';
import type { SpanCounts } from '../span-counts.ts';

export interface Tracing {
  /** Begins the trace of a decoded request. undefined: the request is not traced. */
  begin(req: IncomingMessage, message: DecodedMessage, startedAt: number): RequestTrace | undefined;
  /** Records a span for a request that was refused before decoding. Returns the id of its trace, if it is sampled. */
  refused(requestRecord: RequestRecord, milliseconds: number): string | undefined;
  /** Waits up to `grace` milliseconds for requests, then sends queued spans within two seconds. A later call may shorten the time. */
  close(grace: number): Promise<void>;
}

export interface TracingDeps {
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly files: Pick<SecretFiles, 'read'>;
  readonly proxy: ProxySettings | undefined;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly counts: SpanCounts;
}

type Settings = RunConfig['telemetry_config'];

/** Milliseconds for TCP and TLS. */
const CONNECT_WITHIN = 3_000;
/** Milliseconds to send queued spans at the end. */
const FLUSH_WITHIN = 2_000;
const MAX_VALUE = 1_024;

/** Returns a tracing that sends spans to the configured collector. @throws ConfigError if the settings are unusable */
export function createTracing({ server, telemetry_config: settings }: RunConfig, deps: TracingDeps): Tracing {
  const place = readTracesUrl(settings);
  if ('problem' in place) throw new ConfigError(`telemetry_config: ${place.problem}`);
  const { ca_bundle_file: bundle } = settings;
  // Reports a missing file now, not at the first export.
  headersOf(settings, deps);
  const onlyCaBundle = bundle === undefined ? undefined : checkAuthorities(deps.files.read(bundle), bundle);
  const connections = { onlyCaBundle, proxy: deps.proxy, connectTimeout: CONNECT_WITHIN, connections: 1 };
  const sender = new SpanSender({
    url: place.url,
    headers: () => headersOf(settings, deps),
    dispatcher: createDispatcher(connections),
    log: deps.log,
  });
  const queue = new SpanQueue({ sender, counts: deps.counts });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': settings.serviceName ?? server.name,
      'service.version': settings.serviceVersion ?? deps.version,
      'service.namespace': server.namespace,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(Number(settings.samplingRate)) }),
    spanProcessors: [queue],
    spanLimits: { attributeValueLengthLimit: MAX_VALUE },
  });
  const everywhere = { ...environmentOf(settings.environmentVariables ?? [], deps), ...settings.customAttributes };
  return new Spans(provider.getTracer('vmcp', deps.version), queue, everywhere, settings.useLegacyAttributes);
}

function headersOf({ headers = {}, header_files: secret }: Settings, { files }: TracingDeps): Record<string, string> {
  const read = Object.entries(secret).map(([name, file]) => [name, files.read(file)] as const);
  return { ...headers, ...Object.fromEntries(read) };
}

function environmentOf(names: readonly string[], { environment }: TracingDeps): Attributes {
  return Object.fromEntries(
    names.flatMap((name) => (environment[name] === undefined ? [] : [[`environment.${name}`, environment[name]]])),
  );
}

class Spans implements Tracing {
  readonly #tracer: Tracer;
  readonly #queue: SpanQueue;
  readonly #everywhere: Attributes;
  readonly #useLegacy: boolean;
  readonly #idle = new EventEmitter();
  #inFlight = 0;

  constructor(tracer: Tracer, queue: SpanQueue, everywhere: Attributes, useLegacy: boolean) {
    this.#tracer = tracer;
    this.#queue = queue;
    this.#everywhere = everywhere;
    this.#useLegacy = useLegacy;
  }

  begin(req: IncomingMessage, message: DecodedMessage, startedAt: number): TracedRequest | undefined {
    const from = readContext(req.headers, message);
    const parent = from ? trace.setSpanContext(ROOT_CONTEXT, from) : ROOT_CONTEXT;
    const span = this.#start('request', SpanKind.SERVER, parent, startedAt);
    // An unsampled trace that begins here is dropped; one with a remote parent is propagated.
    if (!span.isRecording() && !from) return undefined;
    this.#inFlight++;
    return new TracedRequest(trace.setSpan(parent, span), {
      start: (name, kind, context) => this.#start(name, kind, context),
      finish: (requestRecord, milliseconds) => {
        this.#end(span, requestRecord, milliseconds);
        if (--this.#inFlight === 0) this.#idle.emit('idle');
      },
    });
  }

  refused(requestRecord: RequestRecord, milliseconds: number): string | undefined {
    // A decoded request without a trace was not sampled.
    if (requestRecord.method !== undefined && requestRecord.req.method === 'POST') return undefined;
    const span = this.#start('request', SpanKind.SERVER, ROOT_CONTEXT, requestRecord.startedAt);
    if (!span.isRecording()) return undefined;
    this.#end(span, requestRecord, milliseconds);
    return span.spanContext().traceId;
  }

  async close(grace: number): Promise<void> {
    if (grace > 0 && this.#inFlight > 0) await settled(once(this.#idle, 'idle'), grace);
    await settled(this.#queue.forceFlush(), FLUSH_WITHIN);
    await this.#queue.shutdown();
  }

  #end(span: Span, requestRecord: RequestRecord, milliseconds: number): void {
    if (!span.isRecording()) return;
    span.updateName(nameOf(requestRecord)).setAttributes(describeRequest(requestRecord, this.#useLegacy));
    if (requestRecord.outcome === 'error' || requestRecord.status >= 500)
      span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(timeOf(requestRecord.startedAt + milliseconds));
  }

  #start(name: string, kind: SpanKind, context: Context, startedAt?: number): Span {
    const attributes = this.#everywhere;
    const startTime = timeOf(startedAt ?? performance.now());
    return this.#tracer.startSpan(name, { kind, attributes, startTime }, context);
  }
}

/** Settles with the work, at the latest after that many milliseconds. */
async function settled(work: Promise<unknown>, within: number): Promise<void> {
  const cancel = new AbortController();
  const late = sleep(within, undefined, { signal: cancel.signal, ref: false }).catch(() => undefined);
  await Promise.race([work, late]);
  cancel.abort();
}

interface Maker extends Pick<RequestTrace, 'finish'> {
  start(name: string, kind: SpanKind, context: Context): Span;
}

class TracedRequest implements RequestTrace {
  readonly id: string;
  readonly #context: Context;
  readonly #maker: Maker;
  readonly finish: RequestTrace['finish'];

  constructor(context: Context, maker: Maker) {
    this.id = trace.getSpanContext(context)?.traceId ?? '';
    this.#context = context;
    this.#maker = maker;
    this.finish = maker.finish;
  }

  begin(name: string): TraceStep {
    return new Step(this.#maker.start(name, SpanKind.INTERNAL, this.#context));
  }

  callBackend(backend: string): TraceStep {
    const span = this.#maker.start(`call ${backend}`, SpanKind.CLIENT, this.#context);
    return new Step(span.setAttribute('vmcp.backend', backend));
  }
}

class Step implements TraceStep {
  readonly #span: Span;
  #isOver = false;

  constructor(span: Span) {
    this.#span = span;
  }

  get headers(): readonly string[] {
    return contextHeaders(this.#span.spanContext());
  }

  readonly inMeta = (body: Buffer): Buffer => replaceContext(body, this.#span.spanContext());

  end(failure?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end(timeOf(performance.now()));
  }
}

/** Converts milliseconds of the monotonic clock to milliseconds since the epoch. */
function timeOf(monotonic: number): number {
  return performance.timeOrigin + monotonic;
}
