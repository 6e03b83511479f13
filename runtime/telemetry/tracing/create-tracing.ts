import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
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
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { readTracesUrl } from '#crds/parts/otlp-endpoint';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { TracingDeps } from '#runtime/telemetry/follow-tracing';
import type { RequestTrace, TraceStep, Tracing } from '#runtime/telemetry/request-trace';
import type { Trail } from '#runtime/trail';
import { describeRequest, nameOf } from './describe-request.ts';
import { SpanQueue } from './span-queue.ts';
import { contextHeaders, readContext, replaceContext } from './trace-context.ts';

type Settings = RunConfig['telemetry_config'];

/** Milliseconds for one export, its second tries included. */
const EXPORT_WITHIN = 5_000;
const MAX_VALUE = 1_024;

/** Sends spans to the collector of the configuration. @throws ConfigError where it cannot be reached as it is written */
export function createTracing({ server, telemetry_config: settings }: RunConfig, deps: TracingDeps): Tracing {
  const place = readTracesUrl(settings);
  if ('problem' in place) throw new ConfigError(`telemetry_config: ${place.problem}`);
  // What is missing is found now, not at the first export.
  headersOf(settings, deps);
  const exporter = new OTLPTraceExporter({
    url: place.url,
    // Read anew for each export: a secret may have changed.
    headers: () => Promise.resolve(headersOf(settings, deps)),
    timeoutMillis: EXPORT_WITHIN,
    concurrencyLimit: 1,
  });
  const queue = new SpanQueue({ exporter, counts: deps.counts });
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
    // Nobody follows a trace that begins here and is not kept; one that began elsewhere is handed on.
    if (!span.isRecording() && !from) return undefined;
    return new TracedRequest(span, trace.setSpan(parent, span), (name, kind, context) =>
      this.#start(name, kind, context),
    );
  }

  finished(trail: Trail, milliseconds: number): void {
    const span = trail.trace === undefined ? this.#refused(trail) : spanOf(trail.trace);
    if (!span?.isRecording()) return;
    span.updateName(nameOf(trail)).setAttributes(describeRequest(trail, this.#useLegacy));
    if (trail.outcome === 'error' || trail.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(timeOf(trail.startedAt + milliseconds));
  }

  async close(within: number): Promise<void> {
    const timeout = new Promise<void>((resolve) => void setTimeout(resolve, within).unref());
    await Promise.race([this.#queue.forceFlush(), timeout]);
    await Promise.race([this.#queue.shutdown(), timeout]);
  }

  /** It did not come as far as a message. */
  #refused({ req, startedAt, method }: Trail): Span | undefined {
    // A request that was read and has no trace was not chosen.
    if (method !== undefined && req.method === 'POST') return undefined;
    return this.#start('request', SpanKind.SERVER, ROOT_CONTEXT, startedAt);
  }

  #start(name: string, kind: SpanKind, context: Context, startedAt?: number): Span {
    const attributes = this.#everywhere;
    const startTime = timeOf(startedAt ?? performance.now());
    return this.#tracer.startSpan(name, { kind, attributes, startTime }, context);
  }
}

type Start = (name: string, kind: SpanKind, context: Context) => Span;

class TracedRequest implements RequestTrace {
  readonly span: Span;
  readonly #context: Context;
  readonly #start: Start;

  constructor(span: Span, context: Context, start: Start) {
    this.span = span;
    this.#context = context;
    this.#start = start;
  }

  begin(name: string): TraceStep {
    return new Step(this.#start(name, SpanKind.INTERNAL, this.#context));
  }

  callBackend(backend: string): TraceStep {
    const span = this.#start(`call ${backend}`, SpanKind.CLIENT, this.#context);
    return new Step(span.setAttribute('vmcp.backend', backend));
  }
}

function spanOf(traced: RequestTrace): Span | undefined {
  return traced instanceof TracedRequest ? traced.span : undefined;
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

/** Milliseconds since the epoch, of milliseconds of the monotonic clock. */
function timeOf(monotonic: number): number {
  return performance.timeOrigin + monotonic;
}
