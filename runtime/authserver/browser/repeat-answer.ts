import { setTimeout as sleep } from 'node:timers/promises';
import { SealBroken, UnknownSecret, type SecretRing } from '#runtime/keys/secret-ring';
import type { Answer } from '../handler.ts';
import { hashId } from '../ids.ts';
import { answerAad, type ServerIdentity } from '../keys/aad.ts';
import { PageError } from '../page-error.ts';
import { finishedPage } from '../pages/finished-page.ts';
import type { PageFrame } from '../pages/page.ts';
import type { AnswerRow } from '../storage/rows.ts';
import { StorageUnavailable, type AuthStorage } from '../storage/storage.ts';
import type { Browser } from './browsers.ts';

/** Request that a browser may send twice: by a double click, a reload, or the back button. */
interface RepeatedRequest {
  readonly endpoint: string;
  readonly browser: Pick<Browser, 'id' | 'isNew'>;
  /** All input that determines the answer: the fields of a form, or the state of a callback. */
  readonly content: readonly (string | readonly [string, string])[];
  /** Part of the request that may differ for 10 s: a double click at a provider produces two codes. */
  readonly variant?: string;
  /** Milliseconds in which a repeated request gets the same answer. */
  readonly keptFor?: number;
}

/** Runs a request once, even when several replicas receive it at the same time. Repeats get the first answer. */
export type RepeatAnswer = (request: RepeatedRequest, act: () => Promise<Answer>) => Promise<Answer>;

interface RepeatSettings {
  readonly storage: AuthStorage;
  readonly secrets: Pick<SecretRing, 'seal' | 'open'>;
  readonly place: ServerIdentity;
  readonly frame: PageFrame;
  readonly limits: { readonly pending_logins: number };
  readonly now: () => number;
}

const KEPT_FOR = 30_000;
const OTHER_VARIANT_FOR = 10_000;
/** Longer than any login step, because requests to providers have deadlines. */
const LEASE = 60_000;
const MAX_WAIT = 20_000;
const SHORTEST_PAUSE = 20;
const LONGEST_PAUSE = 250;
/** Maximum length of a sealed answer. Longer answers are not stored. */
const MAX_SEALED = 16_384;

/** Seals each answer under a hash of the browser's cookie and of the whole request, so a changed request never finds it. */
export function createRepeatAnswer(settings: RepeatSettings): RepeatAnswer {
  const { storage } = settings;
  return async ({ endpoint, browser, content, variant, keptFor = KEPT_FOR }, act) => {
    // Only the cookie identifies the browser.
    if (browser.isNew) return act();
    const key = hashId(JSON.stringify([endpoint, browser.id, content]));
    let waited = 0;
    for (let pause = SHORTEST_PAUSE; waited <= MAX_WAIT; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      const lease = await storage.lease(`answer:${key}`, LEASE);
      try {
        // The former holder of the lease has stored its answer before it released the lease.
        const answer = await readAnswer(settings, key, variant);
        if (answer !== undefined) return answer;
        if (lease !== undefined) return await keepAnswer(settings, { key, variant, lifespan: keptFor }, await act());
      } finally {
        // A lease that is not released expires.
        await lease?.release().catch(() => undefined);
      }
      await sleep(pause);
      waited += pause;
    }
    throw stillInFlight();
  };
}

async function readAnswer(
  { storage, secrets, place, frame, now }: RepeatSettings,
  key: string,
  variant: string | undefined,
): Promise<Answer | undefined> {
  const row = await storage.get('answer', key);
  if (row === undefined) return undefined;
  if (row.variant !== digest(variant) && now() - row.made_at > OTHER_VARIANT_FOR) return undefined;
  // RFC 6749 §4.1.2: a client that got a used code again would lose the session.
  if (row.code !== undefined && !(await storage.isCodeUnused(row.code))) return finishedPage(frame);
  try {
    return JSON.parse(secrets.open(row.sealed, answerAad(place, key)).plain) as Answer;
  } catch (error) {
    if (error instanceof UnknownSecret || error instanceof SealBroken) return undefined;
    throw error;
  }
}

/** Stores an answer. When the storage fails, the answer is still returned once, because the request has taken effect. */
async function keepAnswer(
  { storage, secrets, place, limits, now }: RepeatSettings,
  { key, variant, lifespan }: { readonly key: string; readonly variant: string | undefined; readonly lifespan: number },
  answer: Answer,
): Promise<Answer> {
  const { status, headers, body, code, changedNothing } = answer;
  if (changedNothing) return answer;
  const sealed = secrets.seal(JSON.stringify({ status, headers, body }), answerAad(place, key));
  if (sealed.length > MAX_SEALED) return answer;
  const row: AnswerRow = { sealed, code, variant: digest(variant), made_at: now() };
  try {
    await storage.put('answer', key, row, { lifespan, capacity: limits.pending_logins });
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
  }
  return answer;
}

const digest = (variant: string | undefined) => (variant === undefined ? undefined : hashId(variant));

function stillInFlight(): PageError {
  return new PageError({
    status: 503,
    title: 'This step is still in progress',
    text: 'It was sent twice, and the first one has no answer yet. Start again from your application.',
  });
}
