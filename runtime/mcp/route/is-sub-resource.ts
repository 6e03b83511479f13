/** Subscribers of a resource also get updates of its parts (2025-11-25, resources). */
export function isSubResource(uri: string, whole: string): boolean {
  if (!uri.startsWith(whole) || uri === whole) return false;
  return whole.endsWith('/') || '/?#'.includes(uri.charAt(whole.length));
}
