import type { IncomingMessage } from 'node:http';
import { Semaphore } from '#lib/limits/semaphore';
import { excessOf, weightOf } from '#operator/json-amounts';
import { BOUNDS } from '#operator/memory-bounds';
import { type Asked, readAdmissionReview } from './admission-review.ts';

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
