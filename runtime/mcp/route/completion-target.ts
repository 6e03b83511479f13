import type { RequestRecord } from '#runtime/request-record';
import type { Services } from '#runtime/services';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import { isJsonObject, type DecodedRequest } from '../envelope/decode-request.ts';
import { invalidParams } from './refusals.ts';
import { isVisible, refuseName, resolveName, resolveUri, type Target } from './resolve-target.ts';

/** Hidden entries have no completions. */
export async function completionTarget(
  message: DecodedRequest,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
  requestRecord: Pick<RequestRecord, 'target'>,
): Promise<Target> {
  const ref = message.params?.ref;
  if (!isJsonObject(ref)) throw invalidParams('completion/complete needs params.ref');
  const named = ref.type === 'ref/prompt' ? ref.name : ref.uri;
  if (typeof named === 'string') requestRecord.target = named;
  if (ref.type === 'ref/prompt' && typeof ref.name === 'string')
    return resolveName('prompts', ref.name, catalogue, asker, services);
  if (ref.type !== 'ref/resource' || typeof ref.uri !== 'string') {
    throw invalidParams('params.ref must be a ref/prompt with a name or a ref/resource with a uri');
  }
  const template = await services.catalogues.find(catalogue, 'templates', ref.uri, asker);
  if (!template) return resolveUri(ref.uri, catalogue, asker, services);
  const backend = services.backends.get(template.backend);
  if (!backend) throw refuseName('templates', ref.uri, asker, services);
  if (!isVisible('templates', template, asker, services))
    throw refuseName('templates', ref.uri, asker, services, template);
  return { entry: template, backend };
}
