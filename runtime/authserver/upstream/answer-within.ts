import { UpstreamUnavailable } from './provider.ts';

/** The provider did not answer in time. */
export class TooLate extends UpstreamUnavailable {}

/** Waits for an answer at most `milliseconds`. The caller handles a late answer. @throws TooLate */
export async function answerWithin<Value>(answer: Promise<Value>, milliseconds: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooLate(`no answer within ${milliseconds} ms`)), milliseconds).unref();
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
