/** Object that sealed rows belong to. It is part of the seal, so a row that was moved does not open. */
export interface ServerIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export function linkAad({ namespace, name, uid }: ServerIdentity, sub: string, provider: string): string {
  return [namespace, name, uid, sub, provider].join('|');
}

export function answerAad({ namespace, name, uid }: ServerIdentity, key: string): string {
  return [namespace, name, uid, 'answer', key].join('|');
}

export function pendingAad({ namespace, name, uid }: ServerIdentity, loginId: string, provider: string): string {
  return [namespace, name, uid, 'pending', loginId, provider].join('|');
}
