import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, request } from 'undici';
import { urlIsSecure } from '#crds/parts/oidc-config';
import { checkAuthorities } from '#runtime/http/check-authorities';
import { faultOf, readAnswer } from '#runtime/http/read-answer';
import { lastUsable } from '#runtime/last-usable';
import { createDispatcher } from '#runtime/outgoing/dispatcher';
import type { ProviderDeps } from './provider-deps.ts';
import { UpstreamUnavailable } from './provider.ts';

const DEADLINE = 10_000;
const CONNECT_TIMEOUT = 3_000;
const CONNECTIONS = 64;
const MAX_BYTES = 524_288;

export interface UpstreamCall {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** HTTP client for one provider: https or loopback, limited time and size, no redirects. */
export interface UpstreamHttp {
  /** Sends a call and returns an answer of any status. @throws UpstreamUnavailable */
  call(url: string, call: UpstreamCall): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

type Deps = Pick<ProviderDeps, 'allowHttp' | 'readSecret' | 'proxy' | 'deadline' | 'log'> & {
  readonly name: string;
  readonly caFile: string | undefined;
};

/** Creates the HTTP client of a provider. @throws ConfigError when the CA bundle cannot be read or has no certificate */
export function createUpstreamHttp(deps: Deps): UpstreamHttp {
  const readCaBundle = followCaBundle(deps);
  let caBundle = readCaBundle();
  let dispatcher = openDispatcher(deps, caBundle);

  function current(): Dispatcher {
    const latest = readCaBundle();
    if (latest === caBundle) return dispatcher;
    void dispatcher.close();
    caBundle = latest;
    dispatcher = openDispatcher(deps, latest);
    return dispatcher;
  }

  return {
    async call(url, { method, headers, body }) {
      const target = checkTarget(url, deps);
      const signal = AbortSignal.timeout(deps.deadline ?? DEADLINE);
      const sent = { 'user-agent': 'vmcp', ...headers };
      try {
        const answer = await request(target, {
          method,
          headers: sent,
          signal,
          dispatcher: current(),
          ...(body !== undefined && { body }),
        });
        return { status: answer.statusCode, headers: answer.headers, text: await readAnswer(answer.body, MAX_BYTES) };
      } catch (error) {
        const reason = signal.aborted ? 'no answer in time' : faultOf(error);
        throw new UpstreamUnavailable(`${deps.name}: ${target.host} cannot be called: ${reason}`);
      }
    },
    close: () => dispatcher.close(),
  };
}

/** Endpoints from a discovery document are trusted no more than the configuration. */
function checkTarget(url: string, { name, allowHttp }: Deps): URL {
  const target = URL.parse(url);
  if (target === null)
    throw new UpstreamUnavailable(`${name}: it names an endpoint that is no URL`, { answered: true });
  if (isAllowed(target.href, allowHttp)) return target;
  throw new UpstreamUnavailable(`${name}: ${target.host} is not called over ${target.protocol}`, { answered: true });
}

function isAllowed(url: string, allowHttp: boolean): boolean {
  return urlIsSecure.holds(url) || (allowHttp && url.startsWith('http://'));
}

/** Returns the CA bundle. A bundle without a certificate does not replace the former one. @throws ConfigError */
function followCaBundle({ caFile, readSecret, name, log }: Deps): () => string | undefined {
  if (caFile === undefined) return () => undefined;
  return lastUsable({
    read: () => readSecret(caFile),
    check: (pem) => checkAuthorities(pem, `upstream ${name}: ${caFile}`),
    warn: (reason) =>
      log.warn('changed CA bundle of a provider cannot be used; the former stays', { provider: name, reason }),
  });
}

function openDispatcher({ proxy }: Deps, caBundle: string | undefined): Dispatcher {
  return createDispatcher({
    caBundle,
    proxy,
    connectTimeout: CONNECT_TIMEOUT,
    connections: CONNECTIONS,
    // HTTP keep-alive is off: a closed idle connection would make the client resend a code or refresh token.
    keepAlive: false,
  });
}
