import { z } from 'zod';

/** Longest message of a webhook that a client reads. */
const MESSAGE = 1000;

/** One line of bounded length: clients show it to people. */
const Shown = z.string().transform((text) =>
  text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, MESSAGE)
    .toWellFormed(),
);

/** What a webhook answers. What else it says is not looked at. */
const Verdict = z.object({
  /** Of the question; absent: taken for the one that was asked on this connection. */
  uid: z.string().optional(),
  allowed: z.boolean(),
  message: Shown.optional(),
  reason: Shown.optional(),
});
export type Verdict = z.infer<typeof Verdict>;

/** An answer that decides nothing. Its message names what is wrong, never what came. */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict';
}

/** Reads the answer to the question `uid`. @throws NoVerdict */
export function readVerdict({ status, body }: { status: number; body: string }, uid: string): Verdict {
  if (status !== 200) throw new NoVerdict(`it answered with status ${status}`);
  const { data } = Verdict.safeParse(parsed(body));
  if (!data) throw new NoVerdict('its answer is no JSON object with a boolean "allowed"');
  if (data.uid !== undefined && data.uid !== uid) throw new NoVerdict('its answer is to another question');
  return data;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
