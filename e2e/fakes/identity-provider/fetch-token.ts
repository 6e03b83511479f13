import { CLI_CLIENT, USERS } from './users.ts';

/**
 * Returns a token for a demonstration user, by the password grant of the loopback identity provider. @param resource
 * becomes the token's audience @throws if the provider refuses or does not answer within 5 s
 */
export async function fetchToken(
  issuer: string,
  user: string,
  resource: string,
  scope = 'openid profile email mcp',
): Promise<string> {
  const form = { grant_type: 'password', client_id: CLI_CLIENT.id, username: user, resource, scope };
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...form, password: USERS[user]?.password ?? '' }),
    signal: AbortSignal.timeout(5_000),
  });
  const answer = (await response.json()) as { access_token?: string; error_description?: string };
  if (answer.access_token === undefined) throw new Error(answer.error_description ?? 'the provider refused');
  return answer.access_token;
}
