import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { validatePolicySet } from '#crds/policy/validate';
import type { PolicyReadings, PolicyTexts } from '#operator/world';

/** Sets whose verdicts are kept: more than all workers plan at once. */
const KEPT = 20_000;
/** What a verdict keeps of what was found: a condition shows no more. */
const PROBLEMS = 20;
const LONGEST = 1000;

/**
 * Verdicts on policy sets. A set takes up to seconds to validate, and a group may have hundreds: each is read once, in a turn
 * of its own, so that a Lease is renewed and others are served meanwhile.
 */
export class RememberedPolicies implements PolicyReadings {
  readonly #verdicts = new Map<string, readonly string[]>();
  readonly #noted = new Map<string, PolicyTexts>();
  readonly #validate: (texts: PolicyTexts) => readonly string[];

  constructor(validate = findProblems) {
    this.#validate = validate;
  }

  problemsOf(texts: PolicyTexts): readonly string[] {
    const place = placeOf(texts);
    const verdict = this.#verdicts.get(place);
    if (verdict) return verdict;
    this.#noted.set(place, texts);
    return [];
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

  #keep(place: string, problems: readonly string[]): void {
    const [oldest] = this.#verdicts.keys();
    if (oldest !== undefined && this.#verdicts.size >= KEPT) this.#verdicts.delete(oldest);
    this.#verdicts.set(
      place,
      problems.slice(0, PROBLEMS).map((problem) => problem.slice(0, LONGEST)),
    );
  }
}

function placeOf(texts: PolicyTexts): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64');
}

/** What is wrong with a policy set; empty: nothing. */
export function findProblems(texts: PolicyTexts): readonly string[] {
  const verdict = validatePolicySet(texts);
  return verdict.ok ? [] : verdict.problems;
}
