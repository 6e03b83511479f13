const MAX_LENGTH = 4096;

/** Rejects other origins, which would receive the caller's token. @returns path and query at the origin of `url`; undefined if invalid */
export function readEndpoint(data: string, url: string): string | undefined {
  if (data.length > MAX_LENGTH || !URL.canParse(data, url)) return undefined;
  const { origin, username, password, pathname, search } = new URL(data, url);
  if (origin !== new URL(url).origin || username !== '' || password !== '') return undefined;
  return pathname + search;
}
