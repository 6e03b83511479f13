import { z } from 'zod';

/** Longest message of a webhook that a client reads. */
const MESSAGE = 1000;

/** What a webhook answers. What else it says is not looked at. */
const Verdict = z.object({
  /** Of the question; absent: taken for the one that was asked on this connection. */
  uid: z.string().optional(),
  allowed: z.boolean(),
  message: z.string().optional(),
  reason: z.string().optional(),
});

export interface Verdict {
  readonly allowed: boolean;
  readonly message: string | undefined;
  readonly reason: string | undefined;
}

/** An answer that decides nothing. Its message names what is wrong, never what came. */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict';
}

/** One line of bounded length: clients show it to people. */
function shown(text: string | undefined): string | undefined {
  return text
    ?.replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, MESSAGE)
    .toWellFormed();
}

/** Reads the answer to the question `uid`. @throws NoVerdict */
export function readVerdict({ status, body }: { status: number; body: string }, uid: string): Verdict {
  if (status !== 200) throw new NoVerdict(`it answered with status ${status}`);
  const { data } = Verdict.safeParse(parsed(body));
  if (!data) throw new NoVerdict('its answer is no JSON object with a boolean "allowed"');
  if (data.uid !== undefined && data.uid !== uid) throw new NoVerdict('its answer is to another question');
  return { allowed: data.allowed, message: shown(data.message), reason: shown(data.reason) };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
