import { findTlsProblem } from '#lib/tls/find-tls-problem';
import { isBlank } from '#crds/parts/primitives';
import { Agent, type Dispatcher, request } from 'undici';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#lib/connections/proxy';
import type { Backend } from '#crds/run-config/backend';
import { ConfigError } from '#runtime/errors';
import { checkAuthorities } from '#runtime/http/check-authorities';
import { readAnswer } from '#runtime/http/read-answer';
import { lastUsable } from '#runtime/last-usable';
import type { Log } from '#runtime/telemetry/log';
import { NoVerdict, readVerdict, type Verdict } from './read-verdict.ts';
import type { Asked } from './render-question.ts';
import { signQuestion } from './sign-question.ts';

type Settings = Backend['webhooks'][number];

const MAX_ANSWER = 64 * 1024;
const CONNECTIONS = 64;
/** Limit of concurrent questions to one webhook. */
const MAX_IN_FLIGHT = 1000;

const CLOSED: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

interface WebhookDeps {
  readonly readSecret: (file: string) => string;
  readonly proxy: ProxySettings | undefined;
  readonly log: Log;
}

interface Question extends Asked {
  readonly body: string;
}

/** Calls one webhook over persistent connections. */
export class Webhook {
  readonly name: string;
  readonly failurePolicy: Settings['failure_policy'];
  readonly #settings: Settings;
  readonly #secret: () => string | undefined;
  readonly #dispatcher: Dispatcher;
  #inFlight = 0;

  /** @throws ConfigError if a file is unreadable or empty */
  constructor(settings: Settings, deps: WebhookDeps) {
    this.name = settings.name;
    this.failurePolicy = settings.failure_policy;
    this.#settings = settings;
    this.#secret = followSecret(settings, deps);
    this.#dispatcher = createConnections(settings, deps);
  }

  /** @throws NoVerdict, or the connection's error */
  async ask(question: Question): Promise<Verdict> {
    if (this.#inFlight >= MAX_IN_FLIGHT) throw new NoVerdict('too many questions wait for it');
    this.#inFlight++;
    try {
      const signal = AbortSignal.timeout(this.#settings.timeout);
      // An idle connection may be closed as the question is sent. The retry has the same id.
      const answer = await this.#send(question, signal).catch((error: unknown) => {
        if (signal.aborted || !CLOSED.has(codeOf(error))) throw error;
        return this.#send(question, signal);
      });
      return readVerdict(answer, question.uid);
    } finally {
      this.#inFlight--;
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #send({ body, at }: Question, signal: AbortSignal): Promise<{ status: number; body: string }> {
    const secret = this.#secret();
    const signature = secret === undefined ? {} : signQuestion(body, secret, at);
    const { statusCode, body: answer } = await request(this.#settings.url, {
      method: 'POST',
      dispatcher: this.#dispatcher,
      signal,
      headers: { 'content-type': 'application/json', accept: 'application/json', ...signature },
      body,
    });
    return { status: statusCode, body: await readAnswer(answer as AsyncIterable<Buffer>, MAX_ANSWER) };
  }
}

/** An emptied file does not replace the former secret, so that requests stay signed. @throws ConfigError for an empty file */
function followSecret({ hmac_secret_file: file, name }: Settings, { readSecret, log }: WebhookDeps) {
  if (file === undefined) return () => undefined;
  return lastUsable({
    read: () => readSecret(file),
    check(secret) {
      if (isBlank(secret)) throw new ConfigError(`webhook ${name}: ${file} is empty`);
    },
    warn: (reason) =>
      log.warn('changed secret of a webhook cannot be used; the former stays', { webhook: name, reason }),
  });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** @throws ConfigError for unusable authorities, certificate or key */
function createConnections({ name, timeout, tls }: Settings, { readSecret, proxy }: WebhookDeps): Dispatcher {
  const file = (name: string | undefined) => (name === undefined ? undefined : readSecret(name));
  const { ca_bundle_file: bundle, client_cert_file: certificate, client_key_file: privateKey } = tls ?? {};
  const ca = bundle === undefined ? undefined : checkAuthorities(readSecret(bundle), `webhook ${name}: ${bundle}`);
  const [cert, key] = [file(certificate), file(privateKey)];
  const connect = {
    timeout,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tls?.insecure_skip_verify ? { rejectUnauthorized: false } : {}),
  };
  const problem = findTlsProblem({ ca, cert, key });
  if (problem !== undefined)
    throw new ConfigError(`webhook ${name}: its client certificate cannot be used: ${problem}`);
  const options = { connections: CONNECTIONS };
  return isProxied(proxy) ? createProxyDispatcher(connect, proxy, options) : new Agent({ ...options, connect });
}
