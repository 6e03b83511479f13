const MAX_LENGTH = 4096;

/**
 * Where the stream at this URL says that messages go. Undefined: at another origin, which would get the caller's token, or
 * nowhere.
 * @returns path and query at the origin of `url`
 */
export function readEndpoint(data: string, url: string): string | undefined {
  if (data.length > MAX_LENGTH || !URL.canParse(data, url)) return undefined;
  const { origin, username, password, pathname, search } = new URL(data, url);
  if (origin !== new URL(url).origin || username !== '' || password !== '') return undefined;
  return pathname + search;
}
