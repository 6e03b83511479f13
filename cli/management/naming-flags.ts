import { Refusal } from './refusal.ts';

/** Calls an operation; a refusal names the flags of this command line where the API names its own fields. */
export async function namingFlags<T>(flags: Readonly<Record<string, string>>, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    const detail = Object.entries(flags).reduce((text, [field, flag]) => text.replaceAll(field, flag), problem.message);
    throw new Refusal({ code: problem.code, detail }, { cause: problem });
  }
}

/** Flags of what is fetched from elsewhere. */
export const FETCHING_FLAGS = {
  'set allow_private_ip': 'give --allow-private-ip',
  allow_private_ip: '--allow-private-ip',
};
