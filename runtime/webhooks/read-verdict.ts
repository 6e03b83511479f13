import { z } from 'zod';

/** Characters of a webhook's message that a client gets. */
const MESSAGE = 1000;

/** Text as one line of limited length, as clients show it to people. */
const Shown = z.string().transform((text) =>
  text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, MESSAGE)
    .toWellFormed(),
);

/** Verdict of a webhook. Other members of the answer are ignored. */
const Verdict = z.object({
  /** Id of the question; absent: it answers the question on this connection. */
  uid: z.string().optional(),
  allowed: z.boolean(),
  message: Shown.optional(),
  reason: Shown.optional(),
});
export type Verdict = z.infer<typeof Verdict>;

/** An answer without a verdict. The message names the problem and quotes no part of the answer. */
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
