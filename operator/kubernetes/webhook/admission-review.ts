import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { Semaphore } from '#lib/limits/semaphore';
import { excessOf, weightOf } from '#operator/json-amounts';
import { BOUNDS } from '#operator/memory-bounds';
import { KINDS, type Manifest } from '#operator/snapshot';
import { cutDepth } from '../watch/cut-depth.ts';
import type { Proposal, Review } from './review.ts';

const texts = z.record(z.string(), z.string()).optional();

const Resource = z.object({
  apiVersion: z.string(),
  kind: z.enum(KINDS),
  metadata: z.object({
    name: z.string().optional(),
    namespace: z.string().optional(),
    uid: z.string().optional(),
    generation: z.int().optional(),
    creationTimestamp: z.string().nullish(),
    deletionTimestamp: z.string().nullish(),
    labels: texts,
    annotations: texts,
  }),
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});

/** The fields that vmcp reads of an AdmissionReview (admission.k8s.io/v1). */
const AdmissionReview = z.object({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: z.object({
    uid: z.string().min(1).max(256),
    name: z.string().optional(),
    namespace: z.string().min(1).max(63),
    operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
    object: Resource.nullish(),
    oldObject: z.unknown().optional(),
  }),
});

/** A request of the API server. Without `proposal`, there is nothing to check. */
export interface Asked {
  uid: string;
  namespace: string;
  proposal: Proposal | undefined;
}

/** Converts a resource. A new one has no uid yet and gets a temporary one, which the planner writes into discarded owner references. */
function manifestOf(resource: z.infer<typeof Resource>, name: string | undefined, namespace: string): Manifest {
  const { apiVersion, kind, spec, status, metadata } = resource;
  const { labels, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name ?? (name === undefined || name === '' ? 'unnamed' : name),
      namespace,
      uid: metadata.uid ?? 'not-made-yet',
      ...(metadata.generation !== undefined && { generation: metadata.generation }),
      ...(typeof metadata.creationTimestamp === 'string' && { creationTimestamp: metadata.creationTimestamp }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec,
    status,
  };
}

function readJson(body: string): unknown {
  const value: unknown = JSON.parse(body);
  return typeof value === 'object' && value !== null ? cutDepth(value) : value;
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Reads the body of a request. @throws ZodError or SyntaxError for an invalid body */
export function readAdmissionReview(body: string): Asked {
  const { uid, name, namespace, operation, object, oldObject } = AdmissionReview.parse(readJson(body)).request;
  const nothing = { uid, namespace, proposal: undefined };
  const writes = operation === 'CREATE' || operation === 'UPDATE';
  // Skips resources that are being removed, so that finalizers can be removed, and changes outside of the spec.
  if (!writes || !object || object.metadata.deletionTimestamp) return nothing;
  const manifest = manifestOf(object, name, namespace);
  const old = Resource.safeParse(oldObject);
  if (!old.success) return { uid, namespace, proposal: { manifest } };
  if (same(old.data.spec, object.spec)) return nothing;
  return { uid, namespace, proposal: { manifest, former: manifestOf(old.data, name, namespace) } };
}

export function writeAdmissionReview(uid: string, { allowed, message, warnings }: Review): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(message !== undefined && { status: { message, reason: 'Invalid', code: 422 } }),
      ...(warnings.length > 0 && { warnings }),
    },
  };
}

const { body: LONGEST_BODY, bodies: BODIES, parsed: PARSED, short: SHORT } = BOUNDS.webhook;
/** Most values of a review, which contains a resource twice, each time with its managed fields. */
const MOST_VALUES = 100_000;

/** A body exceeds its bounds. */
export class TooMuch extends Error {}

/** A parsed review. Call `release` when nothing uses it any more. */
interface ReviewInMemory {
  asked: Asked;
  release: () => void;
}

/** Reads the bodies of reviews, within bounds for all texts and for all parsed reviews. */
export class ReviewReader {
  readonly #bodies = new Semaphore({ total: BODIES });
  readonly #parsed = new Semaphore({ total: PARSED });

  /** @throws TooMuch; AcquireAborted if other reviews take the memory until `signal`; ZodError or SyntaxError for an invalid body */
  async read(request: IncomingMessage, signal: AbortSignal): Promise<ReviewInMemory> {
    const text = await this.#bodies.run({ weight: lengthOf(request), signal }, () => readBody(request));
    // Short texts of many values take more memory than their length.
    const weight = weightOf(text);
    const release = await this.#parsed.acquire({ weight: weight <= SHORT ? 0 : Math.min(weight, PARSED), signal });
    try {
      return { asked: readAdmissionReview(text), release };
    } catch (problem) {
      release();
      throw problem;
    }
  }
}

/** Returns the bytes that a request acquires before its body is read; 0 for a short body. */
function lengthOf({ headers }: IncomingMessage): number {
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : LONGEST_BODY;
  return length <= SHORT ? 0 : Math.min(length, LONGEST_BODY);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > LONGEST_BODY) throw new TooMuch();
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString('utf8');
  if (excessOf(text, { values: MOST_VALUES }) !== undefined) throw new TooMuch();
  return text;
}
