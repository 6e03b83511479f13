import { RequestError } from '#runtime/errors';

const TEXTS = {
  aws_no_subject: 'needs a signed-in caller, and this call has no valid sign-in; sign in again',
  aws_no_role: 'gives you no role; an administrator can map one to you',
  aws_sts_refused: 'refused to let you assume your role; you may lack access to it',
  aws_sts_unavailable: 'cannot be reached or is failing; try again later',
  aws_sts_busy: 'has too many requests waiting; try again later',
  aws_sts_invalid: 'gave an answer that cannot be used; an administrator has to look at it',
} as const;

export type AwsErrorCode = keyof typeof TEXTS;

/** Returns an error of this call alone, at HTTP 200. The reason is the cause, which is logged and never sent. */
export function awsError(code: AwsErrorCode, backend: string, cause: unknown): RequestError {
  const text = `The AWS account of backend ${backend} ${TEXTS[code]}.`;
  return new RequestError(
    { status: 200, code, text, rpc: { code: -32603, data: { reason: code, backend } } },
    { cause },
  );
}
