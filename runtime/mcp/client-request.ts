import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Rooms } from '#runtime/rooms';
import type { Trail } from '#runtime/trail';
import type { DecodedRequest } from './envelope/decode-request.ts';

/** One JSON-RPC request of a client, of any revision. */
export interface ClientRequest {
  readonly res: ServerResponse;
  readonly body: Buffer;
  readonly message: DecodedRequest;
  readonly identity: Identity;
  readonly rooms: Rooms;
  readonly trail: Trail;
}
