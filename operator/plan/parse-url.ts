import { Stalled } from '../errors.ts';

/** A URL that a schema let through: patterns of a CRD cannot say all. `field` is where it stands. Throws `Stalled`. */
export function parseUrl(text: string, field: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw new Stalled('InvalidUrl', `${field}: "${text}" is not a URL: write for example https://host.example/path`);
}
