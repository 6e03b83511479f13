import { z } from 'zod';
import { basicCredentials } from '#runtime/http/basic-credentials';
import type { Challenges, InvalidToken } from './challenges.ts';
import { IdpUnavailable, type JsonClient } from './json-client.ts';
import { LEEWAY_SECONDS } from './verify-jwt.ts';

interface IntrospectionRules {
  readonly issuer: string;
  /** Undefined: not checked. */
  readonly audience: string | undefined;
  readonly clientId: string;
  readonly readClientSecret: () => Promise<string>;
  readonly endpoint: () => Promise<string>;
  readonly client: JsonClient;
  readonly challenges: Challenges;
  readonly now: () => number;
}

/** RFC 7662 §2.2. Members that are not checked here become claims. */
const Answer = z.looseObject({
  active: z.boolean(),
  iss: z.string().optional(),
  sub: z.string().min(1).optional(),
  client_id: z.string().min(1).optional(),
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  exp: z.number().optional(),
  nbf: z.number().optional(),
  token_type: z.string().optional(),
});
export type Introspected = z.infer<typeof Answer>;

const MAX_IN_FLIGHT = 128;

/** Introspects without a cache. Rejects with RequestError 401 for an invalid token, 503 for an invalid answer of the issuer. */
export function createIntrospection(rules: IntrospectionRules): (token: string) => Promise<Introspected> {
  let inFlight = 0;
  return async (token) => {
    if (inFlight >= MAX_IN_FLIGHT)
      throw rules.challenges.unavailable(new IdpUnavailable('too many introspections at once'));
    inFlight += 1;
    try {
      return checkAnswer(await ask(token, rules), rules);
    } finally {
      inFlight -= 1;
    }
  };
}

async function ask(token: string, rules: IntrospectionRules): Promise<Introspected> {
  try {
    const secret = (await rules.readClientSecret()).trim();
    const answer = await rules.client.postForm(
      await rules.endpoint(),
      { token, token_type_hint: 'access_token' },
      { authorization: basicCredentials(rules.clientId, secret) },
    );
    const parsed = Answer.safeParse(answer);
    if (!parsed.success) throw new IdpUnavailable('the introspection answer is malformed');
    return parsed.data;
  } catch (error) {
    throw rules.challenges.unavailable(error);
  }
}

function checkAnswer(answer: Introspected, rules: IntrospectionRules): Introspected {
  const fault = faultOf(answer, rules) ?? timeFaultOf(answer, rules.now() / 1000);
  if (fault) throw rules.challenges.invalid(fault);
  // The subject of a client that acts for itself is the client (RFC 9068 §2.2); answers often omit it.
  return { ...answer, sub: answer.sub ?? answer.client_id };
}

function faultOf(answer: Introspected, { issuer, audience }: IntrospectionRules): InvalidToken | undefined {
  if (!answer.active) return 'inactive';
  if (answer.iss !== undefined && answer.iss !== issuer) return 'issuer';
  if (audience !== undefined && ![answer.aud ?? []].flat().includes(audience)) return 'audience';
  // Issuers may also report refresh tokens as active (RFC 7662 §2.2 token_type).
  const type = answer.token_type;
  return type === undefined || type.toLowerCase() === 'bearer' ? undefined : 'kind';
}

function timeFaultOf({ exp, nbf }: Introspected, now: number): InvalidToken | undefined {
  if (exp !== undefined && exp <= now) return 'expired';
  return nbf !== undefined && nbf > now + LEEWAY_SECONDS ? 'notYetValid' : undefined;
}
