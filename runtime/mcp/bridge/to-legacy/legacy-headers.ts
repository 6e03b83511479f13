const NONE: readonly string[] = [];

/** Returns the headers that both eras know: the trace, and those that the configuration passes through. */
export function legacyHeaders(headers: readonly string[]): readonly string[] {
  let kept: string[] | undefined;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]];
    if (
      name !== 'mcp-protocol-version' &&
      name !== 'mcp-method' &&
      name !== 'mcp-name' &&
      !name.startsWith('mcp-param-')
    )
      (kept ??= []).push(name, value);
  }
  return kept ?? NONE;
}
