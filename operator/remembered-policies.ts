import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type PolicyVerdict, readPolicies } from '#crds/policy/policy-verdict';
import type { PolicyReadings, PolicyTexts } from '#operator/snapshot';

/** Cached verdicts: more than all workers plan at once. */
const KEPT = 20_000;
/** Most problems per verdict: a condition shows no more. */
const PROBLEMS = 20;
const LONGEST = 1000;
const UNREAD: PolicyVerdict = { problems: [], warnings: [], readsCaller: false, namesAnonymous: false, loginReads: [] };

/** Reads each set once, in an event-loop turn of its own: validation can take seconds, and Lease renewals run in between. */
export class RememberedPolicies implements PolicyReadings {
  readonly #verdicts = new Map<string, PolicyVerdict>();
  readonly #noted = new Map<string, PolicyTexts>();
  readonly #validate: (texts: PolicyTexts) => PolicyVerdict;

  constructor(validate = readPolicies) {
    this.#validate = validate;
  }

  verdictOf(texts: PolicyTexts): PolicyVerdict {
    const place = digestOf(texts);
    const verdict = this.#verdicts.get(place);
    if (verdict) return verdict;
    this.#noted.set(place, texts);
    return UNREAD;
  }

  async readNoted(): Promise<boolean> {
    const noted = [...this.#noted];
    this.#noted.clear();
    for (const [place, texts] of noted) {
      if (this.#verdicts.has(place)) continue;
      await nextTurn();
      this.#keep(place, this.#validate(texts));
    }
    return noted.length > 0;
  }

  #keep(place: string, { problems, warnings, loginReads, ...flags }: PolicyVerdict): void {
    const [oldest] = this.#verdicts.keys();
    if (oldest !== undefined && this.#verdicts.size >= KEPT) this.#verdicts.delete(oldest);
    const shortened = (texts: readonly string[]) => texts.slice(0, PROBLEMS).map((text) => text.slice(0, LONGEST));
    const [told, doubts, reads] = [shortened(problems), shortened(warnings), shortened(loginReads)];
    this.#verdicts.set(place, { problems: told, warnings: doubts, loginReads: reads, ...flags });
  }
}

function digestOf(texts: PolicyTexts): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64');
}
