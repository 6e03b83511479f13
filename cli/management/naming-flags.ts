import { Refusal } from './refusal.ts';

/** Replaces API field names in a refusal by the flags of this command. */
export async function namingFlags<T>(flags: Readonly<Record<string, string>>, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    const detail = Object.entries(flags).reduce((text, [field, flag]) => text.replaceAll(field, flag), problem.message);
    throw new Refusal({ code: problem.code, detail }, { cause: problem });
  }
}

export const FETCHING_FLAGS = {
  'set allow_private_ip': 'give --allow-private-ip',
  allow_private_ip: '--allow-private-ip',
};
