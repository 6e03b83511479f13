const MAX_URI = 2048;

/**
 * Whether a URI can come from this URI template (RFC 6570). A template that cannot be read matches nothing. The SDK is
 * loaded when the first template is asked for: most servers have none.
 */
export async function matchTemplate(template: string, uri: string): Promise<boolean> {
  if (uri.length > MAX_URI) return false;
  const { UriTemplate } = await import('@modelcontextprotocol/client');
  try {
    return new UriTemplate(template).match(uri) !== null;
  } catch {
    return false;
  }
}
