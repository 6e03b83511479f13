/** Returns the Authorization header value for a client and its secret. Both parts are form-encoded first (RFC 6749 §2.3.1). */
export function basicCredentials(clientId: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(secret)}`).toString('base64')}`;
}
