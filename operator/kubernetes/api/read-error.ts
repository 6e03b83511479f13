import { z } from 'zod';
import { parseJson } from '#lib/json/parse-json';
import { ApiError } from './api-error.ts';

/** The reason part of a `Status` object (meta/v1). */
export const StatusAnswer = z.object({
  code: z.number().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  details: z
    .object({
      retryAfterSeconds: z.number().optional(),
      causes: z
        .array(
          z.object({ field: z.string().optional(), reason: z.string().optional(), message: z.string().optional() }),
        )
        .nullish(),
    })
    .nullish(),
});
export type StatusAnswer = z.infer<typeof StatusAnswer>;

const LONGEST_MESSAGE = 2000;

/** Reads a refusing answer: its Status and its Retry-After. `doing`: the attempt, e.g. `apply apps/v1 … `. */
export async function readError(
  doing: string,
  resource: string,
  answer: {
    statusCode: number;
    headers: Record<string, string | string[] | undefined>;
    body: { text(): Promise<string> };
  },
): Promise<ApiError> {
  const text = await answer.body.text();
  const status = parseStatus(text) ?? { message: text };
  return errorOf(doing, resource, { ...status, code: answer.statusCode }, answer.headers['retry-after']);
}

export function errorOf(
  doing: string,
  resource: string,
  { code = 500, reason = `Status${code}`, message = '', details }: StatusAnswer,
  retryAfter?: string | string[],
): ApiError {
  const seconds = Number(retryAfter ?? details?.retryAfterSeconds);
  // The server's text about a Secret may quote its values.
  const said = resource === 'secrets' ? '' : `: ${message.slice(0, LONGEST_MESSAGE)}`;
  return new ApiError(`${doing}: ${code} ${reason}${said}`, {
    status: code,
    reason,
    ...(seconds >= 0 && { retryAfter: seconds * 1000 }),
    ...(resource !== 'secrets' && { causes: details?.causes ?? undefined }),
  });
}

function parseStatus(text: string): StatusAnswer | undefined {
  return StatusAnswer.safeParse(parseJson(text)).data;
}
