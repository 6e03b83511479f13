import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Services } from '#runtime/services';
import type { RequestRecord } from '#runtime/request-record';
import type { DecodedRequest } from './envelope/decode-request.ts';

/** One JSON-RPC request of a client, of any revision. */
export interface ClientRequest {
  readonly res: ServerResponse;
  readonly body: Buffer;
  readonly message: DecodedRequest;
  readonly identity: Identity;
  readonly services: Services;
  readonly requestRecord: RequestRecord;
}
