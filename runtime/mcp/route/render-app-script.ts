import type { Services } from '#runtime/services';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import { prefixOf } from '../aggregate/compose-names.ts';
import { isVisible } from './resolve-target.ts';

/**
 * Runs in an app before its own scripts, and replaces names in its `tools/call` messages. Bridges and SDKs compare
 * `event.source` with `window.parent`, so both return the same object.
 */
const SCRIPT = `(function (prefix, names) {
  var host = window.parent;
  if (host === window) return;
  function rename(name) {
    if (Object.prototype.hasOwnProperty.call(names, name)) return names[name];
    return name.startsWith(prefix) ? name : prefix + name;
  }
  function send(message, ...rest) {
    var params = message && message.method === 'tools/call' && message.params;
    if (!params || typeof params.name !== 'string') return host.postMessage(message, ...rest);
    return host.postMessage({ ...message, params: { ...params, name: rename(params.name) } }, ...rest);
  }
  var parent = new Proxy({}, { get: (_, key) => (key === 'postMessage' ? send : host[key]) });
  var source = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'source');
  Object.defineProperty(window, 'parent', { value: parent, configurable: true, writable: true });
  Object.defineProperty(MessageEvent.prototype, 'source', {
    ...source,
    get() {
      var sender = source.get.call(this);
      return sender === host ? parent : sender;
    },
  });
})`;

/**
 * Returns the HTML of a script that gives the calls of an app the advertised names of its backend's tools. Undefined: the
 * setting is off, or these names are the backend's own. Names of tools that the caller may not see stay out of it.
 */
export async function renderAppScript(
  backend: string,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
): Promise<string | undefined> {
  const { aggregation } = services.config;
  if (aggregation.apps?.rewrite_calls !== true) return undefined;
  const prefix = prefixOf(backend, aggregation);
  const { entries } = await services.catalogues.list(catalogue, 'tools', asker);
  const shown = entries.filter(
    (entry) => entry.backend === backend && entry.connects === undefined && isVisible('tools', entry, asker, services),
  );
  // The script adds the prefix to other names, so it needs no list of them.
  const named = shown.filter(
    ({ name, originalName }) => name !== prefix + originalName || originalName.startsWith(prefix),
  );
  const names = Object.fromEntries(named.map(({ name, originalName }) => [originalName, name]));
  if (prefix === '' && named.every(({ name, originalName }) => name === originalName)) return undefined;
  const [prefixText, namesText] = [prefix, names].map((value) =>
    JSON.stringify(value).replaceAll('<', String.raw`\u003c`),
  );
  return `<script>${SCRIPT}(${prefixText}, ${namesText});</script>`;
}
