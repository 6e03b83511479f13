import { isIP } from 'node:net';
import { Agent, request, type buildConnector, type Dispatcher } from 'undici';
import { createCheckedProxyDispatcher } from '#lib/connections/checked-proxy';
import { isPrivateAddress } from '#crds/parts/private-address';
import { AddressRefused, publicLookup } from '#lib/connections/public-lookup';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#lib/connections/proxy';
import { urlIsSecure } from '#crds/parts/oidc-config';
import { UpstreamUnavailable } from '#runtime/authserver/upstream/provider';
import type { UpstreamAnswer, UpstreamCall } from '#runtime/authserver/upstream/upstream-http';
import { faultOf, readAnswer } from '#runtime/http/read-answer';
import { trustAlso } from '#runtime/http/trust-also';

const DEADLINE = 10_000;
const CONNECT_TIMEOUT = 3_000;
const MAX_BYTES = 524_288;

interface RemoteHttpOptions {
  readonly name: string;
  /** Configured URLs, whose hosts may have private addresses. */
  readonly written: readonly string[];
  readonly ca: string | undefined;
  readonly proxy: ProxySettings | undefined;
}

export interface RemoteHttp {
  /** Accepts any status. @throws UpstreamUnavailable */
  call(url: string, call: UpstreamCall): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

/** A remote server's URLs must be https or loopback; private addresses need a configured host. No redirects; limited time and size. */
export function createRemoteHttp({ name, written, ca, proxy }: RemoteHttpOptions): RemoteHttp {
  const hosts = new Set(written.map((url) => new URL(url).hostname));
  const connect = { timeout: CONNECT_TIMEOUT, ...trustAlso(ca) };
  // A code or refresh token must not be sent twice because an idle connection was just closed.
  const pool = { pipelining: 0 };
  const known = isProxied(proxy) ? createProxyDispatcher(connect, proxy, pool) : new Agent({ ...pool, connect });
  let strangers: Dispatcher | undefined;
  const stranger = () => (strangers ??= publicDispatcher(connect, proxy));

  async function send(target: URL, { method, headers, body }: UpstreamCall): Promise<UpstreamAnswer> {
    const signal = AbortSignal.timeout(DEADLINE);
    const dispatcher = hosts.has(target.hostname) ? known : stranger();
    const options = { method, signal, dispatcher, headers: { 'user-agent': 'vmcp', ...headers } };
    const answer = await request(target, { ...options, ...(body !== undefined && { body }) });
    // An MCP server may answer with an endless stream, but the challenge is in the headers.
    const isStream = String(answer.headers['content-type']).startsWith('text/event-stream');
    // The body reports its own end as an error, which ends the process if nothing listens.
    if (isStream) answer.body.on('error', () => undefined).destroy();
    const text = isStream ? '' : await readAnswer(answer.body as AsyncIterable<Buffer>, MAX_BYTES);
    return { status: answer.statusCode, headers: answer.headers, text };
  }

  return {
    async call(url, call) {
      const target = checkTarget(name, url, hosts);
      try {
        return await send(target, call);
      } catch (error) {
        throw new UpstreamUnavailable(`${name}: ${target.host} cannot be called: ${reasonOf(error)}`);
      }
    },
    async close() {
      await Promise.all([known.close(), strangers?.close()]);
    },
  };
}

function publicDispatcher(connect: buildConnector.BuildOptions, proxy: ProxySettings | undefined): Dispatcher {
  const checked = { ...connect, lookup: publicLookup() } as buildConnector.BuildOptions;
  return isProxied(proxy)
    ? createCheckedProxyDispatcher(checked, proxy)
    : new Agent({ pipelining: 0, connect: checked });
}

/** Checks a URL's scheme and literal address: a literal address skips the name lookup with its check. */
function checkTarget(name: string, url: string, hosts: ReadonlySet<string>): URL {
  const target = URL.parse(url);
  const refuse = (what: string): never => {
    throw new UpstreamUnavailable(`${name}: ${what}`, { answered: true });
  };
  if (target === null) return refuse('it names an endpoint that is no URL');
  if (!urlIsSecure.holds(target.href)) return refuse(`${target.host} is not called over ${target.protocol}`);
  const address = target.hostname.replace(/^\[|\]$/g, '');
  if (!hosts.has(target.hostname) && isIP(address) !== 0 && isPrivateAddress(address)) {
    return refuse(`${target.host} is a private address that nobody wrote: ${REMEDY}`);
  }
  return target;
}

const REMEDY = 'write issuer, authorizeUrl or tokenUrl in remoteAuth if it is to be called';

function reasonOf(error: unknown): string {
  if (error instanceof AddressRefused) return `${error.message} that nobody wrote: ${REMEDY}`;
  const fault = faultOf(error);
  return fault === 'TimeoutError' ? 'no answer in time' : fault;
}
