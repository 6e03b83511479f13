/** Whether one URI is that of a part of the other: who subscribed to a resource hears of its parts too (2025-11-25, resources). */
export function isSubResource(uri: string, whole: string): boolean {
  if (!uri.startsWith(whole) || uri === whole) return false;
  return whole.endsWith('/') || '/?#'.includes(uri.charAt(whole.length));
}
