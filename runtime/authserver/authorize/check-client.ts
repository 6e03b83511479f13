import { PageError } from '../page-error.ts';
import { DocumentUnusable } from '../register/client-documents.ts';
import type { Client } from '../register/client.ts';
import type { Clients } from '../register/find-client.ts';
import { matchRedirectUri } from '../register/match-redirect-uri.ts';
import { isRepeated, valueOf } from './parameters.ts';

export interface CheckedClient {
  readonly client: Client;
  readonly redirectUri: string;
}

const MAX_LENGTH = 2048;

/** Errors are pages, never redirects to an unchecked URI (RFC 6749 §4.1.2.1). `asker`: address as the limits count it. @throws PageError */
export async function checkClient(
  parameters: URLSearchParams,
  clients: Clients,
  asker: string,
): Promise<CheckedClient> {
  const clientId = single(parameters, 'client_id');
  const client = await findClient(clientId, clients, asker);
  if (client === undefined) throw unknownClient();
  const redirectUri = single(parameters, 'redirect_uri');
  if (!matchRedirectUri(redirectUri, client.redirect_uris)) throw foreignRedirect();
  return { client, redirectUri };
}

function single(parameters: URLSearchParams, name: 'client_id' | 'redirect_uri'): string {
  const value = valueOf(parameters, name);
  if (value !== undefined && value.length <= MAX_LENGTH) return value;
  const fault = isRepeated(parameters, name) ? 'came twice' : value === undefined ? 'is missing' : 'is too long';
  throw new PageError({
    status: 400,
    title: 'This request is incomplete',
    text: `Its ${name} ${fault}. Go back to the application that sent you here and start again.`,
  });
}

async function findClient(clientId: string, clients: Clients, asker: string): Promise<Client | undefined> {
  try {
    return await clients.find(clientId, asker);
  } catch (cause) {
    if (!(cause instanceof DocumentUnusable)) throw cause;
    throw new PageError(
      {
        status: 400,
        title: 'This application cannot be checked',
        text:
          'The document that describes it cannot be read, or does not describe it rightly. Try again in a minute; if that ' +
          'does not help, tell those who make the application.',
      },
      { cause },
    );
  }
}

function unknownClient(): PageError {
  return new PageError({
    status: 400,
    title: 'This application is not known here',
    text:
      'It never registered, or it was forgotten since. Go back to the application, remove what it saved for this server (often ' +
      '“log out” or “clear authentication”), and connect again: it must register again.',
  });
}

function foreignRedirect(): PageError {
  return new PageError({
    status: 400,
    title: 'The answer would go to the wrong place',
    text:
      'The application wants the answer at an address (redirect_uri) that it did not register. Nothing was sent there. If you ' +
      'trust the application, remove what it saved for this server and connect again: it must register again.',
  });
}
