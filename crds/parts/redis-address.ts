/** Parses `host:port`, `host` or `[address]:port`. `port` is the default. Returns undefined for another text. */
export function readRedisAddress(text: string, port: number): { host: string; port: number } | undefined {
  const parts = /^(?:\[(?<literal>[0-9a-fA-F:.%]+)\]|(?<name>[^:[\]\s/@]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups;
  const host = parts?.literal ?? parts?.name;
  const written = Number(parts?.port ?? port);
  return host === undefined || written < 1 || written > 65_535 ? undefined : { host, port: written };
}

export const isRedisAddress = (text: string) => readRedisAddress(text, 1) !== undefined;
