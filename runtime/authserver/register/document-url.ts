const MAX_LENGTH = 2048;

/** Accepts https with a path, in normal form, without user information and fragment. Ids of registered clients never match. */
export function isDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > MAX_LENGTH || !URL.canParse(clientId)) return false;
  const { href, pathname, username, password } = new URL(clientId);
  return href === clientId && pathname !== '/' && !clientId.includes('#') && username + password === '';
}
