import type { ClientAuth } from 'openid-client';

/** RFC 6749 §2.3.1. openid-client also encodes `-` and `_`, which servers that do not decode the pair refuse. */
export function clientSecretBasic(secret: string): ClientAuth {
  return (_server, { client_id: id }, _body, headers) => {
    const pair = Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString('base64');
    headers.set('authorization', `Basic ${pair}`);
  };
}

/** Returns the text as `application/x-www-form-urlencoded`. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
