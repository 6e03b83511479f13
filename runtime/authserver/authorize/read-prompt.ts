import { OAuthError } from '../errors.ts';

/** What a client wants a person to be asked, whatever is remembered (OpenID Connect Core §3.1.2.1). */
export interface Prompt {
  /** Nothing may be asked. */
  readonly none: boolean;
  readonly login: boolean;
  readonly consent: boolean;
}

/** Unknown values count for nothing. @throws OAuthError `invalid_request` for `none` beside others */
export function readPrompt(text: string | undefined): Prompt {
  const values = new Set(text?.split(' ').filter((value) => value !== ''));
  const none = values.has('none');
  if (none && values.size > 1) throw new OAuthError('invalid_request', 'prompt none must stand alone');
  return { none, login: values.has('login') || values.has('select_account'), consent: values.has('consent') };
}
