import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { HANDSHAKE_TIMEOUT, shareConnections } from '#lib/connections/share-connections';
import { AcquireAborted, Semaphore } from '#lib/limits/semaphore';
import type { Manifest, Snapshot } from '#operator/snapshot';
import { ReviewReader, TooMuch, writeAdmissionReview } from './admission-review.ts';
import { review, type Review } from './review.ts';

/** Private key and certificate chain of the server, PEM. */
export interface ServingPair {
  key: string;
  certificate: string;
}

interface WebhookOptions {
  /** 0 selects a free port. */
  port: number;
  /** Default: all interfaces. */
  host?: string;
  /** The only served path. It cannot be guessed, as answers reveal which Secrets and keys a namespace has. */
  path: () => string | undefined;
  /** Returns a snapshot of a namespace, with the objects that only this manifest names. */
  snapshotFor: (manifest: Manifest, signal: AbortSignal) => Promise<Snapshot>;
  onProblem: (problem: unknown) => void;
  /** Milliseconds after which a resource is admitted unchecked: the API server waits no longer. */
  deadline?: number;
}

export interface WebhookServer {
  port: number;
  /** Uses a new certificate from the next connection on. */
  use(pair: ServingPair): void;
  close(): Promise<void>;
}

/** Concurrent reviews. One slow namespace must not block the others. */
export const REVIEWS = 4;
const REVIEWS_PER_NAMESPACE = 2;
const DEADLINE = 3000;
const REQUEST_TIMEOUT = 10_000;
export const CONNECTIONS = 256;
/** Connections per address: the API server has one address, or a few. */
const OF_ONE_ADDRESS = CONNECTIONS / 2;
const ADMITTED: Review = { allowed: true, warnings: [] };

function answer(response: ServerResponse, status: number, body?: object): void {
  const text = body === undefined ? '' : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

const UNSEEN = 'this resource was admitted without being looked at: see its status';

async function reviewWhole(
  proposal: Parameters<typeof review>[0],
  observed: Promise<Snapshot>,
  signal: AbortSignal,
): Promise<Review> {
  const snapshot = await observed;
  let verdict = review(proposal, snapshot);
  while (!signal.aborted && (await snapshot.policies?.readNoted())) verdict = review(proposal, snapshot);
  return verdict;
}

/** Admits a resource that it cannot check in time, with a warning. The resource's conditions report the faults later. */
async function inTime(
  work: Promise<Review>,
  onProblem: (problem: unknown) => void,
  signal: AbortSignal,
): Promise<Review> {
  try {
    const late = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });
    return await Promise.race([work, late]);
  } catch (problem) {
    onProblem(problem);
    return { allowed: true, warnings: [UNSEEN] };
  }
}

interface Serving extends WebhookOptions {
  reader: ReviewReader;
  reviews: Semaphore;
}

async function handle(request: IncomingMessage, response: ServerResponse, options: Serving): Promise<void> {
  const path = options.path();
  if (path === undefined || request.url?.split('?')[0] !== path) {
    answer(response, 404);
    return;
  }
  if (request.method !== 'POST') {
    answer(response, 405);
    return;
  }
  const signal = AbortSignal.timeout(options.deadline ?? DEADLINE);
  let read: Awaited<ReturnType<ReviewReader['read']>>;
  try {
    read = await options.reader.read(request, signal);
  } catch (problem) {
    refuse(response, problem);
    return;
  }
  const { asked, release } = read;
  let work: Promise<Review> | undefined;
  try {
    work = asked.proposal ? reviewLimited(asked.proposal, options, signal) : Promise.resolve(ADMITTED);
    answer(response, 200, writeAdmissionReview(asked.uid, await inTime(work, options.onProblem, signal)));
  } finally {
    // The work holds the review until it ends, even after the deadline.
    void Promise.allSettled([work]).then(release);
  }
}

/** Answers a request that was not read. The API server then applies its failure policy. */
function refuse(response: ServerResponse, problem: unknown): void {
  const isTooMuch = problem instanceof TooMuch;
  const isBusy = problem instanceof AcquireAborted;
  // The rest of the body stays unread.
  if (isTooMuch || isBusy) response.setHeader('connection', 'close');
  answer(response, isBusy ? 503 : isTooMuch ? 413 : 400);
}

function reviewLimited(
  proposal: Parameters<typeof review>[0],
  { snapshotFor, reviews }: Serving,
  signal: AbortSignal,
): Promise<Review> {
  const { manifest } = proposal;
  return reviews.run({ key: manifest.metadata.namespace, signal }, () =>
    reviewWhole(proposal, snapshotFor(manifest, signal), signal),
  );
}

export async function serveWebhook(pair: ServingPair, options: WebhookOptions): Promise<WebhookServer> {
  const reviews = new Semaphore({ total: REVIEWS, perKey: REVIEWS_PER_NAMESPACE });
  const serving = { ...options, reader: new ReviewReader(), reviews };
  const server = createServer(
    {
      ...{ key: pair.key, cert: pair.certificate, minVersion: 'TLSv1.2' },
      ...{ handshakeTimeout: HANDSHAKE_TIMEOUT, requestTimeout: REQUEST_TIMEOUT },
    },
    (request, response) => {
      handle(request, response, serving).catch((problem: unknown) => {
        options.onProblem(problem);
        response.destroy();
      });
    },
  );
  server.maxConnections = CONNECTIONS;
  shareConnections(server, OF_ONE_ADDRESS);
  server.headersTimeout = REQUEST_TIMEOUT;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    use({ key, certificate }) {
      server.setSecureContext({ key, cert: certificate, minVersion: 'TLSv1.2' });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeIdleConnections();
        setTimeout(() => {
          server.closeAllConnections();
        }, REQUEST_TIMEOUT).unref();
      }),
  };
}
