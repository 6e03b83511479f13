import { UpstreamUnavailable } from './provider.ts';

/** No answer in time. */
export class TooLate extends UpstreamUnavailable {}

/** What a provider answers within so many milliseconds; what comes later is the caller's to take. @throws TooLate */
export async function answerWithin<Value>(answer: Promise<Value>, milliseconds: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooLate(`no answer within ${milliseconds} ms`)), milliseconds).unref();
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
