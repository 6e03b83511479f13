import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { NoAnswer } from './ask.ts';

/** The provider at which the caller has to log in before the backend can be asked; undefined: it failed for another reason. */
export function neededLogin(error: unknown): string | undefined {
  const reason = error instanceof NoAnswer ? error.failure.error : error;
  return reason instanceof LoginNeeded ? reason.provider : undefined;
}
