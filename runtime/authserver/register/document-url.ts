const MAX_LENGTH = 2048;

/**
 * Whether a client id is the URL of a client ID metadata document: https with a path, spelled in the one way that its parts have,
 * without user information and fragment. Ids of registered clients never look like one.
 */
export function isDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > MAX_LENGTH || !URL.canParse(clientId)) return false;
  const { href, pathname, username, password } = new URL(clientId);
  return href === clientId && pathname !== '/' && !clientId.includes('#') && username + password === '';
}
