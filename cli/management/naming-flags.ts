import { Refusal } from './refusal.ts';

/** Calls an operation. In a refusal, replaces API field names by the flags of this command. */
export async function namingFlags<T>(flags: Readonly<Record<string, string>>, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    const detail = Object.entries(flags).reduce((text, [field, flag]) => text.replaceAll(field, flag), problem.message);
    throw new Refusal({ code: problem.code, detail }, { cause: problem });
  }
}

/** Flags for values that are fetched from a remote source. */
export const FETCHING_FLAGS = {
  'set allow_private_ip': 'give --allow-private-ip',
  allow_private_ip: '--allow-private-ip',
};
