import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { chooseServer, runningBoard } from './status.ts';

/** The URL of an endpoint as it was typed, or of the one that runs here. @throws CliError */
export function chooseUrl(typed: string | undefined, context: Context): string {
  const url = typed ?? chooseServer(runningBoard(context), undefined).endpoint ?? '';
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new CliError(EXIT_CODES.usage, `"${url}" is no URL: write for example https://mcp.example.com/mcp`);
}
