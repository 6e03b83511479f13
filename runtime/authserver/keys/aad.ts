/** Where sealed rows belong: part of what seals them, so that a row that was moved does not open. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What seals a user's tokens at one provider. */
export function linkAad({ namespace, name, uid }: Place, sub: string, provider: string): string {
  return [namespace, name, uid, sub, provider].join('|');
}

/** What seals the answer to a request that a browser may send again. */
export function answerAad({ namespace, name, uid }: Place, key: string): string {
  return [namespace, name, uid, 'answer', key].join('|');
}

/** What seals the tokens and leg secrets of a login that is not over. */
export function pendingAad({ namespace, name, uid }: Place, loginId: string, provider: string): string {
  return [namespace, name, uid, 'pending', loginId, provider].join('|');
}
