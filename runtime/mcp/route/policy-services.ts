import type { AppUris } from '#runtime/mcp/aggregate/app-uris';
import type { Services } from '#runtime/services';
import type { Backend } from '../backends/backend.ts';

export interface PolicyServices extends Pick<Services, 'authorizer'> {
  readonly catalogues: { readonly apps: Pick<AppUris, 'ownerOf'> };
  readonly config: Pick<Services['config'], 'authz'>;
  readonly backends: {
    readonly all: readonly Pick<Backend, 'name' | 'credential' | 'authorizer'>[];
    get(name: string): Pick<Backend, 'authorizer'> | undefined;
  };
}
