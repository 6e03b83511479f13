import type Provider from 'oidc-provider';
import { USERS } from './users.ts';

const NAMES = Object.keys(USERS);
const HINT = NAMES.join(' or ');
const FONT = /@import url\([^)]*\);/;

/**
 * Adds the provider's address and its users to the library's development pages, which load nothing from elsewhere. Two
 * providers look the same otherwise, and an unknown name ends in an error page.
 */
export function fitLoginPages(provider: Provider): void {
  const { host } = new URL(provider.issuer);
  provider.use(async (context, next) => {
    await next();
    if (!context.path.startsWith('/interaction/') || typeof context.body !== 'string') return;
    context.body = context.body
      .replace(FONT, '')
      .replace('</h1>', `</h1><p style="text-align:center">${host}</p>`)
      .replace('"Enter any login"', `"${HINT}" pattern="${NAMES.join('|')}" title="${HINT}"`)
      .replace('"and password"', '"any password"');
  });
}
