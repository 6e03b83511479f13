import { OAuthError } from '../errors.ts';

/** Pages that a client demands even if the answer is remembered (OpenID Connect Core §3.1.2.1). */
export interface Prompt {
  readonly none: boolean;
  readonly login: boolean;
  readonly consent: boolean;
}

/** Reads `prompt`; unknown values are ignored. @throws OAuthError `invalid_request` for `none` beside other values */
export function readPrompt(text: string | undefined): Prompt {
  const values = new Set(text?.split(' ').filter((value) => value !== ''));
  const none = values.has('none');
  if (none && values.size > 1) throw new OAuthError('invalid_request', 'prompt none must stand alone');
  return { none, login: values.has('login') || values.has('select_account'), consent: values.has('consent') };
}
