import { LONGEST_LOGIN_DAYS } from '#crds/parts/defaults';
import { html, type Html } from './html.ts';

export function scopeText(scope: string, server: string): Html {
  if (scope === 'mcp') return html`Use the tools of ${server} in your name`;
  if (scope === 'offline_access')
    return html`Stay signed in while you are away, for at most ${LONGEST_LOGIN_DAYS} days`;
  return html`Use what <code>${scope}</code> stands for`;
}
