import { Agent, request, type buildConnector, type Dispatcher } from 'undici';
import { isLoopbackHost, privateAddressIn } from '#crds/parts/private-address';
import { AddressRefused, publicLookup } from '#lib/connections/public-lookup';
import { AnswerTooLarge, faultOf, readAnswer } from '#runtime/http/read-answer';
import { trustAlso } from '#runtime/http/trust-also';

type ConnectOptions = buildConnector.BuildOptions;
export type DispatcherFor = (connect: ConnectOptions) => Dispatcher;

export interface JsonClientRules {
  readonly allowPrivateAddress: boolean;
  readonly allowHttp: boolean;
  /** Returns the PEM of certificate authorities to trust. Undefined: the system's. */
  readonly readCaBundle: (() => Promise<string>) | undefined;
  /** Milliseconds for a whole call including name lookup and body. */
  readonly deadline: number;
  /** Limit of the answer; default half a MiB. */
  readonly maxBytes?: number;
  readonly dispatcherFor: DispatcherFor | undefined;
}

/** Client of an identity provider. It limits time and size, follows no redirect, and calls only allowed addresses. */
export interface JsonClient {
  /** @throws IdpUnavailable */
  get(url: string, headers?: Record<string, string>): Promise<unknown>;
  /** @throws IdpUnavailable */
  postForm(url: string, form: Record<string, string>, headers: Record<string, string>): Promise<unknown>;
  /** Closes the client. Pending calls finish; later calls fail. */
  close(): void;
}

/** An unusable answer of an identity provider. The message names the host and the remedy, and contains no secret. */
export class IdpUnavailable extends Error {
  override readonly name = 'IdpUnavailable';
}
/** The provider answered without the document. Another URL may have it. */
export class NotFound extends IdpUnavailable {}

const MAX_BYTES = 524_288;
const CONNECT_TIMEOUT = 3_000;

/** Returns a client. It opens connections on first use and keeps them until `close`. */
export function createJsonClient(rules: JsonClientRules): JsonClient {
  let dispatcher: Promise<Dispatcher> | undefined;
  let closed = false;
  const open = () => {
    if (closed) throw new IdpUnavailable('the connections are closed');
    return (dispatcher ??= openDispatcher(rules).catch((error: unknown) => {
      dispatcher = undefined;
      throw error;
    }));
  };
  const call = async (url: string, options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>) => {
    const target = checkTarget(url, rules);
    try {
      const signal = AbortSignal.timeout(rules.deadline);
      const answer = await request(target, { ...options, dispatcher: await open(), signal });
      return await readJson(answer, target, rules.maxBytes ?? MAX_BYTES);
    } catch (error) {
      if (error instanceof IdpUnavailable) throw error;
      throw new IdpUnavailable(`${target.host} cannot be called: ${reasonOf(error)}`, { cause: error });
    }
  };
  return {
    get: (url, headers) => call(url, { method: 'GET', headers: { accept: 'application/json', ...headers } }),
    postForm: (url, form, headers) =>
      call(url, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(form).toString(),
      }),
    close: () => {
      closed = true;
      // Pending calls finish within their deadline.
      dispatcher?.then((opened) => opened.close()).catch(() => undefined);
    },
  };
}

async function openDispatcher(rules: JsonClientRules): Promise<Dispatcher> {
  const ca = await rules.readCaBundle?.();
  const connect = {
    timeout: CONNECT_TIMEOUT,
    allowH2: false,
    ...trustAlso(ca),
    ...(!rules.allowPrivateAddress && { lookup: publicLookup() }),
  } as ConnectOptions;
  return (rules.dispatcherFor ?? ((options) => new Agent({ connect: options, connections: 16 })))(connect);
}

/** A literal address skips the name lookup with its check. Plain http is allowed on loopback, or if configured. */
function checkTarget(url: string, rules: JsonClientRules): URL {
  const target = new URL(url);
  const onMachine = isLoopbackHost(target.hostname);
  if (target.protocol !== 'https:' && !(target.protocol === 'http:' && (rules.allowHttp || onMachine))) {
    throw new IdpUnavailable(`${target.host} is not called over plain http; set insecureAllowHTTP to allow it`);
  }
  if (!rules.allowPrivateAddress && privateAddressIn(url) !== undefined) {
    throw new IdpUnavailable(`${target.host} is a private address; set jwksAllowPrivateIP to allow it`);
  }
  return target;
}

async function readJson(answer: Dispatcher.ResponseData, target: URL, maxBytes: number): Promise<unknown> {
  const { statusCode, body } = answer;
  if (statusCode !== 200) {
    await body.dump();
    throw new NotFound(`${target.host}${target.pathname} answered ${statusCode}`);
  }
  const text = await readAnswer(body as AsyncIterable<Buffer>, maxBytes);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new NotFound(`${target.host}${target.pathname} did not answer JSON`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof AddressRefused) return `${error.message}; set jwksAllowPrivateIP to allow it`;
  if (error instanceof AnswerTooLarge) return error.message;
  const fault = faultOf(error);
  return fault === 'TimeoutError' ? 'no answer in time' : fault;
}
