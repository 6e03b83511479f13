import { randomUUID } from 'node:crypto';

/** Returns a UUID version 7 (RFC 9562 §5.7); `now` is in milliseconds since the epoch. */
export function operationId(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Returns milliseconds since the epoch; undefined when the id does not contain the time. */
export function begunAt(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
